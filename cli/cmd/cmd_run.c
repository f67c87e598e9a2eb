// SPDX-License-Identifier: Apache-2.0
/* sonde run: runs a program and watches it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_fit.h"
#include "cli_library.h"
#include "cli_report.h"
#include "cli_scrub.h"
#include "cli_spool.h"
#include "cli_symbols.h"
#include "cli_upload.h"
#include "cmd.h"
#include "entry_equal.h"
#include "host_clock.h"
#include "host_process.h"
#include "host_run.h"
#include "host_self.h"
#include "run_record.h"
#include "watch_options.h"

/* 125: sonde itself failed, as timeout(1) and env(1) use it. */
#define EXIT_OURS 125
/* Each reading visits all blocks. */
#define BLOCKS_EVERY_MIN_NS 100000000u
/* The maximum is for programs with some million different frames, mostly more than address space
 * allows. */
enum { FRAMES_MIN = 1024, FRAMES_MAX = 4194304 };

struct request {
    struct sonde__watch_options watch;
    struct sonde__cli_record record;
    struct sonde__cli_origin origin;
    struct sonde__cli_upload upload;
    const char *json;
    const char *join, *attend;
    enum sonde__cli_color color;
    bool blocks;
    uint64_t blocks_every_ns;
};

static const char *const actions[] = {"stacks", "abort", "core", NULL};

static const struct sonde__cli_option options[] = {
    SONDE__CLI_WATCH_STALL_OPTION(struct request),
    SONDE__CLI_WATCH_REPORT_OPTIONS(struct request),
    {"upload", 0, "ADDRESS",
     "with --spool: when PROGRAM has ended, send the folder's reports to a collector or a Sentry "
     "DSN (sonde upload)",
     sonde__cli_take_text, offsetof(struct request, upload.to)},
    {"upload-key-file", 0, "FILE",
     "with --upload: as --key-file of sonde upload (default: SONDE_UPLOAD_KEY in the environment)",
     sonde__cli_take_text, offsetof(struct request, upload.key_file)},
    {"upload-policy", 0, "WHEN", "with --upload: as --policy of sonde upload", sonde__cli_take_word,
     offsetof(struct request, upload.policy), .words = sonde__cli_upload_policies},
    SONDE__CLI_ORIGIN_OPTIONS(struct request, origin),
    SONDE__CLI_SCRUB_OPTION,
    {"json", 'j', "FILE",
     "write JSON when PROGRAM has ended, as sonde show --json prints it, instead of a report",
     sonde__cli_take_text, offsetof(struct request, json)},
    {"timeout", 't', "DUR",
     "print the stacks of all threads, also of the processes that it started, if the program "
     "still runs after this long (more than 0)",
     sonde__cli_take_duration, offsetof(struct request, watch.timeout_ns), 1},
    {"timeout-action", 0, "ACTION",
     "what to do then: stacks (the default; the program continues), abort (SIGABRT), core (SIGABRT "
     "with a core)",
     sonde__cli_take_word, offsetof(struct request, watch.timeout_action), .words = actions},
    {"sampler", 0, "HOW",
     "how running threads are sampled: auto (the default; the first that works), perf, ptrace, "
     "signal, none",
     sonde__cli_take_word, offsetof(struct request, watch.sampler),
     .words = sonde__watch_sampler_names},
    {"record", 'r', "LIST",
     "instead of stalls, record calls of the functions in the file LIST, one name per line",
     sonde__cli_take_text, offsetof(struct request, record.list)},
    {"audit", 0, "RULES",
     "instead of stalls, record the calls that the file RULES has rules for (docs/guide/audit.md)",
     sonde__cli_take_text, offsetof(struct request, record.rules)},
    {"phase-signal", 0, "NAME",
     "with --audit: SIGUSR1 to the supervisor begins the phase NAME (sonde mark)",
     sonde__cli_take_text, offsetof(struct request, record.phase)},
    {"live", 0, NULL,
     "with --audit: print a line for each function that is called from a new place, while PROGRAM "
     "runs (with --json: JSON lines in FILE, the last one is the report)",
     sonde__cli_take_flag, offsetof(struct request, record.live)},
    {"raw-syscalls", 0, NULL,
     "with --record and --audit: also system calls that PROGRAM makes itself (patches its code)",
     sonde__cli_take_flag, offsetof(struct request, record.raw)},
    {"app-only", 0, NULL,
     "with --record: show the program's own frames, and the number of system frames left out",
     sonde__cli_take_flag, offsetof(struct request, record.app_only)},
    {"keep-going", 'k', NULL, "with --record: report and skip lines of LIST that are not names",
     sonde__cli_take_flag, offsetof(struct request, record.keep_going)},
    {"frames", 0, "N",
     "with --record and --audit: room for N distinct frames (default 262144; 1024 to 4194304)",
     sonde__cli_take_number, offsetof(struct request, record.frames), FRAMES_MIN, FRAMES_MAX},
    {"top", 0, "N",
     "with --record and --audit: for each function or rule show the N stacks with the most calls, "
     "1 or more, or all (default 20)",
     sonde__cli_take_top, offsetof(struct request, record.top)},
    {"blocks", 'b', NULL,
     "instead of stalls, record blocks (closures) on the heap and the stacks that made them",
     sonde__cli_take_flag, offsetof(struct request, blocks)},
    {"blocks-every", 0, "DUR", "with --blocks: show the changes every DUR, 100ms or more",
     sonde__cli_take_duration, offsetof(struct request, blocks_every_ns), BLOCKS_EVERY_MIN_NS},
    {"follow", 'f', NULL,
     "also watch the programs that children of PROGRAM execute; with --record and --audit: also "
     "record children and the programs that they execute",
     sonde__cli_take_flag, offsetof(struct request, watch.follow)},
    {"no-follow", 0, NULL,
     "do not watch programs that PROGRAM's process executes, or children that it forks",
     sonde__cli_take_flag, offsetof(struct request, watch.stay)},
    {"launch", 0, "DUR",
     "also report a start of PROGRAM if its main thread's loop takes this long to reach its first "
     "wait (50ms to 60s)",
     sonde__cli_take_duration, offsetof(struct request, watch.launch_ns), SONDE__CLI_STALL_MIN_NS,
     SONDE__CLI_STALL_MAX_NS},
    SONDE__CLI_WATCH_OUTPUT_OPTIONS(struct request),
    /* internal, of --follow: pid of the first program's supervisor; the operands are the file to
     * execute and its whole argv */
    {"followed", 0, "PID", NULL, sonde__cli_take_pid, offsetof(struct request, watch.root)},
    /* internal, of --follow with --record or --audit: where the run is; operands as above */
    {"join", 0, "PLACE", NULL, sonde__cli_take_text, offsetof(struct request, join)},
    /* internal: the supervisor of a forked child */
    {"attend", 0, "PLACE", NULL, sonde__cli_take_text, offsetof(struct request, attend)},
    {"scrub-rules", 0, "RULES", NULL, sonde__cli_take_scrub_rules, 0},
    {"tags", 0, "TAGS", NULL, sonde__cli_take_tags, offsetof(struct request, origin)},
    {0},
};

/* Find the program before an old report is overwritten. Returns 0, or the exit status if it is
 * missing. */
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

/* Make absolute paths for --follow. */
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

/* FILE.PID, or FILE.PID.N if that exists, from an earlier program of this process. If it cannot be
 * written, the program runs without a report. */
static void open_own_report(const struct sonde__cli_command *command, const char *attend,
                            struct sonde__watch_options *o)
{
    static char path[8192];
    int n = 1;
    uint32_t index;
    int32_t fd, pid = (int32_t)getpid();
    if (attend != NULL) {
        (void)sonde__watch_parse_place(attend, &fd, &index, &pid);
    }
    do {
        snprintf(path, sizeof path, n == 1 ? "%s.%d" : "%s.%d.%d", o->report_base, (int)pid, n);
        o->report_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    } while (o->report_fd < 0 && errno == EEXIST && n++ < 1000);
    if (o->report_fd < 0) {
        sonde__cli_error(command, "%s: the report cannot be written: %s", path, strerror(errno));
        return;
    }
    o->report_path = path;
    o->report_name = path;
}

/* Refuse options that need another one. */
static int check_needed(const struct sonde__cli_command *command, const struct request *request)
{
    const struct sonde__cli_record *record = &request->record;
    const struct {
        const char *name;
        bool given, of_audit;
    } of_record[] = {{"app-only", record->app_only, false},
                     {"frames", record->frames != 0, true},
                     {"keep-going", record->keep_going, false},
                     {"top", record->top != 0, true},
                     {"raw-syscalls", record->raw, true}};
    if (record->phase != NULL && record->rules == NULL) {
        return sonde__cli_usage_error(command, "--phase-signal needs --audit");
    }
    if (record->live && record->rules == NULL) {
        return sonde__cli_usage_error(command, "--live needs --audit");
    }
    for (size_t i = 0; record->list == NULL && i < sizeof of_record / sizeof of_record[0]; i++) {
        if (of_record[i].given && !(of_record[i].of_audit && record->rules != NULL)) {
            return sonde__cli_usage_error(command, "--%s needs --record%s", of_record[i].name,
                                          of_record[i].of_audit ? " or --audit" : "");
        }
    }
    if (request->upload.to != NULL && request->watch.spool == NULL) {
        return sonde__cli_usage_error(command, "--upload needs --spool");
    }
    if (!request->blocks && request->blocks_every_ns != 0) {
        return sonde__cli_usage_error(command, "--blocks-every needs --blocks");
    }
    return SONDE__CLI_GO_ON;
}

/* Refuse options that cannot be combined. */
static int check(const struct sonde__cli_command *command, const struct request *request)
{
    const struct sonde__cli_record *record = &request->record;
    const char *instead = record->list != NULL    ? "--record"
                          : record->rules != NULL ? "--audit"
                          : request->blocks       ? "--blocks"
                                                  : NULL; /* of stalls */
    if (request->json != NULL && request->watch.report_name != NULL) {
        return sonde__cli_usage_error(
            command, "--json and --report: give one; sonde show --json prints a report as JSON");
    }
    if (request->blocks && request->watch.spool != NULL) {
        return sonde__cli_usage_error(
            command, "--blocks and --spool cannot be combined: --report writes a report");
    }
    if (request->blocks && request->watch.follow) {
        return sonde__cli_usage_error(command, "--blocks and --follow cannot be combined yet");
    }
    if (record->list != NULL && record->rules != NULL) {
        return sonde__cli_usage_error(command, "--record and --audit: give one");
    }
    if (request->blocks && (record->list != NULL || record->rules != NULL)) {
        return sonde__cli_usage_error(command, "--blocks and %s cannot be combined yet", instead);
    }
    return check_needed(command, request);
}

/* has_path: the first operand is the file to execute */
static int take_program(const struct sonde__cli_command *command,
                        const struct sonde__cli_operands *operands, bool has_path,
                        struct sonde__watch_options *o)
{
    o->argv = operands->list;
    if (has_path && operands->count > 0) {
        o->program = *o->argv++;
    }
    return o->argv[0] != NULL ? SONDE__CLI_GO_ON
                              : sonde__cli_usage_error(command, "no program to run");
}

/* Find the folder of --spool. For a followed program it was checked before. */
static bool find_spool(const struct sonde__cli_command *command, struct sonde__watch_options *o)
{
    static char path[SONDE__SPOOL_PATH];
    if (o->spool == NULL) {
        return true;
    }
    if (sonde__cli_spool_path(command, o->spool, path) != SONDE__CLI_OK) {
        return false;
    }
    o->spool = path;
    return o->root != 0 || sonde__cli_spool_check(command, path) == SONDE__CLI_OK;
}

/* Set up the plugin and open the report. Returns 0 or the exit status. */
static int prepare(const struct sonde__cli_command *command, const struct request *request,
                   struct sonde__watch_options *o)
{
    const char *report = o->report_name;
    int failed = 0;
    o->build = request->origin.build;
    o->device = request->origin.device;
    o->scrub = sonde__cli_scrub_rules();
    o->tags = request->origin.tags;
    o->tag_count = request->origin.tag_count;
    o->envp = sonde__host_environ();
    o->probe = sonde__cli_find_probe();
    if (request->record.list != NULL || request->record.rules != NULL) {
        struct sonde__cli_record record = request->record;
        record.follow = o->follow;
        failed = sonde__cli_prepare_record(command, &record, o);
    } else if (request->blocks) {
        failed = sonde__cli_prepare_blocks(command, request->blocks_every_ns, o);
    }
    if (failed != 0) {
        return failed;
    }
    if (!find_spool(command, o)) {
        return EXIT_OURS;
    }
    if (request->upload.to != NULL) {
        if (!sonde__cli_upload_later(command, &request->upload, o->spool, &o->sender)) {
            return EXIT_OURS;
        }
        o->probe = sonde__cli_find_probe(); /* its static path was overwritten by the call above */
    }
    if (o->root != 0 && o->report_base != NULL) {
        open_own_report(command, request->attend, o);
    } else if (report != NULL && (o->report_fd = open_report(command, report)) < 0) {
        return EXIT_OURS;
    }
    return 0;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.watch = {.threshold_ns = 250000000u,
                                        .report_fd = -1,
                                        .equal_max = SONDE__ENTRY_EQUAL_DEFAULT}};
    struct sonde__watch_options *o = &request.watch;
    struct sonde__cli_operands operands;
    sonde__host_use_kernels_clock();
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = take_program(command, &operands, o->root != 0 || request.join != NULL, o);
    }
    if (exit_code == SONDE__CLI_GO_ON && request.join != NULL) {
        return sonde__cli_join(command, request.join, o);
    }
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = check(command, &request);
    }
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (request.json != NULL) {
        o->report_name = request.json;
        o->report_json = true;
    }
    if (o->follow && o->stay) {
        return sonde__cli_usage_error(command, "--follow and --no-follow: give one");
    }
    if (!o->stay) {
        fill_follow(o, o->report_name);
    }
    if (o->root == 0 && (exit_code = look_for_program(command, o)) != 0) {
        return exit_code;
    }
    static struct sonde__cli_symbols symbols;
    sonde__cli_watch_symbols(o, command, &symbols);
    if ((exit_code = prepare(command, &request, o)) != 0) {
        return exit_code;
    }
    o->tool = "sonde " SONDE_VERSION;
    o->color = sonde__cli_use_color(request.color, stderr);
    o->wide = sonde__cli_fits_nothing();
    struct sonde_error error = {0};
    exit_code = request.attend != NULL && o->root != 0
                    ? sonde__watch_attend(o, request.attend, &error)
                    : sonde__watch_run(o, &error);
    (void)sonde__cli_fail(command, NULL, error.status, &error);
    return exit_code;
}

const struct sonde__cli_command sonde__cmd_run = {
    .name = "run",
    .summary = "run a program and report each stall of its event loops",
    .usage = "[OPTION...] [--] PROGRAM [ARGUMENT...]",
    .about = "Runs PROGRAM unchanged and watches its event loops from another process. If a\n"
             "loop does not return to its wait in time, the stacks of its thread are sampled\n"
             "until it does. Then the stall is printed on stderr: what the thread did, and\n"
             "what it waited for.\n"
             "\n"
             "Exit status, signals, job control, pid and environment are the same as without\n"
             "sonde. If the process executes another program (sh -c 'exec ...'), that is\n"
             "watched, too. So are up to 32 forked children at a time that execute nothing\n"
             "(workers of servers), unless --no-follow is given. Programs that children\n"
             "execute are watched only with --follow. SIGQUIT to the supervisor (--verbose\n"
             "shows its pid) prints the stacks of all threads.\n"
             "\n"
             "Running threads are sampled by perf events; if those are refused, by ptrace;\n"
             "in containers that refuse both, by a signal (SIGURG). The report has the method\n"
             "and the number of system calls that ended early. --sampler selects a method.\n"
             "\n"
             "Not followed are children that first wait after PROGRAM has ended (daemons),\n"
             "programs executed by descriptor (fexecve()), by a direct system call (Go) or by\n"
             "posix_spawn() of a relative path with file actions, and programs that cannot\n"
             "carry the probe. With --report or --json each of the followed processes that\n"
             "has a stall writes FILE.PID. --timeout applies to PROGRAM only.\n"
             "\n"
             "--record LIST: who calls the functions in the file LIST (one name per line),\n"
             "and how often. Each distinct stack is printed with its count at the end of\n"
             "PROGRAM, and with the count so far on SIGQUIT to the supervisor. Calls are\n"
             "counted exactly, in all threads, from the first constructor on, including those\n"
             "of libraries that are loaded later. -[Class selector] and +[Class selector] are\n"
             "methods of Objective-C. syscall:NAME is a system call not made by a function of\n"
             "that name: by the C library's syscall(), and with --raw-syscalls by code of\n"
             "PROGRAM and its libraries, which is patched in memory (x86-64; each function\n"
             "of LIST then includes the system call of its name). --verbose lists blind spots\n"
             "with reasons. Children are recorded with --follow: each process by itself, up to\n"
             "64 at a time.\n"
             "\n"
             "--audit RULES: the same for the functions of a file of rules, by rule: names of\n"
             "other forms of a function are included (open64, __open_2). Rules have a class,\n"
             "a severity, callers, and may use packs: [pack] use = linux-process\n"
             "(sonde audit compile RULES checks a file).\n"
             "\n"
             "--blocks: live blocks (closures) on the heap, with the stack that made them,\n"
             "their age and thread, at the end of PROGRAM, on SIGQUIT to the supervisor, and\n"
             "with --blocks-every the changes. Calls of a blocks runtime that is linked into\n"
             "PROGRAM itself are not seen; the output shows where references may have been\n"
             "missed. Forked children are not recorded.\n"
             "\n"
             "Exit status: that of PROGRAM; 125 if sonde failed, 126 if PROGRAM cannot be\n"
             "executed, 127 if it is not found.",
    .options = options,
    .examples = "  sonde run -- python3 server.py\n"
                "  sonde run --stall 100ms --report stalls.sonde -- node app.js\n"
                "  sonde run --json stalls.json -- ./test\n"
                "  sonde run --follow -- ./start-servers.sh\n"
                "  sonde run --record functions.txt -- curl https://example.org/\n"
                "  sonde run --audit rules.ini --report audit.sonde -- ./server\n"
                "  sonde run --audit rules.ini --follow --report audit.sonde -- make -j4\n"
                "  sonde run --blocks --blocks-every 10s -- ./server\n"
                "  sonde run --timeout 5m --timeout-action core -- ./test\n",
    .options_before_operand = true,
    .environment = "SONDE_RUN_",
    .run = run,
};
