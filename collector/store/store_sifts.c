// SPDX-License-Identifier: Apache-2.0
/* The filters of projects, as they are set and asked for (sieve.c applies them). */
#include <string.h>

#include "store_parts.h"

/* Ask the writer for a number. ABSENT: there is no row. */
#define NUMBER_OF(store, status, ret_number, text, ...)                                            \
    do {                                                                                           \
        struct db *db_ = (store)->writer;                                                          \
        struct db_statement *statement_ = db_->kind->prepare(db_, text, false);                    \
        if (statement_ != NULL) {                                                                  \
            db_bind(statement_, __VA_ARGS__);                                                      \
        }                                                                                          \
        *(status) = statement_ != NULL ? db_run_for(statement_, ret_number) : STORE_FAILED;        \
        db_end(statement_);                                                                        \
    } while (0)

enum store_status store_add_sift(struct store *store, const struct store_actor *actor,
                                 uint32_t project, const struct sift *sift, int64_t *ret_number)
{
    char text[SIFT_TEXT], what[SIFT_TEXT + 64];
    int64_t count = 0;
    enum store_status status = store_begin_change(store);
    if (status != STORE_OK) {
        return status;
    }
    NUMBER_OF(store, &status, &count, "SELECT count(*) FROM sift WHERE project = ?1", "u",
              (uint64_t)project);
    if (status == STORE_OK && count >= STORE_SIFTS_MAX) {
        status = db_unfit("the project has as many filters as it may have");
    }
    if (status == STORE_OK) {
        NUMBER_OF(store, &status, ret_number,
                  "INSERT INTO sift(project, kind, pattern, made_ns) VALUES(?1, ?2, ?3, ?4)"
                  " ON CONFLICT(project, kind, pattern) DO NOTHING RETURNING number",
                  "uutu", (uint64_t)project, (uint64_t)sift->kind, sift->pattern, actor->now_ns);
        status = status == STORE_ABSENT ? db_unfit("the project has this filter") : status;
    }
    sift_text(sift, text);
    snprintf(what, sizeof what, "filter %lld: added, %s",
             status == STORE_OK ? (long long)*ret_number : 0, text);
    return store_end_change(store, status, actor, project, what);
}

enum store_status store_remove_sift(struct store *store, const struct store_actor *actor,
                                    uint32_t project, int64_t number)
{
    char what[64];
    int64_t owner = 0;
    enum store_status status = store_begin_change(store);
    if (status != STORE_OK) {
        return status;
    }
    NUMBER_OF(store, &status, &owner,
              "DELETE FROM sift WHERE number = ?1 AND (?2 = 0 OR project = ?2) RETURNING project",
              "iu", number, (uint64_t)project);
    snprintf(what, sizeof what, "filter %lld: removed", (long long)number);
    return store_end_change(store, status, actor, (uint32_t)owner, what);
}

enum store_status store_sifts(struct store *store, uint32_t project, store_each_sift *each,
                              void *ctx)
{
    struct store_asking asking =
        store_ask(store, "SELECT sift.number, sift.project, project.name, kind, pattern,"
                         " sift.made_ns, reports, events, count, total_ns FROM sift"
                         " JOIN project ON project.number = sift.project"
                         " WHERE ?1 = 0 OR sift.project = ?1 ORDER BY sift.number");
    struct db_statement *s = asking.statement;
    db_bind(s, "u", (uint64_t)project);
    while (store_next(&asking)) {
        struct store_sift sift = {.number = db_number(s, 0),
                                  .project = (uint32_t)db_uint(s, 1),
                                  .project_name = db_text(s, 2),
                                  .sift = {.kind = (enum sift_kind)db_number(s, 3)},
                                  .made_ns = db_uint(s, 5),
                                  .reports = db_uint(s, 6),
                                  .events = db_uint(s, 7),
                                  .count = db_uint(s, 8),
                                  .total_ns = db_uint(s, 9)};
        snprintf(sift.sift.pattern, sizeof sift.sift.pattern, "%s", db_text(s, 4));
        each(ctx, &sift);
    }
    return store_end(&asking);
}
