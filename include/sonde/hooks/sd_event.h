// SPDX-License-Identifier: Apache-2.0
/* The watch (sonde/watch.h) of an sd-event loop, and systemd's watchdog.
 *
 * sonde_sd_event_loop() replaces sd_event_loop(): each turn calls the three steps of sd_event_run()
 * and marks the wait. Reports show what the loop was doing: "prepare" or "dispatch".
 *
 * sonde_sd_event_watchdog() replaces sd_event_set_watchdog(): it sends WATCHDOG=1 only while no
 * loop, heartbeat or scope of the process is stalled. So a hung worker is noticed, too, and its
 * stall is in the spool folder before the service manager kills the service. Header only; the
 * program links libsystemd. */
#ifndef SONDE_HOOKS_SD_EVENT_H
#define SONDE_HOOKS_SD_EVENT_H

#include <stdint.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "sonde/note.h"
#include "sonde/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One turn, as sd_event_run(event, UINT64_MAX). */
static inline int sonde_sd_event_turn(sd_event *event)
{
    int result;
    sonde_loop_phase("prepare");
    result = sd_event_prepare(event);
    sonde_idle_enter();
    if (result == 0) {
        result = sd_event_wait(event, UINT64_MAX);
    }
    sonde_idle_leave();
    sonde_loop_phase("dispatch");
    return result > 0 ? sd_event_dispatch(event) : result;
}

/* As sd_event_loop(): returns the code of sd_event_exit(), or a negative errno. Context: the loop's
 * thread. */
static inline int sonde_sd_event_loop(sd_event *event)
{
    int result = 0, code = 0;
    sd_event_ref(event);
    while (result >= 0 && sd_event_get_state(event) != SD_EVENT_FINISHED) {
        result = sonde_sd_event_turn(event);
    }
    if (result >= 0) {
        result = sd_event_get_exit_code(event, &code);
        result = result < 0 ? result : code;
    }
    sonde_loop_phase(NULL);
    sonde_idle_enter(); /* what the thread does next is not a turn */
    sd_event_unref(event);
    return result;
}

static inline uint64_t sonde_sd_event_period_(void)
{
    uint64_t limit_us = 0;
    return sd_watchdog_enabled(0, &limit_us) > 0 ? limit_us / 4 : 0;
}

static inline int sonde_sd_event_alive_(sd_event_source *source, uint64_t now_us, void *ctx)
{
    (void)ctx;
    if (sonde_watch_stalled() == 0) {
        (void)sd_notify(0, "WATCHDOG=1");
    }
    (void)sd_event_source_set_time(source, now_us + sonde_sd_event_period_());
    return sd_event_source_set_enabled(source, SD_EVENT_ON);
}

/* Send WATCHDOG=1 four times in each WatchdogSec=, while nothing is stalled.
 * Returns 1 | 0 (the service manager does not ask for it) | a negative errno. */
static inline int sonde_sd_event_watchdog(sd_event *event)
{
    sd_event_source *source = NULL;
    uint64_t now_us = 0, period_us = sonde_sd_event_period_();
    int result;
    if (period_us == 0) {
        return 0;
    }
    (void)sd_event_now(event, CLOCK_MONOTONIC, &now_us);
    result = sd_event_add_time(event, &source, CLOCK_MONOTONIC, now_us, period_us / 8,
                               sonde_sd_event_alive_, NULL);
    if (result >= 0) {
        result = sd_event_source_set_enabled(source, SD_EVENT_ON);
    }
    if (result >= 0) {
        result = sd_event_source_set_floating(source, 1);
    }
    sd_event_source_unref(source);
    return result < 0 ? result : 1;
}

#ifdef __cplusplus
}
#endif

#endif
