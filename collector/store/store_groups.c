// SPDX-License-Identifier: Apache-2.0
/* Changes of groups by people, and of a project's baseline. A group of several causes is a row of
 * its own, the joint, with the sums of its causes; each cause keeps its own sums, so it can leave
 * the group again. The state of a group is that of its row. A joint that ends points to the group
 * that goes on. */
#include "store_parts.h"

#include <sys/random.h>

struct changing {
    struct store *store;
    struct db *db;
    uint32_t project;
    enum store_status status; /* of all so far */
};

/* Run a statement with up to four values: "iu…" of db_bind(); does nothing after a failure. */
#define RUN(c, text, types, ...)                                                                   \
    do {                                                                                           \
        struct db_statement *statement_ = prepare_change(c, text);                                 \
        if (statement_ != NULL) {                                                                  \
            db_bind(statement_, types, __VA_ARGS__);                                               \
            end_change(c, statement_);                                                             \
        }                                                                                          \
    } while (0)

static struct db_statement *prepare_change(struct changing *c, const char *text)
{
    struct db_statement *statement = NULL;
    if (c->status == STORE_OK && (statement = c->db->kind->prepare(c->db, text, false)) == NULL) {
        c->status = STORE_FAILED;
    }
    return statement;
}

static void end_change(struct changing *c, struct db_statement *statement)
{
    c->status = db_run(statement);
    db_end(statement);
}

static struct changing begin(struct store *store, uint32_t project)
{
    struct changing c = {store, store->writer, project, STORE_OK};
    pthread_mutex_lock(&store->writing);
    c.status = c.db->kind->begin(c.db);
    return c;
}

static enum store_status end(struct changing *c, const struct store_actor *actor, const char *what)
{
    return store_end_change(c->store, c->status, actor, c->project, what);
}

/* --- what there is --- */

struct row {
    int64_t number, joined;
    uint64_t kind;
    bool is_joint;
};

static struct row find(struct changing *c, int64_t number)
{
    struct row row = {0};
    struct db_statement *statement = prepare_change(
        c, "SELECT number, joined, kind, is_joint FROM cause WHERE project = ?1 AND number = ?2");
    if (statement == NULL) {
        return row;
    }
    db_bind(statement, "ui", (uint64_t)c->project, number);
    enum db_result result = db_step(statement);
    if (result == DB_ROW) {
        row = (struct row){db_number(statement, 0), db_number(statement, 1), db_uint(statement, 2),
                           db_number(statement, 3) != 0};
    } else {
        c->status = result == DB_DONE ? STORE_ABSENT : STORE_FAILED;
    }
    db_end(statement);
    return row;
}

/* The same; of a joint that ended, the group that goes on. */
static struct row find_living(struct changing *c, int64_t number)
{
    struct row row = find(c, number);
    while (c->status == STORE_OK && row.is_joint && row.joined != 0) {
        row = find(c, row.joined);
    }
    return row;
}

/* The same; of a cause of a group of several, that group. */
static struct row find_group(struct changing *c, int64_t number)
{
    struct row row = find_living(c, number);
    return c->status == STORE_OK && row.joined != 0 ? find_living(c, row.joined) : row;
}

/* --- joints --- */

/* Sum up a joint from its causes, of which it has one at least. */
static void sum_up(struct changing *c, int64_t joint)
{
    RUN(c,
        "UPDATE cause SET (count, total_ns, longest_ns, fatal, severity, first_ns, last_ns) ="
        " (SELECT sum(count), sum(total_ns), max(longest_ns), sum(fatal), max(severity),"
        " min(first_ns), max(last_ns) FROM cause AS part"
        " WHERE part.joined = ?1 AND part.joined <> 0 AND part.is_joint = 0) WHERE number = ?1",
        "i", joint);
    RUN(c,
        "UPDATE cause SET (title, summary, longest) = (SELECT title, summary, longest FROM cause"
        " AS part WHERE part.joined = ?1 AND part.joined <> 0 AND part.is_joint = 0"
        " ORDER BY longest_ns DESC, number LIMIT 1) WHERE number = ?1",
        "i", joint);
    RUN(c,
        "UPDATE cause SET first_build = (SELECT first_build FROM cause AS part WHERE part.joined ="
        " ?1 AND part.joined <> 0 AND part.is_joint = 0 ORDER BY first_ns, number LIMIT 1),"
        " last_build = (SELECT last_build FROM cause AS part WHERE part.joined = ?1 AND"
        " part.joined <> 0 AND part.is_joint = 0 ORDER BY last_ns DESC, number LIMIT 1),"
        " devices = (SELECT count(DISTINCT device.id) FROM cause AS part JOIN device"
        " ON device.cause = part.number WHERE part.joined = ?1 AND part.joined <> 0"
        " AND part.is_joint = 0) WHERE number = ?1",
        "i", joint);
}

/* A joint of this one cause, with its state. */
static int64_t make_joint(struct changing *c, int64_t cause)
{
    int64_t joint = 0;
    uint64_t random;
    char id[32];
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
        c->status = db_fail("the system gives no random numbers");
    }
    snprintf(id, sizeof id, "joint:%016llx", (unsigned long long)random);
    struct db_statement *statement = prepare_change(
        c,
        "INSERT INTO cause(project, kind, id, title, summary, why, severity, count, total_ns,"
        " longest_ns, devices, fatal, first_ns, last_ns, first_build, last_build, longest, state,"
        " state_ns, state_build, until_ns, until_count, assignee, is_joint) SELECT project, kind,"
        " ?2, title, summary, '', severity, count, total_ns,"
        " longest_ns, devices, fatal, first_ns, last_ns, first_build, last_build, longest, state,"
        " state_ns, state_build, until_ns, until_count, assignee, 1 FROM cause WHERE number = ?1"
        " RETURNING number");
    if (statement != NULL) {
        db_bind(statement, "it", cause, id);
        c->status = db_run_for(statement, &joint);
        db_end(statement);
    }
    RUN(c, "UPDATE cause SET joined = ?2 WHERE number = ?1", "ii", cause, joint);
    return joint;
}

/* End a joint: `next` goes on. */
static void end_joint(struct changing *c, int64_t joint, int64_t next)
{
    RUN(c, "UPDATE cause SET joined = ?2 WHERE joined = ?1 AND joined <> 0 AND number <> ?2", "ii",
        joint, next);
    RUN(c, "UPDATE cause SET joined = ?2, count = 0, total_ns = 0, devices = 0 WHERE number = ?1",
        "ii", joint, next);
}

/* A cause left the joint: sum up, or end it if one is left, which gets its state. */
static void shrink(struct changing *c, int64_t joint)
{
    int64_t count = 0, last = 0;
    struct db_statement *statement = prepare_change(
        c, "SELECT count(*), max(number) FROM cause WHERE joined = ?1 AND joined <> 0"
           " AND is_joint = 0");
    if (statement != NULL) {
        db_bind(statement, "i", joint);
        if (db_step(statement) == DB_ROW) {
            count = db_number(statement, 0);
            last = db_number(statement, 1);
        }
        db_end(statement);
    }
    if (count > 1) {
        sum_up(c, joint);
        return;
    }
    RUN(c,
        "UPDATE cause SET joined = 0, (state, state_ns, state_build, until_ns, until_count,"
        " assignee) = (SELECT state, state_ns, state_build, until_ns, until_count, assignee"
        " FROM cause AS joint WHERE joint.number = ?2) WHERE number = ?1",
        "ii", last, joint);
    end_joint(c, joint, last);
}

static void join(struct changing *c, const struct row *from, int64_t joint)
{
    if (from->is_joint) {
        end_joint(c, from->number, joint);
    } else {
        RUN(c, "UPDATE cause SET joined = ?2 WHERE number = ?1", "ii", from->number, joint);
        if (from->joined != 0) {
            shrink(c, from->joined);
        }
    }
    sum_up(c, joint);
}

enum store_status store_join(struct store *store, const struct store_actor *actor, uint32_t project,
                             int64_t group, int64_t with, int64_t *ret_joint)
{
    char what[96];
    struct changing c = begin(store, project);
    struct row from = find_living(&c, group), to = find_group(&c, with);
    if (c.status == STORE_OK && (from.number == to.number || from.joined == to.number)) {
        c.status = db_unfit("they are one group already");
    } else if (c.status == STORE_OK && from.kind != to.kind) {
        c.status = db_unfit("they are of two kinds");
    }
    int64_t joint = to.number;
    if (c.status == STORE_OK && !to.is_joint) {
        joint = make_joint(&c, to.number);
    }
    if (c.status == STORE_OK) {
        join(&c, &from, joint);
    }
    *ret_joint = joint;
    snprintf(what, sizeof what, "group %lld: joined with %lld to %lld", (long long)group,
             (long long)with, (long long)joint);
    return end(&c, actor, what);
}

enum store_status store_leave(struct store *store, const struct store_actor *actor,
                              uint32_t project, int64_t cause)
{
    char what[96];
    struct changing c = begin(store, project);
    struct row row = find(&c, cause);
    if (c.status == STORE_OK && (row.joined == 0 || row.is_joint)) {
        c.status = db_unfit("it is no cause of a group of several");
    }
    RUN(&c, "UPDATE cause SET joined = 0 WHERE number = ?1", "i", cause);
    if (c.status == STORE_OK) {
        shrink(&c, row.joined);
    }
    snprintf(what, sizeof what, "group %lld: left group %lld", (long long)cause,
             (long long)row.joined);
    return end(&c, actor, what);
}

/* --- states --- */

enum store_status store_set_state(struct store *store, const struct store_actor *actor,
                                  uint32_t project, int64_t group, const struct state_mark *mark)
{
    static const char *const words[] = {[STATE_OPEN] = "open",
                                        [STATE_RESOLVED] = "resolved",
                                        [STATE_RESOLVED_IN] = "resolved in build",
                                        [STATE_RESOLVED_NEXT] = "resolved in the next build",
                                        [STATE_IGNORED] = "ignored",
                                        [STATE_REGRESSED] = "regressed"};
    char what[160];
    struct changing c = begin(store, project);
    struct row row = find_group(&c, group);
    RUN(&c,
        "UPDATE cause SET state = ?2, state_ns = ?3, state_build = ?4, until_ns = ?5,"
        " until_count = ?6 WHERE number = ?1",
        "iuutuu", row.number, (uint64_t)mark->state, mark->since_ns, mark->build, mark->until_ns,
        mark->until_count);
    snprintf(what, sizeof what, "group %lld: %s %.64s", (long long)row.number, words[mark->state],
             mark->build);
    return end(&c, actor, what);
}

enum store_status store_assign(struct store *store, const struct store_actor *actor,
                               uint32_t project, int64_t group, const char *assignee)
{
    char what[160];
    struct changing c = begin(store, project);
    struct row row = find_group(&c, group);
    RUN(&c, "UPDATE cause SET assignee = ?2 WHERE number = ?1", "it", row.number, assignee);
    snprintf(what, sizeof what, "group %lld: assigned to %.64s", (long long)row.number,
             assignee[0] != '\0' ? assignee : "nobody");
    return end(&c, actor, what);
}

/* --- baselines --- */

enum store_status store_set_baseline(struct store *store, const struct store_actor *actor,
                                     uint32_t project, const char *build)
{
    char what[160];
    int64_t number;
    struct changing c = begin(store, project);
    struct db_statement *statement = prepare_change(
        &c, "UPDATE project SET baseline = ?2 WHERE number = ?1 AND EXISTS(SELECT 1 FROM build"
            " WHERE build.project = ?1 AND build.name = ?2) RETURNING number");
    if (statement != NULL) {
        db_bind(statement, "ut", (uint64_t)project, build);
        c.status = db_run_for(statement, &number);
        db_end(statement);
    }
    snprintf(what, sizeof what, "baseline: build %.64s", build);
    return end(&c, actor, what);
}
