// SPDX-License-Identifier: Apache-2.0
#include "completer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard.h"
#include "names.h"
#include "say.h"
#include "symfile_kept.h"

/* Reports of one transaction: the worker waits for it. */
enum { STEP_MAX = 32, TRIES_MAX = 5, TRY_SECONDS = 1 };

struct completer {
    struct store *store;
    struct blobs blobs;
    struct symbols *symbols;
    struct names *names;
    struct guard guard;
    pthread_t thread;
    _Atomic uint64_t done;
};

struct step {
    struct store_waiting reports[STEP_MAX];
    uint32_t count;
};

static void take_waiting(void *ctx, const struct store_waiting *waiting)
{
    struct step *step = ctx;
    if (step->count < STEP_MAX) {
        step->reports[step->count++] = *waiting;
    }
}

/* Read a report's file with the names that there are now. False: it cannot be read any more. */
static bool read_again(struct completer *c, const struct store_waiting *waiting,
                       struct digest *ret_digest)
{
    void *bytes;
    size_t size;
    struct sonde_error error = {0};
    if (blob_get(&c->blobs, &waiting->blob, &bytes, &size) != 0) {
        return false;
    }
    const struct journal_place place = {(uint64_t)waiting->number, 1};
    enum sonde_status status = SONDE_CORRUPT;
    if (guard_enter(&c->guard, place)) {
        status = digest_read(bytes, size, names_of(c->names, waiting->project), ret_digest, &error);
        guard_leave(&c->guard);
    }
    free(bytes);
    return status == SONDE_OK;
}

static enum store_status complete_one(struct completer *c, const struct store_waiting *waiting)
{
    struct digest digest;
    if (!read_again(c, waiting, &digest)) {
        say_error("a report that waited for symbols cannot be read again: it stays as it is");
        return store_regroup(c->store, waiting, NULL);
    }
    enum store_status status = store_regroup(c->store, waiting, &digest);
    digest_done(&digest);
    return status;
}

/* Complete some reports. ret_count: 0 when none waits any more. */
static enum store_status take_step(struct completer *c, uint32_t project,
                                   const struct sonde__build_id *id, uint32_t *ret_count)
{
    struct step step = {.count = 0};
    enum store_status status = store_begin(c->store);
    if (status != STORE_OK) {
        return status;
    }
    status = store_waiting(c->store, project, id, STEP_MAX, take_waiting, &step);
    for (uint32_t i = 0; i < step.count && status == STORE_OK; i++) {
        status = complete_one(c, &step.reports[i]);
    }
    if (status != STORE_OK) {
        store_rollback(c->store);
        return status;
    }
    *ret_count = step.count;
    return store_commit_change(c->store);
}

static void complete(struct completer *c, uint32_t project, const struct sonde__build_id *id)
{
    char text[SONDE__SYMFILE_ID_TEXT];
    uint64_t all = 0;
    unsigned tries = 0;
    sonde__symfile_id_text(id, text);
    for (uint32_t count = 1; count != 0 && !symbols_is_ending(c->symbols);) {
        if (take_step(c, project, id, &count) == STORE_OK) {
            all += count;
            c->done += count;
            tries = 0;
            continue;
        }
        say_error("reports that wait for %s cannot be completed: %s", text, store_error());
        if (++tries == TRIES_MAX) { /* they are completed after the next start */
            return;
        }
        sleep(TRY_SECONDS);
    }
    if (all != 0) {
        say_info("symbols of %s: %llu reports are named and grouped anew", text,
                 (unsigned long long)all);
    }
}

static void *work(void *ctx)
{
    struct completer *c = ctx;
    struct sonde__build_id id;
    uint32_t project;
    pthread_setname_np(pthread_self(), "completer");
    while (symbols_next(c->symbols, &project, &id)) {
        complete(c, project, &id);
    }
    return NULL;
}

int completer_start(struct store *store, const struct blobs *blobs, struct symbols *symbols,
                    const char *guard, struct completer **ret_completer)
{
    struct completer *c = calloc(1, sizeof *c);
    struct names *names = c != NULL ? names_begin(symbols) : NULL;
    if (names == NULL) {
        free(c);
        return ENOMEM;
    }
    c->store = store;
    c->blobs = *blobs;
    c->symbols = symbols;
    c->names = names;
    int os_error = guard_begin(&c->guard, guard);
    if (os_error == 0 && (os_error = pthread_create(&c->thread, NULL, work, c)) != 0) {
        guard_end(&c->guard);
    }
    if (os_error != 0) {
        names_end(names);
        free(c);
        return os_error;
    }
    *ret_completer = c;
    return 0;
}

void completer_stop(struct completer *completer)
{
    pthread_join(completer->thread, NULL);
    guard_end(&completer->guard);
    names_end(completer->names);
    free(completer);
}

uint64_t completer_done(struct completer *completer)
{
    return completer->done;
}
