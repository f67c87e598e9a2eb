// SPDX-License-Identifier: Apache-2.0
/* What a watch asks of other systems and this port does not have: perf events, ptrace, a waiter for
 * another process, time slices, counts of page faults. Each answers that there is none. */
#include "host_perf.h"
#include "host_prompt.h"
#include "host_run.h"
#include "host_signal.h"
#include "host_wait.h"

bool sonde__host_may_perf(void)
{
    return false;
}

bool sonde__host_may_ptrace(void)
{
    return false;
}

enum sonde_status sonde__host_perf_open_switches(int32_t pid, uint64_t tid, uint64_t tick_ns,
                                                 struct sonde__host_perf *ret_perf,
                                                 int32_t *ret_os_error)
{
    (void)pid, (void)tid, (void)tick_ns, (void)ret_perf, (void)ret_os_error;
    return SONDE_UNSUPPORTED;
}

void sonde__host_perf_restart(struct sonde__host_perf *perf)
{
    (void)perf;
}

void sonde__host_perf_pause(struct sonde__host_perf *perf, bool pause)
{
    (void)perf, (void)pause;
}

void sonde__host_perf_close(struct sonde__host_perf *perf)
{
    (void)perf;
}

bool sonde__host_perf_peek(const struct sonde__host_perf *perf, struct sonde__host_moves *ret)
{
    (void)perf, (void)ret;
    return false;
}

bool sonde__host_perf_is_off(const struct sonde__host_perf *perf)
{
    (void)perf;
    return false;
}

void sonde__host_perf_switches(struct sonde__host_perf *perf, uint64_t until_ns,
                               struct sonde__host_switches *ret_switches,
                               const struct sonde__host_listener *listener)
{
    (void)perf, (void)until_ns, (void)listener;
    *ret_switches = (struct sonde__host_switches){.lost = true};
}

int32_t sonde__host_waiter_signal(const struct sonde__host_waiter *waiter)
{
    (void)waiter;
    return 0;
}

uint64_t sonde__host_waiter_tid(const struct sonde__host_waiter *waiter)
{
    (void)waiter;
    return 0;
}

void sonde__host_waiter_abort(struct sonde__host_waiter *waiter, bool core)
{
    (void)waiter, (void)core;
}

void sonde__host_waiter_kill(struct sonde__host_waiter *waiter)
{
    (void)waiter;
}

const char *sonde__host_waiter_doubt(const struct sonde__host_waiter *waiter)
{
    (void)waiter;
    return "";
}

void sonde__host_be_prompt(void) {}

uint64_t sonde__host_thread_of_inner(int32_t pid, uint64_t inner)
{
    (void)pid, (void)inner;
    return 0;
}

bool sonde__host_load_read(int32_t pid, uint64_t tid, struct sonde__host_load_files *files,
                           struct sonde__host_load *ret_load)
{
    (void)pid, (void)tid, (void)files, (void)ret_load;
    return false;
}

void sonde__host_load_close(struct sonde__host_load_files *files)
{
    (void)files;
}
