// SPDX-License-Identifier: Apache-2.0
/* Hooks, and the queues of their messages (tell.c puts them there). A message is a row until it was
 * taken or given up. Who sends it sets first when it is due again: until then nobody else sends it.
 * If the sender ends meanwhile, it sends it at its next start, or another collector does at that
 * time. */
#include <stdlib.h>
#include <string.h>

#include "store_parts.h"

struct changing {
    struct store *store;
    struct db *db;
    enum store_status status; /* of all so far */
};

/* Run a statement with the values of `types` (db_bind()); does nothing after a failure. */
#define RUN(c, text, ...)                                                                          \
    do {                                                                                           \
        struct db_statement *statement_ = prepare(c, text);                                        \
        if (statement_ != NULL) {                                                                  \
            db_bind(statement_, __VA_ARGS__);                                                      \
            (c)->status = db_run(statement_);                                                      \
            db_end(statement_);                                                                    \
        }                                                                                          \
    } while (0)

static struct db_statement *prepare(struct changing *c, const char *text)
{
    struct db_statement *statement = NULL;
    if (c->status == STORE_OK && (statement = c->db->kind->prepare(c->db, text, false)) == NULL) {
        c->status = STORE_FAILED;
    }
    return statement;
}

/* Run a statement whose answer is a number: ABSENT without a row. */
#define RUN_FOR(c, ret_number, text, ...)                                                          \
    do {                                                                                           \
        struct db_statement *statement_ = prepare(c, text);                                        \
        if (statement_ != NULL) {                                                                  \
            db_bind(statement_, __VA_ARGS__);                                                      \
            (c)->status = db_run_for(statement_, ret_number);                                      \
            db_end(statement_);                                                                    \
        }                                                                                          \
    } while (0)

static struct changing begin(struct store *store)
{
    return (struct changing){store, store->writer, store_begin_change(store)};
}

/* All or nothing. */
static enum store_status end(struct changing *c)
{
    if (c->status == STORE_OK) {
        c->status = c->db->kind->commit(c->db);
    } else {
        c->db->kind->roll_back(c->db);
    }
    pthread_mutex_unlock(&c->store->writing);
    return c->status;
}

/* The same, with a line in the list of actions; it is on the disk then. */
static enum store_status end_action(struct changing *c, const struct store_actor *actor,
                                    uint32_t project, const char *what)
{
    return store_end_change(c->store, c->status, actor, project, what);
}

/* --- hooks --- */

enum store_status store_add_hook(struct store *store, const struct store_actor *actor,
                                 const struct store_hook *hook, int64_t *ret_number)
{
    char what[HOOK_URL_MAX + 64];
    int64_t count = 0;
    struct changing c = begin(store);
    if (c.status != STORE_OK) {
        return c.status;
    }
    RUN_FOR(&c, &count, "SELECT count(*) FROM hook WHERE project = ?1", "u",
            (uint64_t)hook->project);
    if (c.status == STORE_OK && count >= STORE_HOOKS_MAX) {
        c.status = db_unfit("the project has as many hooks as it may have");
    }
    RUN_FOR(&c, ret_number,
            "INSERT INTO hook(project, url, events, kinds, secret, made_ns)"
            " VALUES(?1, ?2, ?3, ?4, ?5, ?6) RETURNING number",
            "utuubu", (uint64_t)hook->project, hook->url, (uint64_t)hook->events,
            (uint64_t)hook->kinds, hook->secret.bytes, (size_t)HOOK_SECRET, actor->now_ns);
    snprintf(what, sizeof what, "hook %lld: added, %s", (long long)*ret_number, hook->url);
    return end_action(&c, actor, hook->project, what);
}

enum store_status store_remove_hook(struct store *store, const struct store_actor *actor,
                                    uint32_t project, int64_t number)
{
    char what[64];
    int64_t owner = 0;
    struct changing c = begin(store);
    if (c.status != STORE_OK) {
        return c.status;
    }
    RUN_FOR(&c, &owner,
            "DELETE FROM hook WHERE number = ?1 AND (?2 = 0 OR project = ?2) RETURNING project",
            "iu", number, (uint64_t)project);
    RUN(&c, "DELETE FROM message WHERE hook = ?1", "i", number);
    snprintf(what, sizeof what, "hook %lld: removed", (long long)number);
    return end_action(&c, actor, (uint32_t)owner, what);
}

enum store_status store_enable_hook(struct store *store, const struct store_actor *actor,
                                    uint32_t project, int64_t number)
{
    char what[64];
    int64_t owner = 0;
    struct changing c = begin(store);
    if (c.status != STORE_OK) {
        return c.status;
    }
    RUN_FOR(&c, &owner,
            "UPDATE hook SET disabled_ns = 0 WHERE number = ?1 AND (?2 = 0 OR project = ?2)"
            " RETURNING project",
            "iu", number, (uint64_t)project);
    snprintf(what, sizeof what, "hook %lld: enabled", (long long)number);
    return end_action(&c, actor, (uint32_t)owner, what);
}

enum store_status store_hooks(struct store *store, uint32_t project, store_each_hook *each,
                              void *ctx)
{
    struct store_asking asking = store_ask(
        store, "SELECT hook.number, hook.project, project.name, url, events, kinds, secret,"
               " hook.made_ns, disabled_ns, sent, given_up, lost, last_ns, last_text,"
               " (SELECT count(*) FROM message WHERE message.hook = hook.number)"
               " FROM hook JOIN project ON project.number = hook.project"
               " WHERE ?1 = 0 OR hook.project = ?1 ORDER BY hook.number");
    db_bind(asking.statement, "u", (uint64_t)project);
    while (store_next(&asking)) {
        struct db_statement *s = asking.statement;
        struct store_hook hook = {.number = db_number(s, 0),
                                  .project = (uint32_t)db_uint(s, 1),
                                  .project_name = db_text(s, 2),
                                  .url = db_text(s, 3),
                                  .events = (uint32_t)db_uint(s, 4),
                                  .kinds = (uint32_t)db_uint(s, 5),
                                  .made_ns = db_uint(s, 7),
                                  .disabled_ns = db_uint(s, 8),
                                  .sent = db_uint(s, 9),
                                  .given_up = db_uint(s, 10),
                                  .lost = db_uint(s, 11),
                                  .last_ns = db_uint(s, 12),
                                  .last = db_text(s, 13),
                                  .waiting = db_uint(s, 14)};
        (void)db_copy_id(s, 6, hook.secret.bytes, sizeof hook.secret.bytes);
        each(ctx, &hook);
    }
    return store_end(&asking);
}

enum store_status store_test_hook(struct store *store, const struct store_actor *actor,
                                  uint32_t project, int64_t number, char ret_id[HOOK_ID_TEXT])
{
    struct hook_message message = {.event = HOOK_TEST, .time_ns = actor->now_ns};
    struct hook_secret secret;
    char name[STORE_NAME_MAX + 1] = "";
    struct changing c = begin(store);
    if (c.status != STORE_OK) {
        return c.status;
    }
    struct db_statement *find =
        prepare(&c, "SELECT secret, project.name FROM hook JOIN project"
                    " ON project.number = hook.project WHERE hook.number = ?1"
                    " AND hook.project = ?2 AND disabled_ns = 0");
    db_bind(find, "iu", number, (uint64_t)project);
    enum db_result result = db_step(find);
    bool is_there = result == DB_ROW && db_copy_id(find, 0, secret.bytes, sizeof secret.bytes);
    snprintf(name, sizeof name, "%s", is_there ? db_text(find, 1) : "");
    db_end(find);
    c.status = is_there ? c.status : result == DB_DONE ? STORE_ABSENT : STORE_FAILED;
    message.project = name;
    char *body = is_there ? hook_message_body(&message) : NULL;
    if (is_there && body == NULL) {
        c.status = db_fail("no memory");
    }
    if (c.status == STORE_OK) {
        hook_message_id(&secret, &message, ret_id);
    }
    RUN(&c, "INSERT INTO message(hook, id, body, made_ns, next_ns) VALUES(?1, ?2, ?3, ?4, ?4)",
        "ittu", number, ret_id, body, actor->now_ns);
    free(body);
    return end(&c);
}

/* --- messages --- */

static uint64_t latest(uint64_t now_ns)
{
    return now_ns < INT64_MAX - STORE_MESSAGE_WAIT_MAX_NS ? now_ns + STORE_MESSAGE_WAIT_MAX_NS
                                                          : INT64_MAX;
}

enum store_status store_due_messages(struct store *store, uint64_t now_ns, store_each_due *each,
                                     void *ctx)
{
    struct store_asking asking =
        store_ask(store, "SELECT hook, min(number) FROM message WHERE next_ns <= ?1"
                         " OR next_ns > ?2 GROUP BY hook ORDER BY 2 LIMIT 1000");
    db_bind(asking.statement, "uu", now_ns, latest(now_ns));
    while (store_next(&asking)) {
        each(ctx, db_number(asking.statement, 0), db_number(asking.statement, 1));
    }
    return store_end(&asking);
}

static void read_message(struct changing *c, int64_t number, struct store_message *ret_message)
{
    struct db_statement *find =
        prepare(c, "SELECT hook, id, body, tries, message.made_ns, url, secret FROM message"
                   " JOIN hook ON hook.number = message.hook WHERE message.number = ?1");
    db_bind(find, "i", number);
    if (db_step(find) != DB_ROW) {
        c->status = STORE_FAILED;
        db_end(find);
        return;
    }
    struct store_message m = {.number = number,
                              .hook = db_number(find, 0),
                              .tries = (uint32_t)db_uint(find, 3),
                              .made_ns = db_uint(find, 4),
                              .body = strdup(db_text(find, 2)),
                              .url = strdup(db_text(find, 5))};
    snprintf(m.id, sizeof m.id, "%s", db_text(find, 1));
    (void)db_copy_id(find, 6, m.secret.bytes, sizeof m.secret.bytes);
    db_end(find);
    if (m.body == NULL || m.url == NULL) {
        store_free_message(&m);
        c->status = db_fail("no memory");
        return;
    }
    *ret_message = m;
}

enum store_status store_claim_message(struct store *store, int64_t number, uint64_t now_ns,
                                      uint64_t until_ns, struct store_message *ret_message)
{
    int64_t same;
    struct store_message message = {0};
    struct changing c = begin(store);
    if (c.status != STORE_OK) {
        return c.status;
    }
    RUN_FOR(&c, &same,
            "UPDATE message SET next_ns = ?3, tries = tries + 1, sender = ?4 WHERE number = ?1"
            " AND (next_ns <= ?2 OR next_ns > ?5) RETURNING number",
            "iuuiu", number, now_ns, until_ns, store->collector, latest(now_ns));
    if (c.status == STORE_OK) {
        read_message(&c, number, &message);
    }
    enum store_status status = end(&c);
    if (status == STORE_OK) {
        *ret_message = message;
    } else {
        store_free_message(&message);
    }
    return status;
}

enum store_status store_release_messages(struct store *store)
{
    struct changing c = begin(store);
    if (c.status != STORE_OK) {
        return c.status;
    }
    RUN(&c, "UPDATE message SET next_ns = 0, sender = 0 WHERE sender = ?1", "i", store->collector);
    return end(&c);
}

void store_free_message(struct store_message *message)
{
    free(message->body);
    free(message->url);
    message->body = message->url = NULL;
}

/* Send the hook nothing more; what waits for it is given up. */
static void disable(struct changing *c, const struct store_message *m, uint64_t now_ns,
                    const char *why)
{
    char what[160];
    int64_t project = 0;
    const struct store_actor nobody = {.now_ns = now_ns};
    RUN_FOR(c, &project,
            "UPDATE hook SET disabled_ns = ?2, given_up = given_up + (SELECT count(*) FROM message"
            " WHERE hook = ?1) WHERE number = ?1 RETURNING project",
            "iu", m->hook, now_ns);
    RUN(c, "DELETE FROM message WHERE hook = ?1", "i", m->hook);
    snprintf(what, sizeof what, "hook %lld: disabled, %s", (long long)m->hook, why);
    if (c->status == STORE_OK) {
        c->status = store_add_action(c->store, &nobody, (uint32_t)project, what);
    }
}

/* Give the message up. A hook that took nothing since the message was made is disabled. */
static void give_up(struct changing *c, const struct store_message *m, uint64_t now_ns,
                    bool *ret_is_disabled)
{
    int64_t same;
    RUN(c, "DELETE FROM message WHERE number = ?1", "i", m->number);
    RUN(c, "UPDATE hook SET given_up = given_up + 1 WHERE number = ?1", "i", m->hook);
    RUN_FOR(c, &same,
            "SELECT number FROM hook WHERE number = ?1 AND taken_ns < ?2 AND disabled_ns = 0", "iu",
            m->hook, m->made_ns);
    if (c->status == STORE_ABSENT) {
        c->status = STORE_OK;
        return;
    }
    disable(c, m, now_ns, "it took no message until all tries were over");
    *ret_is_disabled = c->status == STORE_OK;
}

enum store_status store_settle_message(struct store *store, const struct store_message *message,
                                       const struct store_answer *answer, bool *ret_is_disabled)
{
    bool is_disabled = false;
    struct changing c = begin(store);
    if (c.status != STORE_OK) {
        return c.status;
    }
    RUN(&c, "UPDATE hook SET last_ns = ?2, last_text = ?3 WHERE number = ?1", "iut", message->hook,
        answer->now_ns, answer->text);
    switch (answer->what) {
    case STORE_MESSAGE_TAKEN:
        RUN(&c, "UPDATE hook SET sent = sent + 1, taken_ns = ?2 WHERE number = ?1", "iu",
            message->hook, answer->now_ns);
        RUN(&c, "DELETE FROM message WHERE number = ?1", "i", message->number);
        break;
    case STORE_MESSAGE_LATER:
        RUN(&c, "UPDATE message SET next_ns = ?2, sender = 0 WHERE number = ?1", "iu",
            message->number, answer->next_ns);
        break;
    case STORE_MESSAGE_GIVEN_UP:
        give_up(&c, message, answer->now_ns, &is_disabled);
        break;
    case STORE_MESSAGE_GONE:
        disable(&c, message, answer->now_ns, "its server answered 410 Gone");
        c.status = c.status == STORE_ABSENT ? STORE_OK : c.status; /* it was removed */
        is_disabled = true;
    }
    enum store_status status = end(&c);
    *ret_is_disabled = status == STORE_OK && is_disabled;
    return status;
}

uint64_t store_messages(struct store *store)
{
    uint64_t count = 0;
    struct store_asking asking = store_ask(store, "SELECT count(*) FROM message");
    if (store_next(&asking)) {
        count = db_uint(asking.statement, 0);
    }
    (void)store_end(&asking);
    return count;
}
