// SPDX-License-Identifier: Apache-2.0
/* Is it alive, is it ready, and the metrics of Prometheus (text format 0.0.4). */
#include <string.h>

#include "answers.h"
#include "collector.h"
#include "fetcher.h"
#include "keeper.h"
#include "sender.h"

static enum http_when give_text(struct http_request *request, unsigned status, const char *text)
{
    char *body = strdup(text);
    return http_give(request, status, "text/plain; charset=utf-8", body,
                     body != NULL ? strlen(body) : 0);
}

enum http_when answer_alive(struct http_request *request)
{
    return give_text(request, 200, "ok\n");
}

enum http_when answer_ready(struct http_request *request)
{
    struct collector *c = request->collector;
    if (store_is_damaged()) {
        return give_text(request, 503, "the database is damaged: see the log\n");
    }
    if (store_check(c->store) != STORE_OK) {
        return give_text(request, 503, "the database does not answer\n");
    }
    if (worker_counts(c->worker).is_journal_unreadable) {
        return give_text(request, 503, "the journal cannot be read\n");
    }
    if (journal_behind(c->journal, worker_place(c->worker)) > c->behind_max) {
        return give_text(request, 503, "too many reports wait\n");
    }
    return give_text(request, 200, "ready\n");
}

static void put(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
    fprintf(out, "# HELP sonde_collector_%s %s\n# TYPE sonde_collector_%s %s\n", name, help, name,
            type);
    fprintf(out, "sonde_collector_%s %llu\n", name, (unsigned long long)value);
}

static void put_hooks(FILE *out, struct collector *c)
{
    struct sender_counts counts = sender_counts(c->sender);
    put(out, "hook_messages_sent_total", "counter", "messages that hooks took", counts.sent);
    put(out, "hook_failures_total", "counter", "tries to send a message that failed",
        counts.failed);
    put(out, "hook_messages_given_up_total", "counter", "messages whose last try failed",
        counts.given_up);
    put(out, "hooks_disabled_total", "counter", "hooks that are sent nothing more",
        counts.disabled);
    put(out, "hook_messages_waiting", "gauge", "messages that wait for hooks, of all collectors",
        store_messages(c->store));
}

/* A name in the quotes of a label. */
static void put_label(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
}

static void put_filter(void *ctx, const struct store_sift *sift)
{
    FILE *out = ctx;
    char text[SIFT_TEXT];
    sift_text(&sift->sift, text);
    fprintf(out, "sonde_collector_filtered_events_total{project=\"%s\",filter=\"",
            sift->project_name);
    put_label(out, text);
    fprintf(out, "\"} %llu\n", (unsigned long long)sift->events);
}

static void put_filters(FILE *out, struct collector *c)
{
    fputs("# HELP sonde_collector_filtered_events_total events that filters dropped, of all"
          " collectors\n# TYPE sonde_collector_filtered_events_total counter\n",
          out);
    (void)store_sifts(c->store, 0, put_filter, out);
}

static void put_debuginfod(FILE *out, struct collector *c)
{
    struct fetcher_counts counts = fetcher_counts(c->fetcher);
    put(out, "debuginfod_asked_total", "counter", "questions to debuginfod servers", counts.asked);
    put(out, "debuginfod_found_total", "counter", "debug files of them that are kept",
        counts.found);
    put(out, "debuginfod_absent_total", "counter", "questions for a file that the server has not",
        counts.absent);
    put(out, "debuginfod_refused_total", "counter",
        "debug files of them that are too large, not what was asked for, or without symbols",
        counts.refused);
    put(out, "debuginfod_failed_total", "counter", "questions to them that failed", counts.failed);
}

enum http_when answer_metrics(struct http_request *request)
{
    struct collector *c = request->collector;
    struct worker_counts counts = worker_counts(c->worker);
    struct journal_damage damage = journal_damage(c->journal);
    char *body = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&body, &size);
    if (out == NULL) {
        return http_refuse(request, 503, "no memory");
    }
    put(out, "requests_total", "counter", "requests answered", c->answered);
    put(out, "reports_accepted_total", "counter", "reports answered with 2xx", c->accepted);
    put(out, "requests_refused_total", "counter", "requests answered with an error", c->refused);
    put(out, "reports_limited_total", "counter", "reports answered with 429", c->limited);
    put(out, "envelopes_without_event_total", "counter",
        "Sentry envelopes of which nothing is kept", c->eventless);
    put(out, "clients_dropped_total", "counter", "clients that were too slow", c->dropped);
    put(out, "files_removed_total", "counter", "files of reports that are not kept",
        keeper_removed(c->keeper));
    put(out, "reports_stored_total", "counter", "reports put into the store", counts.stored);
    put(out, "reports_known_total", "counter", "reports that the store had already", counts.known);
    put(out, "reports_unread_total", "counter", "reports that could not be read", counts.unread);
    put(out, "store_failures_total", "counter", "batches that the store refused", counts.failed);
    put(out, "database_damaged", "gauge", "1: the database was found damaged", store_is_damaged());
    put(out, "journal_behind_bytes", "gauge", "bytes of reports that are not in the store yet",
        journal_behind(c->journal, worker_place(c->worker)));
    put(out, "journal_read_failures_total", "counter", "tries to read the journal that failed",
        counts.journal_failed);
    put(out, "journal_damaged_total", "counter",
        "places of the journal that are no whole report: damaged, or cut", damage.places);
    put(out, "journal_damaged_bytes_total", "counter", "bytes of them", damage.bytes);
    put_hooks(out, c);
    put_filters(out, c);
    put_debuginfod(out, c);
    fclose(out);
    return http_give(request, 200, "text/plain; version=0.0.4; charset=utf-8", body, size);
}
