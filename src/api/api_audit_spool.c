// SPDX-License-Identifier: Apache-2.0
#include "api_audit_spool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "api_symbols.h"
#include "audit_run.h"
#include "base_status.h"
#include "base_text.h"
#include "host_clock.h"
#include "host_run.h"
#include "host_self.h"
#include "mem_heap.h"
#include "record_inside.h"
#include "spool_finish.h"
#include "spool_session.h"
#include "watch_kept.h"
#include "watch_run.h"
#include "watch_spooled.h"

/* A look of the audit's thread each 200 ms: every second one is used, and a kill costs at most one
 * second with the time that a look takes. */
#define PERIOD_NS 350000000ull
enum { TEXT = 4096 };

struct sonde__api_audit_spool {
    struct sonde__spool_session session;
    struct sonde__report *like;
    struct sonde__watch_plugin plugin; /* only what looks need */
    char *path;
    uint64_t begin_ns, looked_ns;
    int look_error;  /* errno of the last look; 0: none */
    int first_error; /* of the first one that failed */
    pthread_t tidier;
    bool is_tidied;
    char lines[TEXT]; /* of the tidier, each ends with a zero byte */
    size_t lines_used;
};

/* That of the process. A fork child closes the files, whose locks show that the parent lives; one
 * that forks just when the live file is replaced keeps the lock of that file until it ends. */
static _Atomic(struct sonde__api_audit_spool *) the_spool;

static void after_fork_child(void)
{
    struct sonde__api_audit_spool *spool = atomic_exchange(&the_spool, NULL);
    if (spool != NULL) {
        sonde__host_close(spool->session.report_fd);
        sonde__host_close(spool->session.folder);
        if (spool->session.live_fd >= 0) {
            sonde__host_close(spool->session.live_fd);
        }
    }
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork_child);
}

static void free_spool(struct sonde__api_audit_spool *spool)
{
    sonde__report_destroy(spool->like);
    sonde__mem_free(spool->path);
    sonde__mem_free(spool);
}

enum sonde_status sonde__api_audit_spool_open(const char *path, struct sonde__audit *audit,
                                              struct sonde__report *like,
                                              struct sonde__api_audit_spool **ret_spool,
                                              struct sonde_error *ret_error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct sonde__api_audit_spool *spool = sonde__mem_alloc_zeroed(sizeof *spool);
    enum sonde_status status = SONDE_OK;
    if (spool == NULL || (spool->path = sonde__mem_copy_string(path)) == NULL) {
        sonde__mem_free(spool);
        sonde__report_destroy(like);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory", NULL, 0, 0);
    }
    spool->like = like;
    spool->plugin = (struct sonde__watch_plugin){.ctx = audit, .keep = sonde__audit_keep};
    spool->begin_ns = sonde__host_monotonic_ns();
    if (sonde__host_is_secure()) {
        status = sonde__base_fail(ret_error, SONDE_DENIED,
                                  "a program with more rights than its user keeps no reports", NULL,
                                  0, 0);
    } else {
        status = sonde__spool_begin(path, sonde__report_header(like)->pid, false, &spool->session,
                                    ret_error);
    }
    if (status != SONDE_OK) {
        free_spool(spool);
        return status;
    }
    pthread_once(&once, watch_forks);
    atomic_store(&the_spool, spool);
    *ret_spool = spool;
    return SONDE_OK;
}

/* --- killed runs --- */

static void keep_line(void *ctx, const char *line)
{
    struct sonde__api_audit_spool *spool = ctx;
    size_t size = strlen(line) + 1;
    if (size <= sizeof spool->lines - spool->lines_used) {
        memcpy(spool->lines + spool->lines_used, line, size);
        spool->lines_used += size;
    }
}

static void *tidy(void *ctx)
{
    struct sonde__api_audit_spool *spool = ctx;
    const struct sonde__report_lines lines = {keep_line, spool};
    struct sonde_error error = {0};
    sonde__record_inside_enter();
    sonde__host_name_thread("sonde-spool");
    if (sonde__watch_spool_finish(spool->path, &sonde__api_watch_symbols, lines, &error) !=
        SONDE_OK) {
        sonde__report_line(lines, "%s: %s", spool->path, error.what);
    }
    return NULL;
}

void sonde__api_audit_spool_tidy(struct sonde__api_audit_spool *spool)
{
    spool->is_tidied = sonde__host_start_thread(&spool->tidier, tidy, spool) == 0;
    if (!spool->is_tidied) {
        sonde__report_line((struct sonde__report_lines){keep_line, spool},
                           "%s: no thread for the reports of killed runs", spool->path);
    }
}

/* --- this run --- */

void sonde__api_audit_spool_look(struct sonde__api_audit_spool *spool, const void *memory)
{
    uint64_t now_ns = sonde__host_monotonic_ns();
    if (spool->looked_ns != 0 && now_ns - spool->looked_ns < PERIOD_NS) {
        return;
    }
    spool->look_error = sonde__watch_keep_look(&spool->session, spool->like, &spool->plugin, memory,
                                               spool->look_error != 0, now_ns - spool->begin_ns);
    spool->first_error = spool->first_error != 0 ? spool->first_error : spool->look_error;
    spool->looked_ns = sonde__host_monotonic_ns();
}

static void end(struct sonde__api_audit_spool *spool, bool keep_report, bool keep_live)
{
    if (spool->is_tidied) {
        pthread_join(spool->tidier, NULL);
    }
    atomic_store(&the_spool, NULL);
    sonde__spool_end(&spool->session, keep_report, keep_live);
}

int sonde__api_audit_spool_finish(struct sonde__api_audit_spool *spool,
                                  const struct sonde__report *report,
                                  struct sonde__report_lines lines)
{
    int failed = sonde__spool_write(spool->session.report_fd, report, true);
    end(spool, true, failed != 0);
    for (size_t at = 0; at < spool->lines_used; at += strlen(spool->lines + at) + 1) {
        sonde__report_line(lines, "%s", spool->lines + at);
    }
    if (spool->first_error != 0) {
        sonde__report_line(lines, "%s: the live file could not be written for a time: %s",
                           spool->path, strerror(spool->first_error));
    }
    free_spool(spool);
    return failed;
}

void sonde__api_audit_spool_close(struct sonde__api_audit_spool *spool, bool keep_live)
{
    if (spool != NULL) {
        end(spool, false, keep_live);
        free_spool(spool);
    }
}
