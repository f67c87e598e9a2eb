// SPDX-License-Identifier: Apache-2.0
#include "merge.h"

#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "mem_heap.h"
#include "report_copy.h"

/* Distinct stacks of calls; those that come later are counted without a stack. */
enum { CALLS_MAX = 4096 };

struct merge {
    struct sonde__report *report;
    char (*causes)[DIGEST_GROUP_TEXT];
    size_t cause_count, cause_room;
    struct sonde__report_call *calls;
    size_t call_count, call_room;
    uint64_t end_ns; /* of the last stall */
    uint64_t count;
    struct cause_room room;
};

enum sonde_status merge_begin(struct merge **ret_merge)
{
    struct merge *merge = sonde__mem_alloc_zeroed(sizeof *merge);
    enum sonde_status status = merge != NULL ? sonde__report_create(&merge->report) : SONDE_MEMORY;
    if (status != SONDE_OK) {
        sonde__mem_free(merge);
        return status;
    }
    *ret_merge = merge;
    return SONDE_OK;
}

void merge_end(struct merge *merge)
{
    if (merge != NULL) {
        sonde__report_destroy(merge->report);
        sonde__mem_free(merge->causes);
        sonde__mem_free(merge->calls);
        sonde__mem_free(merge);
    }
}

enum sonde_status merge_cause(struct merge *merge, const char *cause)
{
    if (!sonde__mem_grow(&merge->causes, merge->cause_count, &merge->cause_room,
                         sizeof *merge->causes)) {
        return SONDE_MEMORY;
    }
    snprintf(merge->causes[merge->cause_count++], DIGEST_GROUP_TEXT, "%s", cause);
    return SONDE_OK;
}

static bool is_of_it(const struct merge *merge, const char *cause)
{
    for (size_t i = 0; i < merge->cause_count && cause[0] != '\0'; i++) {
        if (strcmp(merge->causes[i], cause) == 0) {
            return true;
        }
    }
    return false;
}

/* --- stalls --- */

static enum sonde_status add_stalls(struct merge *merge, const struct sonde__report *from,
                                    struct sonde__report_copy *copy)
{
    char cause[DIGEST_GROUP_TEXT] = "";
    for (uint32_t i = 0; i < sonde__report_stall_count(from); i++) {
        struct sonde__report_stall stall;
        enum sonde_status status = cause_of_stall(from, sonde__report_stall(from, i), cause);
        if (status != SONDE_OK) {
            return status;
        }
        if (!is_of_it(merge, cause)) {
            continue;
        }
        if (!sonde__report_copy_stall(copy, i, &stall)) {
            return SONDE_MEMORY;
        }
        stall.begin_ns = merge->end_ns;
        merge->end_ns += stall.duration_ns;
        sonde__report_add_stall(merge->report, &stall);
        merge->count++;
    }
    return SONDE_OK;
}

/* Those that a report only counts. */
static void add_counts(struct merge *merge, const struct sonde__report *from)
{
    for (uint32_t i = 0; i < sonde__report_stall_count_count(from); i++) {
        struct sonde__report_stall_count count = *sonde__report_stall_count_at(from, i);
        const char *cause = sonde__report_text(from, count.fingerprint);
        if (is_of_it(merge, cause)) {
            count.fingerprint = sonde__report_string(merge->report, cause);
            sonde__report_add_stall_count(merge->report, &count);
            merge->count += count.count;
        }
    }
}

/* --- errors --- */

static enum sonde_status add_errors(struct merge *merge, const struct sonde__report *from,
                                    struct sonde__report_copy *copy)
{
    char cause[DIGEST_GROUP_TEXT] = "";
    bool is_fatal;
    for (uint32_t i = 0; i < sonde__report_thread_count(from); i++) {
        struct sonde__report_thread thread = *sonde__report_thread(from, i);
        if (cause_error(from, &thread, &is_fatal) == NULL) {
            continue;
        }
        enum sonde_status status = cause_of_error(from, &thread, cause);
        if (status != SONDE_OK) {
            return status;
        }
        if (is_of_it(merge, cause)) {
            sonde__report_copy_thread(copy, i, &thread);
            sonde__report_add_thread(merge->report, &thread);
            merge->count++;
        }
    }
    return SONDE_OK;
}

/* --- calls --- */

/* Find the rule by its name and pack, or add it. */
static uint32_t rule_of(struct merge *merge, const struct sonde__report *from, uint32_t id)
{
    struct sonde__report_rule rule = *sonde__report_rule(from, id);
    uint32_t *const texts[] = {&rule.name, &rule.pack, &rule.category, &rule.text};
    if (id == 0) {
        return 0;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = sonde__report_string(merge->report, sonde__report_text(from, *texts[i]));
    }
    for (uint32_t i = 1; i <= sonde__report_rule_count(merge->report); i++) {
        const struct sonde__report_rule *known = sonde__report_rule(merge->report, i);
        if (known->name == rule.name && known->pack == rule.pack) {
            return i;
        }
    }
    return sonde__report_add_rule(merge->report, &rule);
}

/* The same calls so far; null: none. */
static struct sonde__report_call *same_call(struct merge *merge,
                                            const struct sonde__report_call *call)
{
    for (size_t i = 0; i < merge->call_count; i++) {
        struct sonde__report_call *known = &merge->calls[i];
        if (known->function == call->function && known->stack == call->stack &&
            known->rule == call->rule && known->phase == call->phase && known->sdk == call->sdk) {
            return known;
        }
    }
    return NULL;
}

static bool put_call(struct merge *merge, struct sonde__report_call *call)
{
    call->stack = merge->call_count < CALLS_MAX ? call->stack : 0;
    struct sonde__report_call *same = same_call(merge, call);
    if (same == NULL) {
        return SONDE__MEM_ADD(merge->calls, merge->call_count, merge->call_room, *call);
    }
    same->count += call->count;
    same->over_limit += call->over_limit;
    same->first_ns = call->first_ns < same->first_ns ? call->first_ns : same->first_ns;
    same->last_ns = call->last_ns > same->last_ns ? call->last_ns : same->last_ns;
    return true;
}

static enum sonde_status add_calls(struct merge *merge, const struct sonde__report *from,
                                   struct sonde__report_copy *copy)
{
    char cause[DIGEST_GROUP_TEXT] = "";
    for (uint32_t i = 0; i < sonde__report_call_count(from); i++) {
        struct sonde__report_call call = *sonde__report_call(from, i);
        uint32_t rule = call.rule;
        if (call.count == 0) { /* it only says what may be missing */
            continue;
        }
        cause_of_call(from, &call, &merge->room, cause);
        if (!is_of_it(merge, cause)) {
            continue;
        }
        if (!sonde__report_copy_call(copy, i, &call)) {
            return SONDE_MEMORY;
        }
        call.rule = rule_of(merge, from, rule);
        call.process = 0;
        call.tid = 0;
        call.threads = 0;
        call.arguments = NULL;
        call.argument_count = 0;
        if (!put_call(merge, &call)) {
            return SONDE_MEMORY;
        }
        merge->count += call.count;
    }
    return SONDE_OK;
}

/* --- reports --- */

enum sonde_status merge_add(struct merge *merge, const struct sonde__report *report)
{
    struct sonde__report_copy *copy;
    enum sonde_status status = sonde__report_copy_create(report, merge->report, &copy);
    if (status != SONDE_OK) {
        return status;
    }
    if (sonde__report_header(merge->report)->kind == 0) {
        struct sonde__report_header header = *sonde__report_header(report);
        header.report_id = NULL;
        sonde__report_set_header(merge->report, &header);
    }
    status = add_stalls(merge, report, copy);
    if (status == SONDE_OK) {
        add_counts(merge, report);
        status = add_errors(merge, report, copy);
    }
    if (status == SONDE_OK) {
        status = add_calls(merge, report, copy);
    }
    sonde__report_copy_destroy(copy);
    return status;
}

uint64_t merge_count(const struct merge *merge)
{
    return merge->count;
}

struct sonde__report *merge_report(struct merge *merge, const char *note)
{
    for (size_t i = 0; i < merge->call_count; i++) {
        sonde__report_add_call(merge->report, &merge->calls[i]);
    }
    sonde__report_add_note(merge->report, note);
    return merge->report;
}
