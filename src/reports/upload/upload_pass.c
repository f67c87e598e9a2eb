// SPDX-License-Identifier: Apache-2.0
/* One pass over a spool folder. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "host_folder.h"
#include "host_run.h"
#include "mem_heap.h"
#include "spool_finish.h"
#include "upload_folder.h"
#include "upload_sender.h"

#define NS_PER_S 1000000000u

struct item {
    char run[SONDE__SPOOL_NAME];
    struct sonde__upload_state state;
    bool is_over; /* done in this pass */
};

struct pass {
    struct sonde__upload_sender *sender;
    int32_t folder;
    struct sonde__upload_state address;
    struct item *items;
    size_t count;
    struct sonde_upload_result result;
};

static int64_t now_s(const struct pass *pass)
{
    return pass->sender->env.unix_s(pass->sender->env.ctx);
}

static uint32_t chance(const struct pass *pass)
{
    return pass->sender->env.random(pass->sender->env.ctx);
}

static bool is_set(const _Atomic uint32_t *word)
{
    return word != NULL && atomic_load(word) != 0;
}

/* --- waiting reports --- */

static enum sonde_status read_items(struct pass *pass)
{
    struct sonde__spool_runs runs = {0};
    SONDE_TRY(sonde__spool_find_runs(pass->folder, SONDE__SPOOL_REPORT, &runs));
    pass->items = sonde__mem_alloc_array(runs.count, sizeof *pass->items);
    if (pass->items == NULL) {
        sonde__mem_free(runs.names);
        return SONDE_MEMORY;
    }
    for (size_t i = 0; i < runs.count; i++) {
        struct item *item = &pass->items[pass->count++];
        char name[SONDE__SPOOL_NAME];
        memcpy(item->run, runs.names[i], sizeof item->run);
        sonde__spool_file_name(item->run, SONDE__UPLOAD_SIDECAR, name);
        sonde__upload_load(pass->folder, name, &item->state);
        if (strcmp(item->state.to, pass->sender->address.shown) != 0) { /* the state is for another
                                                                         * address */
            item->state = (struct sonde__upload_state){0};
            memcpy(item->state.to, pass->sender->address.shown, sizeof item->state.to);
        }
        item->is_over = item->state.stage != SONDE__UPLOAD_WAITING;
    }
    sonde__mem_free(runs.names);
    return SONDE_OK;
}

/* The item with the fewest tries, then the oldest, so that one report that makes the server or the
 * sender fail does not block the others. Null: none is due; *ret_wait_s is the time until one
 * is. */
static struct item *next_item(struct pass *pass, uint32_t *ret_wait_s)
{
    struct item *best = NULL;
    *ret_wait_s = UINT32_MAX;
    for (size_t i = 0; i < pass->count; i++) {
        struct item *item = &pass->items[i];
        uint32_t left_s = sonde__upload_left_s(&item->state, now_s(pass));
        if (item->state.stage == SONDE__UPLOAD_WAITING && left_s != 0) {
            *ret_wait_s = left_s < *ret_wait_s ? left_s : *ret_wait_s;
        }
        if (!item->is_over && (left_s == 0 || pass->sender->is_hasty) &&
            (best == NULL || item->state.tries < best->state.tries)) {
            best = item;
        }
    }
    return best;
}

/* --- one report --- */

static void keep_state(const struct pass *pass, const struct item *item)
{
    char name[SONDE__SPOOL_NAME];
    sonde__spool_file_name(item->run, SONDE__UPLOAD_SIDECAR, name);
    /* if this fails (disk full), only this process knows the state */
    (void)sonde__upload_keep(pass->folder, name, &item->state);
}

struct part {
    const struct pass *pass;
    const struct item *item;
};

static void keep_part(void *ctx, const struct sonde__upload_state *state)
{
    const struct part *part = ctx;
    (void)state; /* points into the item */
    keep_state(part->pass, part->item);
}

static void settle(struct pass *pass, struct item *item, const char *name)
{
    const struct sonde__upload_verdict *verdict = pass->sender->verdict;
    char sidecar[SONDE__SPOOL_NAME];
    sonde__upload_state_end(&item->state, verdict, now_s(pass));
    pass->result.stored += verdict->meaning == SONDE__UPLOAD_DONE;
    pass->result.refused += verdict->meaning == SONDE__UPLOAD_REFUSAL;
    pass->result.later +=
        verdict->meaning == SONDE__UPLOAD_RETRY || verdict->meaning == SONDE__UPLOAD_STOP;
    if (verdict->why[0] != '\0') {
        snprintf(pass->result.why, sizeof pass->result.why, "%s", verdict->why);
    }
    if (verdict->meaning != SONDE__UPLOAD_DONE) {
        keep_state(pass, item);
    } else if (pass->sender->options.keep) {
        item->state.stage = SONDE__UPLOAD_SENT;
        keep_state(pass, item);
    } else { /* report first: if sent again without a state, the server knows its id */
        sonde__spool_file_name(item->run, SONDE__UPLOAD_SIDECAR, sidecar);
        if (sonde__host_folder_remove(pass->folder, name) == 0) {
            (void)sonde__host_folder_remove(pass->folder, sidecar);
        }
    }
    item->is_over = true;
}

static void settle_address(struct pass *pass)
{
    const struct sonde__upload_verdict *verdict = pass->sender->verdict;
    struct sonde__upload_state before = pass->address;
    sonde__upload_address_end(&pass->address, verdict, now_s(pass), chance(pass));
    if (before.wait_s != 0 || pass->address.wait_s != 0 || before.tries != pass->address.tries) {
        (void)sonde__upload_keep(pass->folder, SONDE__UPLOAD_STATE, &pass->address);
    }
    if (pass->address.wait_s != 0) { /* the server has trouble: stop skipping waits */
        pass->sender->is_hasty = false;
    }
}

static void notify_end(const struct pass *pass, struct sonde_upload_item *ended,
                       const struct item *item)
{
    static const enum sonde_upload_outcome outcomes[] = {
        [SONDE__UPLOAD_DONE] = SONDE_UPLOAD_STORED,  [SONDE__UPLOAD_RECODE] = SONDE_UPLOAD_LATER,
        [SONDE__UPLOAD_RETRY] = SONDE_UPLOAD_LATER,  [SONDE__UPLOAD_REFUSAL] = SONDE_UPLOAD_REFUSED,
        [SONDE__UPLOAD_STOP] = SONDE_UPLOAD_STOPPED,
    };
    const struct sonde__upload_verdict *verdict = pass->sender->verdict;
    const char *need[SONDE__UPLOAD_NEED_MAX + 1];
    uint32_t wait_s = sonde__upload_left_s(&pass->address, now_s(pass));
    uint32_t own_s = sonde__upload_left_s(&item->state, now_s(pass));
    if (pass->sender->options.on_end == NULL) {
        return;
    }
    for (uint32_t i = 0; i < verdict->need_count; i++) {
        need[i] = verdict->need[i];
    }
    need[verdict->need_count] = NULL;
    ended->outcome = outcomes[verdict->meaning];
    ended->http_status = verdict->status;
    ended->why = verdict->why;
    ended->wait_ns = (uint64_t)(wait_s > own_s ? wait_s : own_s) * NS_PER_S;
    ended->need = need;
    pass->sender->options.on_end(pass->sender->options.ctx, ended);
}

/* The report is locked: meanwhile no cap removes it and nobody finishes its run. */
static enum sonde_status send_locked(struct pass *pass, struct item *item, const char *name,
                                     int32_t fd)
{
    struct sonde__upload_sender *sender = pass->sender;
    void *bytes = NULL;
    size_t size = 0;
    char id[64];
    int reason = sonde__host_folder_read(fd, SONDE__SPOOL_READ_MAX, &bytes, &size);
    item->is_over = true;
    if (reason != 0) {
        snprintf(pass->result.why, sizeof pass->result.why, "%s cannot be read: %s", name,
                 strerror(reason));
        return reason == ENOMEM ? SONDE_MEMORY : SONDE_OK;
    }
    sonde__upload_id_of(bytes, size, id, sizeof id);
    struct sonde_upload_item ended = {.struct_bytes = sizeof ended,
                                      .name = name,
                                      .report_id = id,
                                      .size_bytes = size,
                                      .tries = item->state.tries + 1};
    if (sender->options.on_begin == NULL ||
        sender->options.on_begin(sender->options.ctx, &ended) == 0) {
        struct part part = {pass, item};
        sonde__upload_state_begin(&item->state, now_s(pass), chance(pass));
        keep_state(pass, item);
        sonde__upload_report(sender, bytes, size, &item->state, keep_part, &part);
        settle(pass, item, name);
        settle_address(pass);
        notify_end(pass, &ended, item);
    }
    sonde__mem_free(bytes);
    return SONDE_OK;
}

static enum sonde_status send_item(struct pass *pass, struct item *item)
{
    char name[SONDE__SPOOL_NAME];
    int32_t fd;
    sonde__spool_file_name(item->run, SONDE__SPOOL_REPORT, name);
    if (!sonde__upload_take(pass->folder, item->run, &fd)) {
        item->is_over = true; /* its run is active or must be finished first, or it is gone */
        return SONDE_OK;
    }
    enum sonde_status status = send_locked(pass, item, name, fd);
    sonde__host_folder_release(fd);
    sonde__host_close(fd);
    return status;
}

static enum sonde_status send_all(struct pass *pass)
{
    enum sonde_status status = SONDE_OK;
    uint32_t wait_s = UINT32_MAX;
    while (status == SONDE_OK && !sonde__upload_is_over(&pass->sender->limit) &&
           !is_set(pass->sender->paused)) {
        uint32_t address_s = sonde__upload_left_s(&pass->address, now_s(pass));
        struct item *item = next_item(pass, &wait_s);
        if (address_s != 0 && (pass->address.is_asked || !pass->sender->is_hasty)) {
            if (pass->result.why[0] == '\0' && item != NULL) {
                snprintf(pass->result.why, sizeof pass->result.why, "%s", pass->address.why);
            }
            wait_s = item != NULL || wait_s < address_s ? address_s : wait_s;
            break;
        }
        if (item == NULL) {
            break;
        }
        status = send_item(pass, item);
    }
    pass->result.wait_ns = wait_s == UINT32_MAX ? UINT64_MAX : (uint64_t)wait_s * NS_PER_S;
    return status;
}

static enum sonde_status run_pass(struct pass *pass)
{
    struct sonde__upload_sender *sender = pass->sender;
    sonde__upload_load(pass->folder, SONDE__UPLOAD_STATE, &pass->address);
    if (strcmp(pass->address.to, sender->address.shown) != 0) {
        pass->address = (struct sonde__upload_state){0};
        memcpy(pass->address.to, sender->address.shown, sizeof pass->address.to);
    }
    sonde__upload_remove_orphans(pass->folder);
    SONDE_TRY(read_items(pass));
    if (!sonde__upload_is_allowed(sender, pass->result.why)) {
        pass->result.wait_ns = UINT64_MAX;
        return SONDE_OK;
    }
    return send_all(pass);
}

enum sonde_status sonde__upload_pass(struct sonde__upload_sender *sender,
                                     struct sonde_upload_result *ret_result,
                                     struct sonde_error *ret_error)
{
    struct pass pass = {.sender = sender,
                        .result = {.struct_bytes = sizeof pass.result, .wait_ns = UINT64_MAX}};
    int32_t lock;
    if (sender->options.folder == NULL) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "no folder", NULL, 0, 0);
    }
    SONDE_TRY(sonde__host_folder_open(sender->options.folder, false, &pass.folder, ret_error));
    enum sonde_status status = sonde__upload_lock(pass.folder, &lock, ret_error);
    if (status == SONDE_OK) {
        status = run_pass(&pass);
        sonde__host_folder_release(lock); /* a forked child may have the descriptor, too */
        sonde__host_close(lock);
        if (status != SONDE_OK) {
            (void)sonde__base_fail(ret_error, status, "the spool folder", NULL, 0, 0);
        }
    }
    sonde__mem_free(pass.items);
    sonde__host_close(pass.folder);
    sender->is_hasty = false;
    if (status == SONDE_OK) {
        *ret_result = pass.result;
    }
    return status;
}
