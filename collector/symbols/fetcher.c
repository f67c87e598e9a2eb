// SPDX-License-Identifier: Apache-2.0
#include "fetcher.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "asked.h"
#include "clock.h"
#include "debuginfod.h"
#include "host_clock.h"
#include "say.h"
#include "symfile_kept.h"

/* How often to look for ids; of how many waits; and how many ids are asked for after one look. */
enum { LOOK_MS = 1000, WAITS = 2000, IDS = 32 };
/* A file is fetched if there is room for it, its copy and its index, each of the largest size. */
enum { COPIES = 3 };
#define SECOND_NS  ((uint64_t)1000000000u)
#define REST_MAX_S ((uint64_t)3600)

/* A server that failed is not asked for a while, for any id. */
struct server {
    uint64_t rests_until_ns;
    uint32_t failures;
};

struct fetcher {
    struct store *store;
    struct symbols *symbols;
    struct fetcher_options options;
    struct debuginfod *debuginfod;
    struct asked *asked;
    struct server servers[SERVERS_MAX];
    int64_t at;      /* the older waits that are looked at next */
    bool has_failed; /* the last question to the database */
    bool is_full;    /* the disk, when it was looked at last */
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    bool is_ending;
    _Atomic uint64_t questions, found, absent, refused, failed;
};

/* --- what came of a question --- */

static void say_left(struct fetcher *f, uint32_t server, const struct sonde__build_id *id,
                     const char *why)
{
    char text[SONDE__SYMFILE_ID_TEXT], name[SERVERS_NAME];
    sonde__symfile_id_text(id, text);
    servers_name(&f->options.servers, server, name);
    f->refused++;
    say_error("debuginfod %s: the file of %s is not kept: %s", name, text, why);
}

static void fail(struct fetcher *f, uint32_t server, const struct sonde__build_id *id,
                 const struct debuginfod_result *result)
{
    char text[SONDE__SYMFILE_ID_TEXT], name[SERVERS_NAME];
    struct server *s = &f->servers[server];
    s->failures += s->failures < UINT32_MAX;
    uint64_t wait_s = asked_wait_s(f->options.retry_seconds, s->failures, REST_MAX_S);
    uint64_t asked_s = result->retry_after_s < REST_MAX_S ? result->retry_after_s : REST_MAX_S;
    wait_s = asked_s > wait_s ? asked_s : wait_s;
    s->rests_until_ns = sonde__host_monotonic_ns() + wait_s * SECOND_NS;
    f->failed++;
    sonde__symfile_id_text(id, text);
    servers_name(&f->options.servers, server, name);
    say_error("debuginfod %s: asked for %s: %s; it is asked again in %llu s", name, text,
              result->why, (unsigned long long)wait_s);
}

/* What the conversion of a file gave. */
struct kept {
    bool is_kept;
    char why[256]; /* the last part that was left */
};

static void take_part(void *ctx, const struct symbols_part *part)
{
    struct kept *kept = ctx;
    if (part->stored == SYMBOLS_LEFT) {
        snprintf(kept->why, sizeof kept->why, "%s", part->why);
    } else {
        kept->is_kept = true;
    }
}

enum outcome { FOUND, ABSENT, FAILED };

static enum outcome keep(struct fetcher *f, uint32_t server, const struct sonde__build_id *id,
                         int file)
{
    char text[SONDE__SYMFILE_ID_TEXT], name[SERVERS_NAME];
    struct kept kept = {.why = "nothing in it has symbols that can be used"};
    const char *why = symbols_add(f->symbols, 0, file, id, take_part, &kept);
    if (kept.is_kept) {
        sonde__symfile_id_text(id, text);
        servers_name(&f->options.servers, server, name);
        f->found++;
        say_info("debuginfod %s: the file of %s is kept", name, text);
        return FOUND;
    }
    if (!symbols_is_ending(f->symbols)) {
        say_left(f, server, id, why != NULL ? why : kept.why);
    }
    return why != NULL ? FAILED : ABSENT;
}

/* --- a question --- */

static enum outcome ask_server(struct fetcher *f, uint32_t server, const struct sonde__build_id *id,
                               int file)
{
    struct debuginfod_result result;
    f->questions++;
    debuginfod_ask(f->debuginfod, f->options.servers.urls[server], id, file, &result);
    if (result.answer != DEBUGINFOD_FAILED) {
        f->servers[server].failures = 0;
    }
    switch (result.answer) {
    case DEBUGINFOD_FOUND:
        return keep(f, server, id, file);
    case DEBUGINFOD_ABSENT:
        f->absent++;
        return ABSENT;
    case DEBUGINFOD_TOO_LARGE:
        say_left(f, server, id, "it is larger than --debuginfod-size");
        return ABSENT;
    case DEBUGINFOD_FAILED:
        break;
    }
    if (!symbols_is_ending(f->symbols)) {
        fail(f, server, id, &result);
    }
    return FAILED;
}

static bool has_room(struct fetcher *f, int file)
{
    struct statvfs disk;
    uint64_t needed = ((uint64_t)f->options.size_mb << 20) * COPIES;
    bool is_full =
        fstatvfs(file, &disk) != 0 || (uint64_t)disk.f_bavail * (uint64_t)disk.f_frsize < needed;
    if (is_full && !f->is_full) {
        say_error("debuginfod: nothing is fetched while the disk has less than %llu MB of room",
                  (unsigned long long)(needed >> 20));
    }
    f->is_full = is_full;
    return !is_full;
}

/* Ask each server in turn. False: it could not be asked for now. */
static bool ask(struct fetcher *f, const struct sonde__build_id *id, uint32_t absent)
{
    uint32_t all = (1u << f->options.servers.count) - 1;
    enum outcome outcome = ABSENT;
    int file = symbols_new_file(f->symbols);
    if (file < 0 || !has_room(f, file)) {
        if (file >= 0) {
            close(file);
        }
        return false;
    }
    for (uint32_t i = 0; i < f->options.servers.count && outcome != FOUND; i++) {
        bool is_resting = sonde__host_monotonic_ns() < f->servers[i].rests_until_ns;
        if ((absent & 1u << i) != 0 || is_resting || symbols_is_ending(f->symbols)) {
            continue;
        }
        outcome = ask_server(f, i, id, file);
        absent |= outcome == ABSENT ? 1u << i : 0;
    }
    close(file);
    if (outcome == FOUND) {
        return true;
    }
    if (absent == all) {
        asked_keep_absent(f->asked, id, sonde__host_monotonic_ns());
    } else {
        asked_keep_failed(f->asked, id, sonde__host_monotonic_ns(), absent);
    }
    return true;
}

/* --- what is waited for --- */

/* Ids that are due, and the servers that do not have them. */
struct look {
    struct fetcher *fetcher;
    uint64_t now_ns;
    struct sonde__build_id ids[IDS];
    uint32_t absent[IDS], count;
};

static void take_want(void *ctx, const struct sonde__build_id *id, uint64_t reports)
{
    struct look *look = ctx;
    struct fetcher *f = look->fetcher;
    (void)reports;
    if (look->count < IDS && id->size == ASKED_ID && !symbols_has(f->symbols, 0, id) &&
        asked_is_due(f->asked, id, look->now_ns, &look->absent[look->count])) {
        look->ids[look->count++] = *id;
    }
}

static void look_at(struct fetcher *f, struct look *look, int64_t *at)
{
    enum store_status status = store_wants_of_all(f->store, WAITS, at, take_want, look);
    if (status != STORE_OK && !f->has_failed) {
        say_error("debuginfod: what reports wait for cannot be read: %s", store_error());
    }
    f->has_failed = status != STORE_OK;
}

static bool is_any_awake(const struct fetcher *f, uint64_t now_ns)
{
    for (uint32_t i = 0; i < f->options.servers.count; i++) {
        if (now_ns >= f->servers[i].rests_until_ns) {
            return true;
        }
    }
    return false;
}

/* What the newest reports wait for goes first; if nothing of it is due, the next step of older
 * ones. */
static void go_on(struct fetcher *f)
{
    struct look look = {.fetcher = f, .now_ns = sonde__host_monotonic_ns()};
    int64_t at = 0;
    if (!is_any_awake(f, look.now_ns)) {
        return;
    }
    look_at(f, &look, &at);
    if (look.count == 0 && at != 0) {
        f->at = f->at == 0 ? at : f->at;
        look_at(f, &look, &f->at);
    }
    for (uint32_t i = 0; i < look.count && !symbols_is_ending(f->symbols); i++) {
        if (!is_any_awake(f, sonde__host_monotonic_ns()) || !ask(f, &look.ids[i], look.absent[i])) {
            break;
        }
    }
}

static void *work(void *ctx)
{
    struct fetcher *f = ctx;
    struct timespec until;
    pthread_setname_np(pthread_self(), "fetcher");
    pthread_mutex_lock(&f->mutex);
    while (!f->is_ending) {
        pthread_mutex_unlock(&f->mutex);
        go_on(f);
        until = collector_after_ms(LOOK_MS);
        pthread_mutex_lock(&f->mutex);
        if (!f->is_ending) {
            (void)pthread_cond_clockwait(&f->changed, &f->mutex, CLOCK_MONOTONIC, &until);
        }
    }
    pthread_mutex_unlock(&f->mutex);
    return NULL;
}

/* --- start and stop --- */

static bool is_to_end(void *ctx)
{
    struct fetcher *f = ctx;
    return symbols_is_ending(f->symbols);
}

static void release(struct fetcher *f)
{
    asked_end(f->asked);
    debuginfod_end(f->debuginfod);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->mutex);
    free(f);
}

int fetcher_start(struct store *store, struct symbols *symbols,
                  const struct fetcher_options *options, struct fetcher **ret_fetcher)
{
    *ret_fetcher = NULL;
    if (options->servers.count == 0) {
        return 0;
    }
    struct fetcher *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return ENOMEM;
    }
    f->store = store;
    f->symbols = symbols;
    f->options = *options;
    pthread_mutex_init(&f->mutex, NULL);
    pthread_cond_init(&f->changed, NULL);
    const struct debuginfod_options how = {.seconds = options->seconds,
                                           .bytes_max = (uint64_t)options->size_mb << 20,
                                           .is_ending = is_to_end,
                                           .ctx = f};
    f->debuginfod = debuginfod_begin(&how);
    f->asked = asked_begin(options->retry_seconds);
    int os_error = f->debuginfod == NULL || f->asked == NULL
                       ? ENOMEM
                       : pthread_create(&f->thread, NULL, work, f);
    if (os_error != 0) {
        release(f);
        return os_error;
    }
    *ret_fetcher = f;
    return 0;
}

void fetcher_stop(struct fetcher *f)
{
    if (f == NULL) {
        return;
    }
    pthread_mutex_lock(&f->mutex);
    f->is_ending = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    pthread_join(f->thread, NULL);
    release(f);
}

struct fetcher_counts fetcher_counts(struct fetcher *f)
{
    return f == NULL
               ? (struct fetcher_counts){0}
               : (struct fetcher_counts){f->questions, f->found, f->absent, f->refused, f->failed};
}
