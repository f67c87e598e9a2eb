// SPDX-License-Identifier: Apache-2.0
/* The hooks of a project are read once in a transaction. For spikes, events of an hour are counted
 * in memory, so the database is asked only when a spike is possible; it has the true counts. A
 * count that is lost, with the program or for another group, only delays a look. */
#include "tell.h"

#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "store_parts.h"

#define HOUR_NS ((uint64_t)3600 * 1000000000u)

/* Events of a group in an hour before its first look. */
enum { FIRST_LOOK = 10 };
/* Groups that are counted: SETS sets of WAYS. */
enum { SETS = 2048, WAYS = 4 };

struct hook {
    int64_t number;
    uint32_t events, kinds;
    struct hook_secret secret;
    uint64_t waiting; /* messages */
};

struct counted {
    int64_t group;
    uint64_t hour, count, next_look;
};

struct tell {
    uint32_t project; /* whose hooks are known; 0: none are */
    uint32_t count;
    struct hook hooks[STORE_HOOKS_MAX];
    char name[STORE_NAME_MAX + 1]; /* of the project */
    struct counted counted[SETS][WAYS];
};

struct tell *tell_begin(void)
{
    return calloc(1, sizeof(struct tell));
}

void tell_end(struct tell *tell)
{
    free(tell);
}

void tell_renew(struct tell *tell)
{
    tell->project = 0;
}

void tell_forget(struct tell *tell)
{
    memset(tell->counted, 0, sizeof tell->counted);
}

/* --- messages --- */

static enum store_status find_hooks(struct store *store, uint32_t project)
{
    struct tell *tell = store->tell;
    if (tell->project == project) {
        return STORE_OK;
    }
    struct db_statement *find = store->statements[STORE_FIND_HOOKS];
    enum db_result result;
    tell->count = 0;
    db_bind(find, "u", (uint64_t)project);
    while ((result = db_step(find)) == DB_ROW) {
        struct hook hook = {.number = db_number(find, 0),
                            .events = (uint32_t)db_uint(find, 1),
                            .kinds = (uint32_t)db_uint(find, 2),
                            .waiting = db_uint(find, 5)};
        snprintf(tell->name, sizeof tell->name, "%s", db_text(find, 4));
        if (tell->count < STORE_HOOKS_MAX &&
            db_copy_id(find, 3, hook.secret.bytes, sizeof hook.secret.bytes)) {
            tell->hooks[tell->count++] = hook;
        }
    }
    db_reset(find);
    tell->project = result == DB_DONE ? project : 0;
    return result == DB_DONE ? STORE_OK : STORE_FAILED;
}

static bool wants(const struct hook *hook, const struct hook_message *message)
{
    return (hook->events & message->event) != 0 && (hook->kinds >> message->kind & 1) != 0;
}

/* Put the message into the hook's queue; what it has no room for is counted. */
static enum store_status queue(struct store *store, struct hook *hook,
                               const struct hook_message *message)
{
    char id[HOOK_ID_TEXT];
    struct db_statement *statement = store->statements[STORE_LOSE_MESSAGE];
    if (hook->waiting >= STORE_MESSAGES_MAX) {
        db_bind(statement, "i", hook->number);
        return db_run(statement);
    }
    char *body = hook_message_body(message);
    if (body == NULL) {
        return db_fail("no memory");
    }
    hook_message_id(&hook->secret, message, id);
    statement = store->statements[STORE_ADD_MESSAGE];
    db_bind(statement, "ittu", hook->number, id, body, message->time_ns);
    enum store_status status = db_run(statement);
    free(body);
    hook->waiting++;
    return status;
}

static enum store_status tell(struct store *store, const struct tell_event *about,
                              struct hook_message *message)
{
    const struct digest *digest = about->report->digest;
    enum store_status status = find_hooks(store, about->report->project);
    message->time_ns = about->report->received_ns;
    message->project = store->tell->name;
    message->group = about->group;
    message->kind = about->event->kind;
    message->cause = about->event->group;
    message->title = about->event->title;
    message->summary = about->event->summary;
    message->program = digest->program;
    message->build = digest->build;
    message->report = about->report->id;
    for (uint32_t i = 0; i < store->tell->count && status == STORE_OK; i++) {
        struct hook *hook = &store->tell->hooks[i];
        status = wants(hook, message) ? queue(store, hook, message) : STORE_OK;
    }
    return status;
}

enum store_status tell_hooks(struct store *store, const struct tell_event *about,
                             enum hook_event what)
{
    struct hook_message message = {.event = what};
    return tell(store, about, &message);
}

/* --- spikes --- */

/* The count of a group in an hour; another one of its set, which is of an older hour or least, is
 * forgotten for it. */
static struct counted *count_of(struct tell *tell, int64_t group, uint64_t hour)
{
    struct counted *set = tell->counted[(uint64_t)group % SETS], *least = set;
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].group == group && set[i].hour == hour) {
            return &set[i];
        }
        bool is_older = set[i].hour < least->hour;
        if (set[i].group == group || is_older ||
            (set[i].hour == least->hour && set[i].count < least->count)) {
            least = &set[i];
        }
        if (set[i].group == group) {
            break;
        }
    }
    *least = (struct counted){.group = group, .hour = hour, .next_look = FIRST_LOOK};
    return least;
}

/* Does a hook of the project want to know of spikes of this kind? */
static bool is_wanted(const struct tell *tell, const struct tell_event *about)
{
    const struct hook_message message = {.event = HOOK_SPIKING, .kind = about->event->kind};
    for (uint32_t i = 0; i < tell->count; i++) {
        if (wants(&tell->hooks[i], &message)) {
            return true;
        }
    }
    return false;
}

static enum store_status read_hours(struct store *store, int64_t group, uint64_t hour,
                                    struct spike_look *look)
{
    struct db_statement *find = store->statements[STORE_FIND_HOURS];
    enum db_result result;
    db_bind(find, "iuu", group, hour > SPIKE_HOURS ? hour - SPIKE_HOURS : 0, hour);
    while ((result = db_step(find)) == DB_ROW) {
        if (db_uint(find, 0) == hour) {
            look->count = db_uint(find, 1);
        } else if (look->hour_count < SPIKE_HOURS) {
            look->hours[look->hour_count++] = db_uint(find, 1);
        }
    }
    db_reset(find);
    return result == DB_DONE ? STORE_OK : STORE_FAILED;
}

/* Read what the group has. *ret_is_open: it is not ignored or resolved. */
static enum store_status read_look(struct store *store, int64_t group, uint64_t hour,
                                   struct spike_look *look, bool *ret_is_open)
{
    struct db_statement *find = store->statements[STORE_FIND_SPIKE];
    enum store_status status = store_flush(store);
    if (status != STORE_OK) {
        return status;
    }
    db_bind(find, "i", group);
    if (db_step(find) != DB_ROW) {
        db_reset(find);
        return STORE_FAILED;
    }
    look->first_ns = db_uint(find, 0);
    look->told_ns = db_uint(find, 1);
    enum state state = (enum state)db_uint(find, 2);
    *ret_is_open = state == STATE_OPEN || state == STATE_REGRESSED;
    db_reset(find);
    return read_hours(store, group, hour, look);
}

static enum store_status look_for_spike(struct store *store, const struct tell_event *about,
                                        struct counted *counted)
{
    uint64_t hours[SPIKE_HOURS];
    bool is_open = false;
    struct spike_look look = {.now_ns = about->report->received_ns, .hours = hours};
    struct hook_message message = {.event = HOOK_SPIKING};
    enum store_status status = read_look(store, about->group, counted->hour, &look, &is_open);
    if (status != STORE_OK) {
        return status;
    }
    bool is_spike = spike_is(&look, &message.usual);
    uint64_t next = is_open ? spike_next_look(&look, message.usual) : UINT64_MAX;
    counted->next_look = next < UINT64_MAX - counted->count ? counted->count + next : UINT64_MAX;
    if (!is_spike || !is_open) {
        return STORE_OK;
    }
    message.count = look.count;
    struct db_statement *set = store->statements[STORE_SET_SPIKE];
    db_bind(set, "iu", about->group, look.now_ns);
    status = db_run(set);
    return status == STORE_OK ? tell(store, about, &message) : status;
}

enum store_status tell_spike(struct store *store, const struct tell_event *about)
{
    const uint64_t hour = about->report->received_ns / HOUR_NS;
    struct counted *counted = count_of(store->tell, about->group, hour);
    counted->count += about->event->count < UINT64_MAX / 2 - counted->count
                          ? about->event->count
                          : UINT64_MAX / 2 - counted->count;
    if (counted->count < counted->next_look) {
        return STORE_OK;
    }
    enum store_status status = find_hooks(store, about->report->project);
    if (status == STORE_OK && !is_wanted(store->tell, about)) {
        counted->next_look = 2 * counted->count;
        return STORE_OK;
    }
    return status == STORE_OK ? look_for_spike(store, about, counted) : status;
}
