// SPDX-License-Identifier: Apache-2.0
#include "sieve.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store_parts.h"

/* Sums are cut here, as those of groups in a shared database (fit() of schema_postgres.c). */
#define SUM_MAX ((uint64_t)9000000000000000000u)

struct dropped {
    uint64_t events, count, total_ns;
};

struct rule {
    int64_t number;
    uint32_t project;
    struct sift sift;
    struct dropped one; /* of the report */
    struct dropped all; /* of the reports before it, which is not written yet */
    uint64_t reports;
};

struct sieve {
    struct rule *rules; /* by project and number */
    size_t count, capacity;
    bool is_read;      /* in this transaction */
    size_t first, end; /* those of the report's project */
    const struct store_report *report;
    int64_t report_number;
};

struct sieve *sieve_begin(void)
{
    return calloc(1, sizeof(struct sieve));
}

void sieve_end(struct sieve *sieve)
{
    if (sieve != NULL) {
        free(sieve->rules);
    }
    free(sieve);
}

void sieve_renew(struct sieve *sieve)
{
    sieve->is_read = false;
    sieve->count = 0;
}

static uint64_t sum(uint64_t left, uint64_t right)
{
    return left > SUM_MAX || right > SUM_MAX - left ? SUM_MAX : left + right;
}

static void add(struct dropped *to, const struct dropped *what)
{
    to->events = sum(to->events, what->events);
    to->count = sum(to->count, what->count);
    to->total_ns = sum(to->total_ns, what->total_ns);
}

/* --- what the project has --- */

static struct rule *new_rule(struct sieve *sieve)
{
    if (sieve->count == sieve->capacity) {
        size_t capacity = sieve->capacity != 0 ? 2 * sieve->capacity : 16;
        struct rule *rules = realloc(sieve->rules, capacity * sizeof *rules);
        if (rules == NULL) {
            return NULL;
        }
        sieve->rules = rules;
        sieve->capacity = capacity;
    }
    return &sieve->rules[sieve->count++];
}

static enum store_status read_rules(struct store *store)
{
    struct db_statement *find = store->statements[STORE_FIND_SIFTS];
    enum db_result result;
    struct rule *rule = NULL;
    store->sieve->count = 0;
    while ((result = db_step(find)) == DB_ROW && (rule = new_rule(store->sieve)) != NULL) {
        *rule = (struct rule){.number = db_number(find, 0),
                              .project = (uint32_t)db_uint(find, 1),
                              .sift = {.kind = (enum sift_kind)db_number(find, 2)}};
        snprintf(rule->sift.pattern, sizeof rule->sift.pattern, "%s", db_text(find, 3));
    }
    db_reset(find);
    store->sieve->is_read = result == DB_DONE;
    return result == DB_DONE ? STORE_OK : result == DB_ROW ? db_fail("no memory") : STORE_FAILED;
}

enum store_status sieve_open(struct store *store, const struct store_report *report, int64_t number)
{
    struct sieve *sieve = store->sieve;
    enum store_status status = sieve->is_read ? STORE_OK : read_rules(store);
    sieve->report = report;
    sieve->report_number = number;
    for (sieve->first = 0; sieve->first < sieve->count; sieve->first++) {
        if (sieve->rules[sieve->first].project == report->project) {
            break;
        }
    }
    for (sieve->end = sieve->first; sieve->end < sieve->count; sieve->end++) {
        if (sieve->rules[sieve->end].project != report->project) {
            break;
        }
        sieve->rules[sieve->end].one = (struct dropped){0};
    }
    return status;
}

bool sieve_drops(struct store *store, const struct digest_event *event)
{
    const struct sieve *sieve = store->sieve;
    const struct dropped what = {1, event->count, event->total_ns};
    for (size_t i = sieve->first; i < sieve->end; i++) {
        if (sift_drops(&sieve->rules[i].sift, sieve->report->digest->build, event)) {
            add(&sieve->rules[i].one, &what);
            return true;
        }
    }
    return false;
}

/* --- what they dropped --- */

static enum store_status write_note(struct store *store, uint64_t events)
{
    const struct sieve *sieve = store->sieve;
    const char *loss = sieve->report->digest->loss;
    char note[sizeof sieve->report->digest->loss + 64];
    struct db_statement *statement = store->statements[STORE_SET_NOTE];
    snprintf(note, sizeof note, "%s", loss);
    if (events != 0) {
        snprintf(note, sizeof note, "%s%sfiltered: %" PRIu64, loss, *loss != '\0' ? "; " : "",
                 events);
    }
    db_bind(statement, "it", sieve->report_number, note);
    return db_run(statement);
}

enum store_status sieve_close(struct store *store, bool is_again)
{
    struct sieve *sieve = store->sieve;
    enum store_status status = STORE_OK;
    uint64_t events = 0;
    for (size_t i = sieve->first; i < sieve->end && status == STORE_OK; i++) {
        struct rule *rule = &sieve->rules[i];
        events += rule->one.events;
        if (rule->one.events == 0) {
            continue;
        }
        add(&rule->all, &rule->one);
        rule->reports++;
        if (sieve->report->digest->wants.count != 0) {
            struct db_statement *statement = store->statements[STORE_ADD_SIFTED];
            db_bind(statement, "iiuuu", sieve->report_number, rule->number, rule->one.events,
                    rule->one.count, rule->one.total_ns);
            status = db_run(statement);
        }
    }
    if (status == STORE_OK && (events != 0 || is_again)) {
        status = write_note(store, events);
    }
    return status;
}

enum store_status sieve_flush(struct store *store)
{
    struct sieve *sieve = store->sieve;
    enum store_status status = STORE_OK;
    struct db_statement *statement = store->statements[STORE_ADD_TO_SIFT];
    for (size_t i = 0; i < sieve->count && status == STORE_OK; i++) {
        struct rule *rule = &sieve->rules[i];
        if (rule->reports != 0) {
            db_bind(statement, "iuuuu", rule->number, rule->reports, rule->all.events,
                    rule->all.count, rule->all.total_ns);
            status = db_run(statement);
        }
        rule->all = (struct dropped){0};
        rule->reports = 0;
    }
    return status;
}

enum store_status sieve_take_back(struct store *store, int64_t report)
{
    struct db_statement *statement = store->statements[STORE_TAKE_SIFTED];
    db_bind(statement, "i", report);
    return db_run(statement);
}
