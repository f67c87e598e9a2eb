// SPDX-License-Identifier: Apache-2.0
/* The sender in a program: passes over a spool folder (upload_sender.h), run by the caller or by a
 * thread that waits between them. The thread blocks all signals, so a broken connection gives the
 * program no SIGPIPE. */
#include <sonde/upload.h>

#include <pthread.h>
#include <string.h>

#include "base_sized.h"
#include "base_status.h"
#include "host_folder.h"
#include "host_run.h"
#include "host_self.h"
#include "mem_heap.h"
#include "os.h"
#include "upload_sender.h"

/* Interval at which a thread looks for reports that others put into the folder. */
#define LOOK_NS 300000000000u

struct sonde_upload {
    struct sonde__upload_sender sender;
    pthread_t thread;
    int32_t pid;           /* the process that started it */
    _Atomic uint32_t rung; /* changes to wake the thread */
    _Atomic uint32_t stop, paused, hasty;
    char *folder, *to, *key;
};

enum sonde_status sonde_upload_now(const struct sonde_upload_options *options,
                                   struct sonde_upload_result *ret_result,
                                   struct sonde_error *ret_error)
{
    struct sonde__upload_sender sender;
    struct sonde_upload_result result;
    SONDE_TRY(sonde__upload_sender_make(options, &sonde__upload_real_env, &sender, ret_error));
    sender.is_hasty = true;
    enum sonde_status status = sonde__upload_pass(&sender, &result, ret_error);
    sonde__upload_sender_done(&sender);
    if (status == SONDE_OK && ret_result != NULL) {
        sonde__base_sized_give(ret_result, &result, sizeof result);
    }
    return status;
}

/* --- the thread --- */

static void *run(void *arg)
{
    struct sonde_upload *upload = arg;
    sonde__host_name_thread("sonde-upload");
    while (atomic_load(&upload->stop) == 0) {
        uint32_t rung = atomic_load(&upload->rung);
        struct sonde_upload_result result = {.wait_ns = UINT64_MAX};
        upload->sender.is_hasty = atomic_exchange(&upload->hasty, 0) != 0;
        if (atomic_load(&upload->paused) == 0 &&
            sonde__upload_pass(&upload->sender, &result, NULL) != SONDE_OK) {
            result.wait_ns = UINT64_MAX; /* another sender is active, or the folder is gone */
        }
        uint64_t wait_ns = result.wait_ns < LOOK_NS ? result.wait_ns : LOOK_NS;
        enum sonde_status status =
            sonde__os_sleep((const uint32_t *)&upload->rung, rung, wait_ns, false);
        (void)status; /* `result` says what happened */
    }
    return NULL;
}

static void ring(struct sonde_upload *upload)
{
    atomic_fetch_add(&upload->rung, 1);
    (void)sonde__os_wake((const uint32_t *)&upload->rung, false, false);
}

static void destroy(struct sonde_upload *upload)
{
    sonde__upload_sender_done(&upload->sender);
    sonde__mem_free(upload->folder);
    sonde__mem_free(upload->to);
    sonde__mem_free(upload->key);
    sonde__mem_free(upload);
}

/* The thread has copies of the options' strings. */
static bool copy_strings(struct sonde_upload *upload)
{
    struct sonde_upload_options *options = &upload->sender.options;
    upload->folder = sonde__mem_copy_string(options->folder);
    upload->to = sonde__mem_copy_string(options->to);
    upload->key = sonde__mem_copy_string(options->key != NULL ? options->key : "");
    options->folder = upload->folder;
    options->to = upload->to;
    options->key = upload->key;
    return upload->folder != NULL && upload->to != NULL && upload->key != NULL;
}

static enum sonde_status check_folder(const char *path, struct sonde_error *ret_error)
{
    int32_t folder;
    if (path == NULL) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "no folder", NULL, 0, 0);
    }
    SONDE_TRY(sonde__host_folder_open(path, true, &folder, ret_error));
    sonde__host_close(folder);
    return SONDE_OK;
}

enum sonde_status sonde_upload_start(const struct sonde_upload_options *options,
                                     struct sonde_upload **ret_upload,
                                     struct sonde_error *ret_error)
{
    struct sonde_upload *upload = sonde__mem_alloc_zeroed(sizeof *upload);
    if (upload == NULL || ret_upload == NULL) {
        sonde__mem_free(upload);
        return sonde__base_fail(ret_error, ret_upload == NULL ? SONDE_USAGE : SONDE_MEMORY,
                                "the sender", NULL, 0, 0);
    }
    enum sonde_status status =
        sonde__upload_sender_make(options, &sonde__upload_real_env, &upload->sender, ret_error);
    if (status == SONDE_OK) {
        status = check_folder(upload->sender.options.folder, ret_error);
    }
    if (status == SONDE_OK && !copy_strings(upload)) {
        status = sonde__base_fail(ret_error, SONDE_MEMORY, "the sender", NULL, 0, 0);
    }
    if (status == SONDE_OK) {
        upload->pid = sonde__os_pid();
        upload->sender.limit.until_ns = 0; /* within_ns is for one pass */
        upload->sender.limit.stop = &upload->stop;
        upload->sender.paused = &upload->paused;
        int failed = sonde__host_start_thread(&upload->thread, run, upload);
        if (failed != 0) {
            status = sonde__base_fail(ret_error, SONDE_OS, "the sender's thread", NULL, failed, 0);
        }
    }
    if (status != SONDE_OK) {
        destroy(upload);
        return status;
    }
    *ret_upload = upload;
    return SONDE_OK;
}

void sonde_upload_stop(struct sonde_upload *upload)
{
    /* a fork child has no thread, and its data may be half changed */
    if (upload == NULL || upload->pid != sonde__os_pid() ||
        pthread_equal(pthread_self(), upload->thread)) {
        return;
    }
    atomic_store(&upload->stop, 1);
    ring(upload);
    pthread_join(upload->thread, NULL);
    destroy(upload);
}

void sonde_upload_pause(struct sonde_upload *upload, int32_t paused)
{
    atomic_store(&upload->paused, paused != 0);
    ring(upload);
}

void sonde_upload_wake(struct sonde_upload *upload)
{
    atomic_store(&upload->hasty, 1);
    ring(upload);
}
