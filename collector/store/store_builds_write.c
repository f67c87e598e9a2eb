// SPDX-License-Identifier: Apache-2.0
/* What the writer keeps of builds: when a build was seen, on which machines, what its audits looked
 * for, and its calls of each cause. A row of `machine` or `build_sum` with cause 0 is about the
 * build itself. */
#include "store_parts.h"

/* The machine of a report is one of the build's; of those that have calls of a cause, if it is not
 * 0. In a shared database the statement counts it, too. */
static enum store_status add_machine(struct store *store, const struct store_report *report,
                                     struct gather_call *call)
{
    struct db_statement *statement = store->statements[STORE_ADD_MACHINE];
    db_bind(statement, "utit", (uint64_t)report->project, report->digest->build, call->cause,
            report->digest->device);
    if (store->is_shared) {
        return db_run(statement);
    }
    int64_t cause;
    enum store_status status = db_run_for(statement, &cause);
    call->devices += status == STORE_OK;
    return status == STORE_ABSENT ? STORE_OK : status; /* it was counted */
}

static enum store_status add(struct store *store, const struct store_report *report,
                             const struct gather_call *call)
{
    struct gather_call *kept = gather_add_call(store->gather, call);
    return kept != NULL ? add_machine(store, report, kept) : db_fail("no memory");
}

static enum store_status add_listed(struct store *store, const struct store_report *report)
{
    enum store_status status = STORE_OK;
    struct db_statement *statement = store->statements[STORE_ADD_LISTED];
    const struct digest *digest = report->digest;
    for (uint32_t i = 0; i < digest->listed_count && status == STORE_OK; i++) {
        db_bind(statement, "utt", (uint64_t)report->project, digest->build, digest->listed[i]);
        status = db_run(statement);
    }
    return status;
}

static enum store_status add_apis(struct store *store, const struct store_report *report)
{
    enum store_status status = STORE_OK;
    struct db_statement *statement = store->statements[STORE_ADD_API];
    const struct digest *digest = report->digest;
    for (uint32_t i = 0; i < digest->api_count && status == STORE_OK; i++) {
        const char *missed = digest->apis[i].missed;
        db_bind(statement, "uttt", (uint64_t)report->project, digest->build, digest->apis[i].name,
                missed != NULL ? missed : "");
        status = db_run(statement);
    }
    return status;
}

enum store_status store_add_build(struct store *store, const struct store_report *report,
                                  uint64_t time_ns)
{
    const struct gather_call of_build = {.project = report->project,
                                         .build = report->digest->build,
                                         .rule = "",
                                         .api = "",
                                         .path = "",
                                         .sdk = "",
                                         .code = ""};
    struct db_statement *statement = store->statements[STORE_ADD_BUILD];
    db_bind(statement, "utuu", (uint64_t)report->project, report->digest->build, time_ns,
            (uint64_t)report->digest->has_calls);
    enum store_status status = db_run(statement);
    status = status == STORE_OK ? add(store, report, &of_build) : status;
    status = status == STORE_OK ? add_listed(store, report) : status;
    return status == STORE_OK ? add_apis(store, report) : status;
}

enum store_status store_add_call(struct store *store, const struct store_report *report,
                                 int64_t cause, const struct digest_event *event)
{
    const struct digest_call *from = event->call;
    const struct gather_call call = {.project = report->project,
                                     .cause = cause,
                                     .build = report->digest->build,
                                     .count = event->count,
                                     .before = from->before,
                                     .given = from->given,
                                     .refused = from->refused,
                                     .over = from->over,
                                     .direct = from->direct,
                                     .system = from->system,
                                     .reports = 1,
                                     .is_stable = from->is_stable,
                                     .rule = from->rule,
                                     .api = from->api,
                                     .path = from->path,
                                     .sdk = from->sdk,
                                     .code = from->code != NULL ? from->code : ""};
    return add(store, report, &call);
}
