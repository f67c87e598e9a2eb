// SPDX-License-Identifier: Apache-2.0
#include "store_parts.h"

#define HOUR_NS ((uint64_t)3600 * 1000000000u)
#define DAY_NS  (24 * HOUR_NS)

enum store_status store_begin(struct store *store)
{
    pthread_mutex_lock(&store->writing);
    store->day = UINT64_MAX;
    tell_renew(store->tell);
    sieve_renew(store->sieve);
    enum store_status status = store->writer->kind->begin(store->writer);
    if (status != STORE_OK) {
        pthread_mutex_unlock(&store->writing);
    }
    return status;
}

/* End the transaction: by its commit, if all went well so far. */
static enum store_status commit_if(struct store *store, enum store_status status)
{
    struct db *db = store->writer;
    status = status == STORE_OK ? store_flush(store) : status;
    if (status == STORE_OK) {
        status = db->kind->commit(db);
    } else {
        db->kind->roll_back(db);
    }
    gather_clear(store->gather);
    if (status != STORE_OK) {
        tell_forget(store->tell);
    }
    pthread_mutex_unlock(&store->writing);
    return status;
}

enum store_status store_commit(struct store *store, struct journal_place read)
{
    struct db_statement *statement = store->statements[STORE_SET_PLACE];
    db_bind(statement, "uui", read.segment, read.offset, store->collector);
    return commit_if(store, db_run(statement));
}

enum store_status store_commit_change(struct store *store)
{
    return commit_if(store, STORE_OK);
}

void store_rollback(struct store *store)
{
    store->writer->kind->roll_back(store->writer);
    gather_clear(store->gather);
    tell_forget(store->tell);
    pthread_mutex_unlock(&store->writing);
}

enum store_status store_sync(struct store *store)
{
    pthread_mutex_lock(&store->writing);
    enum store_status status = store->writer->kind->sync(store->writer);
    pthread_mutex_unlock(&store->writing);
    return status;
}

/* --- one event --- */

struct adding {
    struct store *store;
    const struct store_report *report;
    int64_t report_number;
    uint64_t time_ns; /* of the event */
    uint32_t part;    /* its number; of a report that waits for symbols */
    bool is_again;    /* its events were counted, and told, before they had their names */
};

/* The cause of an event, and the group that it is shown in. */
struct target {
    int64_t cause, group; /* equal, unless the cause is in a group of several */
    uint64_t longest_ns;
    enum state state; /* of the cause, if it is the group */
    struct gather_cause *known;
};

/* When it was. A sender's clock may be wrong: nothing is later than its arrival. */
static uint64_t time_of(const struct store_report *report, const struct digest_event *event)
{
    uint64_t begin_ns = report->digest->time_ns;
    if (begin_ns == 0 || begin_ns > report->received_ns ||
        event->begin_ns > report->received_ns - begin_ns) {
        return report->received_ns;
    }
    return begin_ns + event->begin_ns;
}

static enum store_status make_cause(const struct adding *a, const struct digest_event *event,
                                    struct target *ret_target)
{
    struct db_statement *make = a->store->statements[STORE_ADD_CAUSE];
    const char *build = a->report->digest->build;
    db_bind(make,
            "uutttt"
            "uutr",
            (uint64_t)a->report->project, (uint64_t)event->kind, event->group, event->title,
            event->summary, event->why, (uint64_t)event->severity, a->time_ns, build,
            &a->report->id);
    int64_t number = 0;
    enum store_status status = db_run_for(make, &number);
    *ret_target = (struct target){
        .cause = number, .group = number, .longest_ns = event->longest_ns, .state = STATE_OPEN};
    if (status != STORE_OK || a->is_again) {
        return status;
    }
    return tell_hooks(a->store, &(struct tell_event){a->report, event, number}, HOOK_NEW);
}

/* Find the cause in the database, or make it. */
static enum store_status look_for_cause(const struct adding *a, const struct digest_event *event,
                                        struct target *ret_target)
{
    struct db_statement *find = a->store->statements[STORE_FIND_CAUSE];
    db_bind(find, "uut", (uint64_t)a->report->project, (uint64_t)event->kind, event->group);
    enum db_result result = db_step(find);
    if (result == DB_ROW) {
        int64_t number = db_number(find, 0), joined = db_number(find, 2);
        *ret_target = (struct target){.cause = number,
                                      .group = joined != 0 ? joined : number,
                                      .longest_ns = db_uint(find, 1),
                                      .state = (enum state)db_uint(find, 3)};
    }
    db_reset(find);
    return result == DB_DONE  ? make_cause(a, event, ret_target)
           : result == DB_ROW ? STORE_OK
                              : STORE_FAILED;
}

/* Find the cause, or make it: this transaction may know it. */
static enum store_status find_cause(const struct adding *a, const struct digest_event *event,
                                    struct target *ret_target)
{
    struct gather *gather = a->store->gather;
    ret_target->known = gather_find_cause(gather, a->report->project, event->kind, event->group);
    if (ret_target->known == NULL) {
        enum store_status status = look_for_cause(a, event, ret_target);
        if (status != STORE_OK) {
            return status;
        }
        const struct gather_cause cause = {
            .project = a->report->project,
            .kind = event->kind,
            .group = event->group,
            .number = ret_target->cause,
            .joined = ret_target->group != ret_target->cause ? ret_target->group : 0,
            .longest_ns = ret_target->longest_ns,
            .state = ret_target->state};
        ret_target->known = gather_add_cause(gather, &cause);
        return ret_target->known != NULL ? STORE_OK : db_fail("no memory");
    }
    const struct gather_cause *known = ret_target->known;
    *ret_target = (struct target){.cause = known->number,
                                  .group = known->joined != 0 ? known->joined : known->number,
                                  .longest_ns = known->longest_ns,
                                  .state = known->state,
                                  .known = ret_target->known};
    return STORE_OK;
}

/* In a shared database the statement counts them, too. */
static enum store_status add_device(const struct adding *a, const struct target *target)
{
    struct db_statement *statement = a->store->statements[STORE_ADD_DEVICE];
    const char *device = a->report->digest->device;
    db_bind(statement, "it", target->cause, device);
    if (a->store->is_shared) {
        return db_run(statement);
    }
    int64_t cause;
    enum store_status status = db_run_for(statement, &cause);
    if (status != STORE_OK) {
        return status == STORE_ABSENT ? STORE_OK : status; /* it was counted */
    }
    struct gather_group *group = gather_group(a->store->gather, target->cause);
    if (group == NULL) {
        return db_fail("no memory");
    }
    group->devices++;
    if (target->group != target->cause) {
        statement = a->store->statements[STORE_COUNT_JOINT_DEVICE];
        db_bind(statement, "iit", target->group, target->cause, device);
        status = db_run(statement);
    }
    return status;
}

/* A report has one row for each of its causes. */
static enum store_status add_to_row(const struct adding *a, const struct digest_event *event,
                                    struct gather_cause *cause)
{
    enum store_status status = STORE_OK;
    if (cause->row.report != a->report_number) {
        status = store_write_row(a->store, cause);
        cause->row = (struct gather_row){.report = a->report_number,
                                         .named = a->report->digest->named,
                                         .project = a->report->project,
                                         .day = a->report->received_ns / DAY_NS};
    }
    gather_add_to_row(cause, event);
    return status;
}

/* Add the event to its groups, sums and tags. False: no memory. */
static bool add_up(const struct adding *a, const struct digest_event *event,
                   const struct target *target)
{
    struct gather *gather = a->store->gather;
    const struct digest *digest = a->report->digest;
    const struct gather_sum sum = {.cause = target->cause,
                                   .hour = a->time_ns / HOUR_NS,
                                   .build = digest->build,
                                   .count = event->count,
                                   .total_ns = event->total_ns,
                                   .longest_ns = event->longest_ns};
    bool is_ok = gather_count(gather, target->cause, event, a->time_ns, digest->build) &&
                 gather_add_sum(gather, &sum);
    if (target->group != target->cause) {
        is_ok = is_ok && gather_count(gather, target->group, event, a->time_ns, digest->build);
    }
    for (uint32_t i = 0; is_ok && i < digest->tag_count; i++) {
        const struct gather_tag tag = {target->cause, digest->tags[i].name, digest->tags[i].value,
                                       event->count};
        is_ok = gather_add_tag(gather, &tag);
    }
    return is_ok;
}

/* Show the event if none of its cause was longer. False: no memory. */
static bool show(const struct adding *a, const struct digest_event *event,
                 const struct target *target)
{
    struct gather *gather = a->store->gather;
    if (event->longest_ns < target->longest_ns || event->summary[0] == '\0') {
        return true;
    }
    target->known->longest_ns = event->longest_ns;
    return gather_show(gather, target->cause, event, &a->report->id) &&
           (target->group == target->cause ||
            gather_show(gather, target->group, event, &a->report->id));
}

/* --- a group that was resolved or ignored --- */

static enum store_status set_state(const struct adding *a, int64_t group, enum state state)
{
    char what[160];
    const struct store_actor nobody = {.now_ns = a->report->received_ns};
    struct db_statement *statement = a->store->statements[STORE_SET_STATE];
    db_bind(statement, "iuu", group, (uint64_t)state, a->report->received_ns);
    enum store_status status = db_run(statement);
    snprintf(what, sizeof what, "group %lld: %s by an event of build %.64s", (long long)group,
             state == STATE_REGRESSED ? "regressed" : "open again", a->report->digest->build);
    return status == STORE_OK ? store_add_action(a->store, &nobody, a->report->project, what)
                              : status;
}

/* Does the event change the state of its group, which has counted it? */
static enum store_status look_at_state(const struct adding *a, const struct digest_event *event,
                                       const struct target *target)
{
    const char *build = a->report->digest->build;
    struct db_statement *find = a->store->statements[STORE_FIND_MARK];
    if (target->group == target->cause &&
        (target->state == STATE_OPEN || target->state == STATE_REGRESSED)) {
        return STORE_OK;
    }
    enum store_status status = store_flush_group(a->store, target->group);
    if (status != STORE_OK) {
        return status;
    }
    db_bind(find, "iut", target->group, (uint64_t)a->report->project, build);
    if (db_step(find) != DB_ROW) {
        db_reset(find);
        return STORE_FAILED;
    }
    const struct state_mark mark = {.state = (enum state)db_uint(find, 0),
                                    .since_ns = db_uint(find, 1),
                                    .build = db_text(find, 2),
                                    .until_ns = db_uint(find, 3),
                                    .until_count = db_uint(find, 4)};
    const struct state_event seen = {.time_ns = a->time_ns,
                                     .received_ns = a->report->received_ns,
                                     .build = build,
                                     .count = db_uint(find, 5),
                                     .build_first_ns = db_uint(find, 6),
                                     .mark_first_ns = db_uint(find, 7)};
    enum state before = mark.state, after = state_after(&mark, &seen);
    db_reset(find);
    if (target->group == target->cause) {
        target->known->state = after;
    }
    status = after != before ? set_state(a, target->group, after) : STORE_OK;
    if (status != STORE_OK || after == before || after != STATE_REGRESSED) {
        return status;
    }
    return tell_hooks(a->store, &(struct tell_event){a->report, event, target->group},
                      HOOK_REGRESSED);
}

/* Spikes are those of the hour that runs: an event that comes late is none of them. */
static enum store_status look_for_spike(const struct adding *a, const struct digest_event *event,
                                        const struct target *target)
{
    if (a->is_again || a->time_ns / HOUR_NS != a->report->received_ns / HOUR_NS) {
        return STORE_OK;
    }
    return tell_spike(a->store, &(struct tell_event){a->report, event, target->group});
}

static enum store_status add_event(const struct adding *a, const struct digest_event *event)
{
    struct target target = {0};
    enum store_status status = find_cause(a, event, &target);
    if (status == STORE_OK && a->report->digest->wants.count != 0) {
        status =
            store_add_part(a->store, a->report_number, a->part, target.cause, a->time_ns, event);
    }
    if (status == STORE_OK) {
        status = add_to_row(a, event, target.known);
    }
    if (status == STORE_OK) {
        status = add_device(a, &target);
    }
    if (status == STORE_OK && event->call != NULL) {
        status = store_add_call(a->store, a->report, target.cause, event);
    }
    if (status == STORE_OK && (!add_up(a, event, &target) || !show(a, event, &target))) {
        status = db_fail("no memory");
    }
    if (status == STORE_OK) {
        status = look_at_state(a, event, &target);
    }
    if (status == STORE_OK) {
        status = look_for_spike(a, event, &target);
    }
    return status == STORE_OK && gather_is_full(a->store->gather) ? store_flush(a->store) : status;
}

/* --- one report --- */

static enum store_status add_row(struct store *store, const struct store_report *report,
                                 int64_t *ret_number)
{
    static const struct digest none = {0};
    const struct digest *digest = report->digest != NULL ? report->digest : &none;
    const char *note = report->digest != NULL ? digest->loss : report->why;
    struct db_statement *statement = store->statements[STORE_ADD_REPORT];
    db_bind(statement,
            "uruutttt"
            "thu",
            (uint64_t)report->project, &report->id, (uint64_t)digest->kind, report->received_ns,
            digest->program, digest->build, digest->device, digest->os, note, &report->blob,
            report->size_bytes);
    enum store_status status = db_run_for(statement, ret_number);
    if (status != STORE_OK) {
        return status == STORE_ABSENT ? STORE_KNOWN : status;
    }
    statement = store->statements[STORE_ADD_USED];
    db_bind(statement, "uuu", (uint64_t)report->project, report->received_ns / DAY_NS,
            report->size_bytes);
    return db_run(statement);
}

/* Have the tables of a report's day, in a shared database. */
static enum store_status add_day(struct store *store, uint64_t day)
{
    if (!store->is_shared || store->day == day) {
        return STORE_OK;
    }
    struct db_statement *statement = store->statements[STORE_ADD_DAY];
    db_bind(statement, "u", day);
    store->day = day;
    return db_run(statement);
}

static enum store_status add_events(struct adding *a)
{
    const struct digest *digest = a->report->digest;
    enum store_status status = store_add_wants(a->store, a->report_number, &digest->wants);
    if (status == STORE_OK) {
        status = sieve_open(a->store, a->report, a->report_number);
    }
    for (a->part = 0; a->part < digest->event_count && status == STORE_OK; a->part++) {
        const struct digest_event *event = &digest->events[a->part];
        a->time_ns = time_of(a->report, event);
        status = sieve_drops(a->store, event) ? STORE_OK : add_event(a, event);
    }
    return status == STORE_OK ? sieve_close(a->store, a->is_again) : status;
}

enum store_status store_add_report(struct store *store, const struct store_report *report)
{
    const struct digest *digest = report->digest;
    seen_add(store->seen, report->project, &report->id);
    struct adding a = {.store = store, .report = report};
    enum store_status status = add_row(store, report, &a.report_number);
    if (status != STORE_OK || digest == NULL) {
        return status;
    }
    static const struct digest_event none = {0};
    const struct digest_event *first = digest->event_count != 0 ? &digest->events[0] : &none;
    if (digest->event_count != 0) {
        status = add_day(store, report->received_ns / DAY_NS);
    }
    if (status == STORE_OK) {
        status = store_add_build(store, report, time_of(report, first));
    }
    return status == STORE_OK ? add_events(&a) : status;
}

enum store_status store_regroup(struct store *store, const struct store_waiting *waiting,
                                const struct digest *digest)
{
    const struct store_report report = {.id = waiting->id,
                                        .project = waiting->project,
                                        .received_ns = waiting->received_ns,
                                        .digest = digest};
    struct adding a = {
        .store = store, .report = &report, .report_number = waiting->number, .is_again = true};
    enum store_status status = store_take_back(store, waiting->number, digest);
    return status == STORE_OK && digest != NULL ? add_events(&a) : status;
}

enum store_status store_add_action(struct store *store, const struct store_actor *actor,
                                   uint32_t project, const char *what)
{
    struct db_statement *statement = store->statements[STORE_ADD_ACTION];
    db_bind(statement, "uiut", actor->now_ns, actor->secret, (uint64_t)project, what);
    return db_run(statement);
}

enum store_status store_begin_change(struct store *store)
{
    pthread_mutex_lock(&store->writing);
    enum store_status status = store->writer->kind->begin(store->writer);
    if (status != STORE_OK) {
        pthread_mutex_unlock(&store->writing);
    }
    return status;
}

enum store_status store_end_change(struct store *store, enum store_status status,
                                   const struct store_actor *actor, uint32_t project,
                                   const char *what)
{
    struct db *db = store->writer;
    if (status == STORE_OK) {
        status = store_add_action(store, actor, project, what);
    }
    if (status == STORE_OK) {
        status = db->kind->commit(db);
    } else {
        db->kind->roll_back(db);
    }
    pthread_mutex_unlock(&store->writing);
    return status == STORE_OK ? store_sync(store) : status;
}
