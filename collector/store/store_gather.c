// SPDX-License-Identifier: Apache-2.0
/* Writes what was gathered (gather.h). */
#include "store_parts.h"

static enum store_status write_group(struct store *store, struct gather_group *group)
{
    enum store_status status = STORE_OK;
    if (group->has_any || group->devices != 0) {
        struct db_statement *statement = store->statements[STORE_ADD_TO_GROUP];
        const char *first = group->has_any ? group->first_build : "";
        const char *last = group->has_any ? group->last_build : "";
        db_bind(statement, "iuuuuututu", group->number, group->count, group->total_ns, group->fatal,
                group->severity, group->has_any ? group->first_ns : (uint64_t)INT64_MAX, first,
                group->last_ns, last, group->devices);
        status = db_run(statement);
    }
    if (status == STORE_OK && group->has_longest) {
        struct db_statement *statement = store->statements[STORE_SHOW_LONGER];
        db_bind(statement, "iutrt", group->number, group->longest_ns, group->summary,
                &group->longest, group->title);
        status = db_run(statement);
    }
    *group = (struct gather_group){.number = group->number};
    return status;
}

enum store_status store_write_row(struct store *store, struct gather_cause *cause)
{
    const struct gather_row *row = &cause->row;
    if (row->report == 0) {
        return STORE_OK;
    }
    struct db_statement *statement = store->statements[STORE_ADD_EVENT];
    db_bind(statement, "iiuuuuu", cause->number, row->report, row->count, row->total_ns, row->named,
            row->project, row->day);
    cause->row = (struct gather_row){0};
    return db_run(statement);
}

static enum store_status write_rows(struct store *store)
{
    enum store_status status = STORE_OK;
    struct gather_cause *cause;
    for (uint32_t i = 0; status == STORE_OK && (cause = gather_cause_at(store->gather, i)) != NULL;
         i++) {
        status = store_write_row(store, cause);
    }
    return status;
}

static enum store_status write_sums(struct store *store)
{
    enum store_status status = STORE_OK;
    struct db_statement *statement = store->statements[STORE_ADD_SUM];
    const struct gather_sum *sum;
    for (uint32_t i = 0; status == STORE_OK && (sum = gather_sum_at(store->gather, i)) != NULL;
         i++) {
        db_bind(statement, "iutuuu", sum->cause, sum->hour, sum->build, sum->count, sum->total_ns,
                sum->longest_ns);
        status = db_run(statement);
    }
    return status;
}

static enum store_status write_tags(struct store *store)
{
    enum store_status status = STORE_OK;
    struct db_statement *statement = store->statements[STORE_ADD_TAG];
    const struct gather_tag *tag;
    for (uint32_t i = 0; status == STORE_OK && (tag = gather_tag_at(store->gather, i)) != NULL;
         i++) {
        db_bind(statement, "ittuu", tag->cause, tag->name, tag->value, tag->count,
                (uint64_t)STORE_TAG_VALUES);
        status = db_run(statement);
    }
    return status;
}

static enum store_status write_calls(struct store *store)
{
    enum store_status status = STORE_OK;
    struct db_statement *statement = store->statements[STORE_ADD_BUILD_SUM];
    const struct gather_call *call;
    for (uint32_t i = 0; status == STORE_OK && (call = gather_call_at(store->gather, i)) != NULL;
         i++) {
        db_bind(statement, "utittttuuuuuuuuuut", (uint64_t)call->project, call->build, call->cause,
                call->rule, call->api, call->path, call->sdk, (uint64_t)call->is_stable,
                call->count, call->before, call->given, call->refused, call->over, call->reports,
                call->devices, call->direct, call->system, call->code);
        status = db_run(statement);
    }
    return status;
}

enum store_status store_flush(struct store *store)
{
    enum store_status status = STORE_OK;
    struct gather_group *group;
    for (uint32_t i = 0; status == STORE_OK && (group = gather_group_at(store->gather, i)) != NULL;
         i++) {
        status = write_group(store, group);
    }
    status = status == STORE_OK ? write_rows(store) : status;
    status = status == STORE_OK ? write_sums(store) : status;
    status = status == STORE_OK ? write_tags(store) : status;
    status = status == STORE_OK ? write_calls(store) : status;
    status = status == STORE_OK ? sieve_flush(store) : status;
    gather_clear(store->gather);
    return status == STORE_OK ? store->writer->kind->flush(store->writer) : status;
}

enum store_status store_flush_group(struct store *store, int64_t number)
{
    struct gather_group *group = gather_group(store->gather, number);
    enum store_status status = group != NULL ? write_group(store, group) : db_fail("no memory");
    return status == STORE_OK ? store->writer->kind->flush(store->writer) : status;
}
