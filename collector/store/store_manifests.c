// SPDX-License-Identifier: Apache-2.0
/* Privacy manifests of builds, as they were given, and the functions that builds were asked about.
 * A manifest may come before the first report of its build, and stays with the build's sums. */
#include <stdio.h>

#include "store_parts.h"

enum store_status store_manifests(struct store *store, uint32_t project, const char *build,
                                  const char *name, store_each_manifest *each, void *ctx)
{
    struct store_asking asking =
        store_ask(store, "SELECT name, bytes, made_ns, secret FROM manifest WHERE project = ?1"
                         " AND build = ?2 AND (?3 = '' OR name = ?3) ORDER BY name");
    struct db_statement *s = asking.statement;
    db_bind(s, "utt", (uint64_t)project, build, name != NULL ? name : "");
    while (store_next(&asking)) {
        struct store_manifest manifest = {
            .name = db_text(s, 0), .made_ns = db_uint(s, 2), .secret = db_number(s, 3)};
        manifest.bytes = db_bytes(s, 1, &manifest.size);
        each(ctx, &manifest);
    }
    return store_end(&asking);
}

enum store_status store_apis(struct store *store, uint32_t project, const char *build,
                             store_each_api *each, void *ctx)
{
    struct store_asking asking =
        store_ask(store, "SELECT name, missed FROM recorded_api WHERE project = ?1 AND build = ?2"
                         " ORDER BY name");
    db_bind(asking.statement, "ut", (uint64_t)project, build);
    while (store_next(&asking)) {
        each(ctx, db_text(asking.statement, 0), db_text(asking.statement, 1));
    }
    return store_end(&asking);
}

/* --- changes --- */

static struct db_statement *prepare(struct store *store, const char *text)
{
    return store->writer->kind->prepare(store->writer, text, false);
}

/* How many manifests the build has, without that of the name. */
static enum store_status count_others(struct store *store, uint32_t project, const char *build,
                                      const char *name, int64_t *ret_count)
{
    struct db_statement *statement =
        prepare(store, "SELECT count(*) FROM manifest WHERE project = ?1 AND build = ?2"
                       " AND name <> ?3");
    db_bind(statement, "utt", (uint64_t)project, build, name);
    enum store_status status = statement != NULL ? db_run_for(statement, ret_count) : STORE_FAILED;
    db_end(statement);
    return status;
}

/* OK | ABSENT | FAILED. */
static enum store_status remove_one(struct store *store, uint32_t project, const char *build,
                                    const char *name)
{
    int64_t removed;
    struct db_statement *statement =
        prepare(store, "DELETE FROM manifest WHERE project = ?1 AND build = ?2 AND name = ?3"
                       " RETURNING project");
    db_bind(statement, "utt", (uint64_t)project, build, name);
    enum store_status status = statement != NULL ? db_run_for(statement, &removed) : STORE_FAILED;
    db_end(statement);
    return status;
}

static enum store_status add_one(struct store *store, const struct store_actor *actor,
                                 uint32_t project, const char *build,
                                 const struct store_manifest *manifest)
{
    struct db_statement *statement =
        prepare(store, "INSERT INTO manifest(project, build, name, bytes, made_ns, secret)"
                       " VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
    db_bind(statement, "uttbui", (uint64_t)project, build, manifest->name, manifest->bytes,
            manifest->size, actor->now_ns, actor->secret);
    enum store_status status = statement != NULL ? db_run(statement) : STORE_FAILED;
    db_end(statement);
    return status;
}

enum store_status store_set_manifest(struct store *store, const struct store_actor *actor,
                                     uint32_t project, const char *build,
                                     const struct store_manifest *manifest, bool *ret_is_new)
{
    char what[400];
    int64_t others = 0;
    enum store_status status = store_begin_change(store);
    if (status != STORE_OK) {
        return status;
    }
    status = count_others(store, project, build, manifest->name, &others);
    if (status == STORE_OK && others >= STORE_MANIFESTS_MAX) {
        status = db_unfit("the build has as many manifests as it may have");
    }
    if (status == STORE_OK) {
        status = remove_one(store, project, build, manifest->name);
        *ret_is_new = status == STORE_ABSENT;
        status = status == STORE_ABSENT ? STORE_OK : status;
    }
    if (status == STORE_OK) {
        status = add_one(store, actor, project, build, manifest);
    }
    snprintf(what, sizeof what, "build %.128s: manifest %.128s given", build, manifest->name);
    return store_end_change(store, status, actor, project, what);
}

enum store_status store_remove_manifest(struct store *store, const struct store_actor *actor,
                                        uint32_t project, const char *build, const char *name)
{
    char what[400];
    enum store_status status = store_begin_change(store);
    if (status != STORE_OK) {
        return status;
    }
    status = remove_one(store, project, build, name);
    snprintf(what, sizeof what, "build %.128s: manifest %.128s removed", build, name);
    return store_end_change(store, status, actor, project, what);
}
