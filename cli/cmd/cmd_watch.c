// SPDX-License-Identifier: Apache-2.0
/* sonde watch: watches running programs from outside. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "cli_fit.h"
#include "cli_report.h"
#include "cli_spool.h"
#include "cli_symbols.h"
#include "cmd.h"
#include "entry_equal.h"
#include "host_clock.h"
#include "watch_each.h"
#include "watch_options.h"

struct request {
    struct sonde__watch_options watch;
    struct sonde__cli_origin origin;
    const char *json;
    enum sonde__cli_color color;
};

static const struct sonde__cli_option options[] = {
    SONDE__CLI_WATCH_STALL_OPTION(struct request),
    {"for", 0, "DUR", "end the watch after this long (default: when the process ends)",
     sonde__cli_take_duration, offsetof(struct request, watch.for_ns), 1},
    {"timeout", 't', "DUR", "the same as --for", sonde__cli_take_duration,
     offsetof(struct request, watch.for_ns), 1},
    SONDE__CLI_WATCH_REPORT_OPTIONS(struct request),
    SONDE__CLI_ORIGIN_OPTIONS(struct request, origin),
    {"json", 'j', "FILE",
     "write JSON when the watch ends, as sonde show --json prints it, instead of a report",
     sonde__cli_take_text, offsetof(struct request, json)},
    {"sampler", 0, "HOW",
     "how running threads are sampled: auto (the default; perf, or none), perf, ptrace (stops "
     "them), none",
     sonde__cli_take_word, offsetof(struct request, watch.sampler),
     .words = sonde__watch_sampler_names},
    {"follow", 'f', NULL, "also watch present and future descendants of the processes",
     sonde__cli_take_flag, offsetof(struct request, watch.follow)},
    SONDE__CLI_WATCH_OUTPUT_OPTIONS(struct request),
    {0},
};

static int check(const struct sonde__cli_command *command, const struct request *request)
{
    if (request->json != NULL && request->watch.report_name != NULL) {
        return sonde__cli_usage_error(
            command, "--json and --report: give one; sonde show --json prints a report as JSON");
    }
    if (request->watch.sampler == SONDE__WATCH_SAMPLER_SIGNAL) {
        return sonde__cli_usage_error(
            command, "--sampler=signal needs the probe of sonde run in the program: auto, perf, "
                     "ptrace or none");
    }
    return SONDE__CLI_GO_ON;
}

static bool open_report(const struct sonde__cli_command *command, struct sonde__watch_options *o)
{
    o->report_fd = open(o->report_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (o->report_fd < 0) {
        sonde__cli_error(command, "%s: the report cannot be written: %s", o->report_name,
                         strerror(errno));
    }
    return o->report_fd >= 0;
}

static int open_output(const struct sonde__cli_command *command, struct request *request)
{
    static char spool[SONDE__SPOOL_PATH];
    struct sonde__watch_options *o = &request->watch;
    if (o->spool != NULL) {
        if (sonde__cli_spool_path(command, o->spool, spool) != SONDE__CLI_OK ||
            sonde__cli_spool_check(command, spool) != SONDE__CLI_OK) {
            return SONDE__CLI_FAILED;
        }
        o->spool = spool;
    }
    if (request->json != NULL) {
        o->report_name = request->json;
        o->report_json = true;
    }
    return SONDE__CLI_OK;
}

/* FILE.PID, if several processes are watched. */
static bool open_own(const struct sonde__cli_command *command, struct sonde__watch_options *o,
                     int32_t pid)
{
    static char path[8192];
    if (o->report_name == NULL) {
        return true;
    }
    snprintf(path, sizeof path, "%s.%d", o->report_name, (int)pid);
    o->report_name = path;
    return open_report(command, o);
}

struct job {
    const struct sonde__cli_command *command;
    struct sonde__watch_options *options;
    bool several;
};

static int watch_one(void *ctx, int32_t pid)
{
    const struct job *job = ctx;
    struct sonde_error error = {0};
    if (job->several && !open_own(job->command, job->options, pid)) {
        return SONDE__CLI_FAILED;
    }
    enum sonde_status status = sonde__watch_pid(job->options, pid, &error);
    return status == SONDE_OK ? SONDE__CLI_OK : sonde__cli_fail(job->command, NULL, status, &error);
}

static int watch_all(const struct sonde__cli_command *command, struct sonde__watch_options *o,
                     const int32_t *pids, uint32_t count)
{
    uint32_t missed;
    struct job job = {command, o, count > 1 || o->follow};
    bool follow = o->follow;
    o->follow = job.several; /* each line then names its process */
    if (!job.several) {
        return o->report_name == NULL || open_report(command, o) ? watch_one(&job, pids[0])
                                                                 : SONDE__CLI_FAILED;
    }
    int exit_code = sonde__cli_watch_each(pids, count, follow, watch_one, &job, &missed);
    if (missed > 0) {
        sonde__cli_error(command, "%u children were not watched: there are %u places",
                         (unsigned)missed, SONDE__CLI_WATCHES_MAX);
    }
    return exit_code;
}

static int take_pids(const struct sonde__cli_command *command,
                     const struct sonde__cli_operands *operands,
                     int32_t ret_pids[SONDE__CLI_WATCHES_MAX])
{
    if (operands->count == 0) {
        return sonde__cli_usage_error(command, "no process to watch");
    }
    if ((unsigned)operands->count > SONDE__CLI_WATCHES_MAX) {
        return sonde__cli_usage_error(command, "at most %u processes", SONDE__CLI_WATCHES_MAX);
    }
    for (unsigned i = 0; i < (unsigned)operands->count; i++) {
        if (!sonde__cli_parse_pid(operands->list[i], &ret_pids[i])) {
            return sonde__cli_usage_error(command, "not a process id: %s", operands->list[i]);
        }
    }
    return SONDE__CLI_GO_ON;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.watch = {.threshold_ns = 250000000u,
                                        .report_fd = -1,
                                        .equal_max = SONDE__ENTRY_EQUAL_DEFAULT}};
    struct sonde__watch_options *o = &request.watch;
    struct sonde__cli_operands operands;
    static struct sonde__cli_symbols symbols;
    int32_t pids[SONDE__CLI_WATCHES_MAX] = {0};
    sonde__host_use_kernels_clock();
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = check(command, &request);
    }
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = take_pids(command, &operands, pids);
    }
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    sonde__cli_watch_symbols(o, command, &symbols);
    o->command = "watch";
    o->tool = "sonde " SONDE_VERSION;
    o->build = request.origin.build;
    o->device = request.origin.device;
    o->tags = request.origin.tags;
    o->tag_count = request.origin.tag_count;
    o->color = sonde__cli_use_color(request.color, stderr);
    o->wide = sonde__cli_fits_nothing();
    if ((exit_code = open_output(command, &request)) != SONDE__CLI_OK) {
        return exit_code;
    }
    return watch_all(command, o, pids, (uint32_t)operands.count);
}

const struct sonde__cli_command sonde__cmd_watch = {
    .name = "watch",
    .summary = "watch a program that runs, and report each stall of its event loops",
    .usage = "[OPTION...] PID...",
    .about = "Watches the event loops of a running process from outside: nothing is loaded\n"
             "into it, and none of its threads is stopped or signalled. Static programs,\n"
             "programs of other C libraries and processes in containers are watched, too.\n"
             "The watch ends when the process does, after --for, or by Ctrl-C.\n"
             "\n"
             "Threads are checked up to 100 times a second; turns between checks are not seen.\n"
             "A thread that turns between two checks is not reported as stalled: for root its\n"
             "turns are counted, for others they are estimated, and stalls may be missed.\n"
             "Go programs are not watched.\n"
             "\n"
             "Options may also come from the environment: SONDE_WATCH_STALL=100ms.",
    .options = options,
    .examples = "  sonde watch 4711\n"
                "  sonde watch --stall 100ms --for 10m --report stalls.sonde $(pidof nginx)\n"
                "  SONDE_WATCH_STALL=100ms sonde watch --follow 4711\n",
    .environment = "SONDE_WATCH_",
    .run = run,
};
