// SPDX-License-Identifier: Apache-2.0
/* A service on sd-event under the watch. systemd gets keep-alive messages only while nothing is
 * stalled, the worker's scopes included. Stalls are printed when they begin. The given folder keeps
 * a report, however the service ends. */
#include <pthread.h>
#include <string.h>

#include <sonde/hooks/sd_event.h>
#include <sonde/note.h>
#include <sonde/scope.h>

#include "stalls.h"

static void print_begin(void *ctx, const struct sonde_stall *stall)
{
    const char *line = strstr(stall->text, "save_document");
    (void)ctx;
    printf("stalled: thread %d, %s, %s\n", (int)stall->tid,
           stall->scope[0] != '\0' ? stall->scope : "the loop",
           line != NULL ? "in save_document" : "its stack is not known");
}

static void *run_worker(void *ctx)
{
    SONDE_SCOPE("index the archive", 200000000);
    save_document(600);
    return ctx;
}

static int on_work(sd_event_source *source, uint64_t now_us, void *ctx)
{
    (void)source;
    (void)now_us;
    (void)!sonde_watch_note("documents", "3");
    sonde_watch_phase("serving", SONDE_CONSENT_GIVEN);
    save_document(500);
    return pthread_create((pthread_t *)ctx, NULL, run_worker, NULL) == 0 ? 0 : -1;
}

static int on_pause(sd_event_source *source, uint64_t now_us, void *ctx)
{
    (void)source;
    (void)now_us;
    (void)ctx;
    sonde_watch_pause(); /* the following is known to take long */
    save_document(400);
    sonde_watch_resume();
    return 0;
}

static int on_end(sd_event_source *source, uint64_t now_us, void *ctx)
{
    (void)source;
    (void)now_us;
    return sd_event_exit((sd_event *)ctx, 0);
}

static void after(sd_event *event, uint64_t ms, sd_event_time_handler_t handler, void *ctx)
{
    uint64_t now_us = 0;
    sd_event_now(event, CLOCK_MONOTONIC, &now_us);
    sd_event_add_time(event, NULL, CLOCK_MONOTONIC, now_us + ms * 1000, 1000, handler, ctx);
}

int main(int argc, char **argv)
{
    int count = 0;
    setvbuf(stdout, NULL, _IOLBF, 0); /* two threads print */
    sd_event *event = NULL;
    pthread_t worker;
    const struct sonde_watch_tag tags[] = {{"channel", "beta"}};
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = 200000000,
                                                .on_stall = print_stall,
                                                .on_begin = print_begin,
                                                .ctx = &count,
                                                .spool = argc > 1 ? argv[1] : NULL,
                                                .tags = tags,
                                                .tag_count = 1};
    struct sonde_watch *watch;
    struct sonde_error error;
    if (sonde_watch_start(&options, &watch, &error) != SONDE_OK || sd_event_new(&event) < 0) {
        fprintf(stderr, "no watch: %s\n", error.what);
        return 1;
    }
    printf("watchdog: %d\n", sonde_sd_event_watchdog(event));
    after(event, 300, on_work, &worker);
    after(event, 1800, on_pause, NULL);
    after(event, 2400, on_end, event);
    printf("ended with %d\n", sonde_sd_event_loop(event));
    pthread_join(worker, NULL);
    sd_event_unref(event);
    sonde_watch_stop(watch);
    printf("stalls: %d\n", count);
    return 0;
}
