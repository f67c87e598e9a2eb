// SPDX-License-Identifier: Apache-2.0
/* A report's way out of an app: a stall of its run loop, seen by the watch, SIGKILL in it, the next
 * start, a transport.
 *
 *     sent FOLDER die HOW      stall, and be killed. HOW: "" or what else could be the reason:
 *                              background, asked, attached (a debugger)
 *     sent FOLDER send FILE    start a watch, which finishes the run; send its report to FILE
 *
 * UPDATED: another build of the program. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sonde/upload.h>
#include <sonde/watch.h>

#include "loop.h"

extern int sim_traced;

#if defined(UPDATED)
#    define BUILD "the next build"
#else
#    define BUILD "the same build"
#endif
#define THRESHOLD_NS 150000000u
#define LIMIT_S      60u /* the program is killed before */

static const char *how;
static volatile uint64_t sum;

static int fail(const char *what)
{
    printf("FAILED %s\n", what);
    return 1;
}

/* --- the run that is killed --- */

static void be_killed(void *ctx, const struct sonde_stall *stall)
{
    (void)ctx;
    if (stall->duration_ns >= THRESHOLD_NS) {
        sim_traced = strcmp(how, "attached") == 0;
        usleep(400000); /* more samples */
        kill(getpid(), SIGKILL);
    }
}

__attribute__((noinline)) static void spin(void)
{
    uint64_t end = clock_gettime_nsec_np(CLOCK_UPTIME_RAW) + LIMIT_S * 1000000000ull;
    while (clock_gettime_nsec_np(CLOCK_UPTIME_RAW) < end) {
        for (unsigned i = 0; i < 100000; i++) {
            sum++;
        }
    }
}

__attribute__((noinline)) static void parse_mail(void)
{
    spin();
    sum++;
}

static void answer_input(void *info)
{
    (void)info;
    if (strcmp(how, "background") == 0) {
        post_event("UIApplicationDidEnterBackgroundNotification");
    } else if (strcmp(how, "asked") == 0) {
        post_event("UIApplicationWillTerminateNotification");
    }
    parse_mail();
    sum++;
}

__attribute__((noinline)) static int die(const char *folder)
{
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = THRESHOLD_NS,
                                                .on_begin = be_killed,
                                                .spool = folder};
    struct sonde_watch *watch;
    if (!load_loop() || sonde_watch_start(&options, &watch, NULL) != SONDE_OK ||
        sonde_watch_run_loop(NULL) != SONDE_OK) {
        return fail("the watch");
    }
    post_event("UIApplicationDidBecomeActiveNotification");
    cf.run(*cf.standard, 0.1, 0);
    add_input(answer_input);
    cf.run(*cf.standard, LIMIT_S, 0);
    return fail("to be killed");
}

/* --- the next start --- */

/* What is "sent" is the file's contents. */
static void post(void *ctx, const struct sonde_upload_request *request,
                 struct sonde_upload_reply *reply)
{
    static const char version[] = "Sonde-Protocol: 1";
    int fd = open(ctx, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, request->body, request->body_bytes) != (ssize_t)request->body_bytes) {
        reply->failed(reply, SONDE_UPLOAD_UNREACHABLE, "the file");
        return;
    }
    close(fd);
    reply->header(reply, version, strlen(version));
    reply->status(reply, 201);
}

static int send_all(const char *folder, char *file)
{
    const struct sonde_watch_options watching = {.struct_bytes = sizeof watching, .spool = folder};
    const struct sonde_upload_transport transport = {
        .struct_bytes = sizeof transport, .send = post, .ctx = file};
    const struct sonde_upload_options options = {.struct_bytes = sizeof options,
                                                 .folder = folder,
                                                 .to = "https://collector.example/",
                                                 .transport = &transport};
    struct sonde_upload_result result = {.struct_bytes = sizeof result};
    struct sonde_watch *watch;
    if (sonde_watch_start(&watching, &watch, NULL) != SONDE_OK) {
        return fail("the next watch");
    }
    sonde_watch_stop(watch);
    if (sonde_upload_now(&options, &result, NULL) != SONDE_OK || result.stored != 1) {
        return fail("to send");
    }
    printf("sent by %s\n", BUILD);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[2], "die") == 0) {
        how = argv[3];
        return die(argv[1]);
    }
    if (argc == 4 && strcmp(argv[2], "send") == 0) {
        return send_all(argv[1], argv[3]);
    }
    return fail("arguments");
}
