// SPDX-License-Identifier: Apache-2.0
/* sonde run: a program under the watch. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_library.h"
#include "cli_report.h"
#include "cli_symbols.h"
#include "cmd.h"
#include "host_process.h"
#include "host_run.h"
#include "host_self.h"
#include "run_record.h"
#include "watch_run.h"

enum {
    OPTION_STALL = 1,
    OPTION_REPORT,
    OPTION_TIMEOUT,
    OPTION_ACTION,
    OPTION_SAMPLER,
    OPTION_COLOR,
    OPTION_VERBOSE,
    OPTION_FOLLOW,
    OPTION_FOLLOWED,
    OPTION_RECORD,
    OPTION_RAW,
    OPTION_APP_ONLY,
    OPTION_TOP,
    OPTION_KEEP_GOING,
    OPTION_FRAMES,
    OPTION_BLOCKS,
    OPTION_BLOCKS_EVERY,
};

/* 125: sonde itself failed, as timeout(1) and env(1) use it. */
#define EXIT_OURS 125
/* While debug information is read, a stall is not sampled; an index that was kept costs nothing. */
#define BUDGET_NS       1000000000u
#define DEBUG_BYTES_MAX ((uint64_t)64 << 20)
/* Below this the resolution of the probe's clock (a jiffy, up to 10 ms) would show. */
#define STALL_MIN_NS 50000000u
/* Each look at the blocks reads all of them. */
#define BLOCKS_EVERY_MIN_NS 100000000u

static const struct sonde__cli_option options[] = {
    {OPTION_STALL, "stall", 's', "DUR",
     "report an event loop that does not come back to its wait for this long (250ms; 50ms to 60s)"},
    {OPTION_REPORT, "report", 'o', "FILE", "also write a report that sonde show reads"},
    {OPTION_TIMEOUT, "timeout", 't', "DUR",
     "print the stacks of all threads when the program still runs after this long (more than 0)"},
    {OPTION_ACTION, "timeout-action", 0, "ACTION",
     "what then: stacks (the default: it goes on), abort (SIGABRT), core (SIGABRT with a core)"},
    {OPTION_SAMPLER, "sampler", 0, "HOW",
     "how running threads are sampled: auto (the default: the first that works), perf, ptrace, "
     "signal, none"},
    {OPTION_RECORD, "record", 'r', "LIST",
     "instead of stalls, record the calls of the functions that the file LIST names, one a line"},
    {OPTION_RAW, "raw-syscalls", 0, NULL,
     "with --record: system calls that PROGRAM makes itself, too (changes its code)"},
    {OPTION_APP_ONLY, "app-only", 0, NULL,
     "with --record: show the program's own frames, and how many of the system are left out"},
    {OPTION_KEEP_GOING, "keep-going", 'k', NULL,
     "with --record: leave out lines of LIST that are no names, and say which"},
    {OPTION_FRAMES, "frames", 0, "N",
     "with --record: room for N different frames of stacks (262144; 1024 to 4194304)"},
    {OPTION_TOP, "top", 0, "N",
     "with --record: show the N stacks of each function with the most calls, 1 or more, or all "
     "(20)"},
    {OPTION_BLOCKS, "blocks", 'b', NULL,
     "instead of stalls, keep account of the blocks (closures) on the heap, and who made them"},
    {OPTION_BLOCKS_EVERY, "blocks-every", 0, "DUR",
     "with --blocks: say each DUR, 100ms or more, which became more or fewer"},
    {OPTION_FOLLOW, "follow", 'f', NULL, "watch the programs that PROGRAM executes, too"},
    {OPTION_COLOR, "color", 0, "WHEN", "auto, always, never"},
    {OPTION_VERBOSE, "verbose", 'v', NULL, "say what is watched, and how much was seen"},
    /* for --follow's own use: the supervisor of the first program; the operands are the file to
     * execute and its whole argv */
    {OPTION_FOLLOWED, "followed", 0, "PID", NULL},
    {0},
};

static bool parse_action(const char *text, enum sonde__watch_timeout_action *ret_action)
{
    static const char *const names[] = {"stacks", "abort", "core"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_action = (enum sonde__watch_timeout_action)i;
            return true;
        }
    }
    return false;
}

static bool parse_sampler(const char *text, enum sonde__watch_sampler_kind *ret_sampler)
{
    for (int i = 0; i <= SONDE__WATCH_SAMPLER_NONE; i++) {
        if (strcmp(text, sonde__watch_sampler_names[i]) == 0) {
            *ret_sampler = (enum sonde__watch_sampler_kind)i;
            return true;
        }
    }
    return false;
}

/* Before a former report is replaced: 0, or the exit status of a program that is not there. */
static int look_for_program(const struct sonde__cli_command *command,
                            const struct sonde__watch_options *o)
{
    static char path[4096];
    struct sonde_error error = {0};
    int exit_code = sonde__host_find_program(o->argv[0], path, sizeof path, &error);
    if (exit_code != 0) {
        (void)sonde__cli_fail(command, NULL, error.status, &error);
    }
    return exit_code;
}

static int open_report(const struct sonde__cli_command *command, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        sonde__cli_error(command, "%s: the report cannot be written: %s", path, strerror(errno));
    }
    return fd;
}

/* What --follow passes on: paths that hold in another folder, too. */
static void fill_follow(struct sonde__watch_options *o, const char *report)
{
    static char self[4096], base[8192], folder[4096];
    o->self = sonde__host_executable(getpid(), self, sizeof self) ? self : NULL;
    if (report != NULL && report[0] == '/') {
        o->report_base = report;
    } else if (report != NULL && getcwd(folder, sizeof folder) != NULL) {
        snprintf(base, sizeof base, "%s/%s", folder, report);
        o->report_base = base;
    }
}

/* FILE.PID, or FILE.PID.N when that is there: of the program that this process was before. The
 * program runs without a report where none can be written: nobody could tell it. */
static void open_own_report(const struct sonde__cli_command *command,
                            struct sonde__watch_options *o)
{
    static char path[8192];
    int n = 1;
    do {
        snprintf(path, sizeof path, n == 1 ? "%s.%d" : "%s.%d.%d", o->report_base, (int)getpid(),
                 n);
        o->report_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    } while (o->report_fd < 0 && errno == EEXIST && n++ < 1000);
    if (o->report_fd < 0) {
        sonde__cli_error(command, "%s: the report cannot be written: %s", path, strerror(errno));
        return;
    }
    o->report_path = path;
    o->report_name = path;
}

struct choice {
    const char *report;
    struct sonde__cli_record record;
    enum sonde__cli_color color;
    bool blocks;
    uint64_t blocks_every_ns;
};

/* The options, up to the program. False: *ret_exit_code says how to end. */
static bool parse(const struct sonde__cli_command *command, int argc, char **argv,
                  struct sonde__watch_options *o, struct choice *chosen, int *ret_exit_code)
{
    struct sonde__cli_args args;
    uint64_t root = 0;
    bool done = false;
    int id;
    sonde__cli_args_init(&args, command, argc, argv);
    while (!done && (id = sonde__cli_next(&args)) != SONDE__CLI_END) {
        bool right = true;
        switch (id) {
        case OPTION_STALL:
            right = sonde__cli_parse_duration(args.value, &o->threshold_ns) &&
                    o->threshold_ns >= STALL_MIN_NS && o->threshold_ns <= 60000000000u;
            break;
        case OPTION_TIMEOUT:
            right = sonde__cli_parse_duration(args.value, &o->timeout_ns) && o->timeout_ns > 0;
            break;
        case OPTION_ACTION:
            right = parse_action(args.value, &o->timeout_action);
            break;
        case OPTION_SAMPLER:
            right = parse_sampler(args.value, &o->sampler);
            break;
        case OPTION_COLOR:
            right = sonde__cli_parse_color(args.value, &chosen->color);
            break;
        case OPTION_REPORT:
            chosen->report = args.value;
            o->report_name = args.value;
            break;
        case OPTION_VERBOSE:
            o->verbose = true;
            break;
        case OPTION_FOLLOW:
            o->follow = true;
            break;
        case OPTION_RECORD:
            chosen->record.list = args.value;
            break;
        case OPTION_RAW:
            chosen->record.raw = true;
            break;
        case OPTION_APP_ONLY:
            chosen->record.app_only = true;
            break;
        case OPTION_FRAMES:
            right = sonde__cli_parse_frames(args.value, &chosen->record.frames);
            break;
        case OPTION_KEEP_GOING:
            chosen->record.keep_going = true;
            break;
        case OPTION_TOP:
            right = sonde__cli_parse_top(args.value, &chosen->record.top);
            break;
        case OPTION_BLOCKS:
            chosen->blocks = true;
            break;
        case OPTION_BLOCKS_EVERY:
            right = sonde__cli_parse_duration(args.value, &chosen->blocks_every_ns) &&
                    chosen->blocks_every_ns >= BLOCKS_EVERY_MIN_NS;
            break;
        case OPTION_FOLLOWED:
            right = sonde__cli_parse_uint(args.value, INT32_MAX, &root) && root > 0;
            o->root = (int32_t)root;
            break;
        case SONDE__CLI_OPERAND:
            done = true;
            break;
        default:
            *ret_exit_code = args.exit_code;
            return false;
        }
        if (!right) {
            *ret_exit_code =
                sonde__cli_usage_error(command, "not a value for this option: %s", args.value);
            return false;
        }
    }
    if (done) {
        o->argv = &argv[args.at - 1];
        if (o->root != 0) {
            o->program = *o->argv++;
        }
    }
    if (!done || o->argv[0] == NULL) {
        *ret_exit_code = sonde__cli_usage_error(command, "no program to run");
        return false;
    }
    return true;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct sonde__watch_options o = {.threshold_ns = 250000000u, .report_fd = -1};
    struct choice chosen = {.color = SONDE__CLI_COLOR_AUTO};
    int missing;
    if (!parse(command, argc, argv, &o, &chosen, &missing)) {
        return missing;
    }
    if (chosen.record.list == NULL && chosen.record.app_only) {
        return sonde__cli_usage_error(command, "--app-only is of --record");
    }
    if (chosen.record.list == NULL && chosen.record.frames != 0) {
        return sonde__cli_usage_error(command, "--frames is of --record");
    }
    if (chosen.record.list == NULL && chosen.record.keep_going) {
        return sonde__cli_usage_error(command, "--keep-going is of --record");
    }
    if (chosen.record.list == NULL && chosen.record.top != 0) {
        return sonde__cli_usage_error(command, "--top is of --record");
    }
    if (chosen.record.list == NULL && chosen.record.raw) {
        return sonde__cli_usage_error(command, "--raw-syscalls is of --record");
    }
    if ((chosen.record.list != NULL || chosen.blocks) && o.follow) {
        return sonde__cli_usage_error(command, "%s and --follow do not go together yet",
                                      chosen.blocks ? "--blocks" : "--record");
    }
    if (chosen.blocks && chosen.record.list != NULL) {
        return sonde__cli_usage_error(command, "--blocks and --record do not go together yet");
    }
    if (!chosen.blocks && chosen.blocks_every_ns != 0) {
        return sonde__cli_usage_error(command, "--blocks-every is of --blocks");
    }
    if (o.follow) {
        fill_follow(&o, chosen.report);
    }
    if (o.root == 0 && (missing = look_for_program(command, &o)) != 0) {
        return missing;
    }
    struct sonde__cli_symbols symbols = {0};
    sonde__cli_symbols_start(&symbols, command, BUDGET_NS);
    symbols.making.bytes_max = DEBUG_BYTES_MAX;
    symbols.fetch.network = false;
    o.symbols = &symbols.options;
    o.envp = sonde__host_environ();
    o.probe = sonde__cli_find_probe();
    if (chosen.record.list != NULL &&
        (missing = sonde__cli_prepare_record(command, &chosen.record, &o)) != 0) {
        return missing;
    }
    if (chosen.blocks &&
        (missing = sonde__cli_prepare_blocks(command, chosen.blocks_every_ns, &o)) != 0) {
        return missing;
    }
    if (o.root != 0 && o.report_base != NULL) {
        open_own_report(command, &o);
    } else if (chosen.report != NULL && (o.report_fd = open_report(command, chosen.report)) < 0) {
        return EXIT_OURS;
    }
    o.tool = "sonde " SONDE_VERSION;
    o.color = sonde__cli_use_color(chosen.color, stderr);
    struct sonde_error error = {0};
    int exit_code = sonde__watch_run(&o, &error);
    (void)sonde__cli_fail(command, NULL, error.status, &error);
    return exit_code;
}

const struct sonde__cli_command sonde__cmd_run = {
    .name = "run",
    .summary = "run a program and report each stall of its event loops",
    .usage = "[OPTION...] [--] PROGRAM [ARGUMENT...]",
    .about = "Runs PROGRAM unchanged and watches it from another process. When one of its\n"
             "event loops does not come back to its wait in time, the stacks of the stalled\n"
             "thread are sampled until it does; then the stall is shown on stderr, with what\n"
             "the thread did and what it waited for.\n"
             "\n"
             "The exit status, signals, job control, pid and environment are those of PROGRAM\n"
             "without sonde. Programs that it starts are watched with --follow only. SIGQUIT\n"
             "to the supervisor (--verbose says its pid) prints the stacks of all threads.\n"
             "\n"
             "Running threads are sampled by perf events, where those are refused by ptrace,\n"
             "and in containers that refuse both by a signal (SIGURG); the report says which,\n"
             "and how many calls that ended early. --sampler chooses one of them.\n"
             "\n"
             "--follow: not followed are forks that execute nothing, what is executed by\n"
             "descriptor (fexecve()), by a system call of its own (Go) or by posix_spawn()\n"
             "of a relative path with file actions, and programs that cannot carry the\n"
             "probe. With --report each followed program that stalls writes FILE.PID.\n"
             "--timeout is PROGRAM's only.\n"
             "\n"
             "--record LIST: who calls the functions that the file LIST names, one a line, and\n"
             "how often: each different stack once, with its count, when PROGRAM ends, and so\n"
             "far on SIGQUIT to the supervisor (--verbose says its pid). Calls\n"
             "are counted exactly, in all threads, from the first constructor on, also of\n"
             "libraries that come later; -[Class selector] and +[Class selector] are methods\n"
             "of Objective-C; syscall:NAME is a system call by no function of that name: by\n"
             "the C library's syscall(), and with --raw-syscalls by code of PROGRAM and its\n"
             "libraries themselves, which is changed for it where it is loaded (x86-64; then\n"
             "each function of LIST that has a system call of its name means that, too).\n"
             "--verbose lists what cannot be seen, and why. Forked children are not recorded.\n"
             "\n"
             "--blocks: each block (closure) that lives on the heap, with the stack that made\n"
             "it, its age and thread: listed when PROGRAM ends, on SIGQUIT to the supervisor,\n"
             "and with --blocks-every what became more or fewer since the time before. Calls\n"
             "of a blocks runtime that is linked into PROGRAM itself are not seen; references\n"
             "that come and go unseen are said where they show. Forked children are left out.\n"
             "\n"
             "Exit status: that of PROGRAM; 125 when sonde failed, 126 when PROGRAM cannot be\n"
             "executed, 127 when it is not found.",
    .options = options,
    .examples = "sonde run -- python3 server.py\n"
                "sonde run --stall 100ms --report stalls.sonde -- node app.js\n"
                "sonde run --follow -- ./start-servers.sh\n"
                "sonde run --record functions.txt -- curl https://example.org/\n"
                "sonde run --blocks --blocks-every 10s -- ./server\n"
                "sonde run --timeout 5m --timeout-action core -- ./test\n",
    .options_before_operand = true,
    .run = run,
};
