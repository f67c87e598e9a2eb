// SPDX-License-Identifier: Apache-2.0
/* sonde stacks: stacks of all threads of a process or core. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "arch_regs.h"
#include "cli_hint.h"
#include "cli_report.h"
#include "cli_scrub.h"
#include "cli_symbols.h"
#include "cmd.h"
#include "drain_origin.h"
#include "drain_stack.h"
#include "stacks_capture.h"
#include "stacks_causes.h"
#include "target.h"
#include "target_script.h"

/* Time for reading debug information while a person waits. */
#define BUDGET_NS ((uint64_t)30 * 1000000000u)

struct request {
    const char *core;
    const char *program; /* if the core's own path is wrong; or null */
    int32_t pid;
    struct sonde__stacks_wanted wanted;
    bool no_names;
    struct sonde__cli_symbols symbols;
    const char *report_path;
    struct sonde__cli_origin origin;
    struct sonde__cli_view view;
};

static const char *take_thread(const struct sonde__cli_option *option, const char *value,
                               void *member)
{
    return value[0] == '\0' ? "neither an id nor a name"
                            : sonde__cli_take_list(option, value, member);
}

static const struct sonde__cli_option options[] = {
    {"core", 'c', "FILE",
     "read a core file; an operand is then the program, if the path in the core is wrong",
     sonde__cli_take_core, offsetof(struct request, core)},
    {"thread", 't', "TID|NAME", "only this thread, or the threads of this name; may be repeated",
     take_thread, offsetof(struct request, wanted.threads)},
    {"depth", 'd', "N",
     "keep the innermost N frames of a stack and its outermost 64, and show how many are left out "
     "between them (1 to 16000; default 256)",
     sonde__cli_take_number, offsetof(struct request, wanted.depth), 1, SONDE__STACKS_DEPTH_MAX},
    {"stop", 's', NULL,
     "stop all threads together (ptrace) for a consistent snapshot; by default no thread is "
     "disturbed, and a running one is read from a sample",
     sonde__cli_take_flag, offsetof(struct request, wanted.stop)},
    {"no-names", 'n', NULL, "no function names: image and offset only", sonde__cli_take_flag,
     offsetof(struct request, no_names)},
    SONDE__CLI_SYMBOLS_OPTIONS(0, struct request, symbols),
    {"report", 'o', "FILE",
     "also write a report that `sonde show` reads; - writes it to standard output instead of text",
     sonde__cli_take_text, offsetof(struct request, report_path)},
    SONDE__CLI_ORIGIN_OPTIONS(struct request, origin),
    SONDE__CLI_SCRUB_OPTION,
    SONDE__CLI_VIEW_OPTIONS(struct request, view),
};

static int take_operand(const struct sonde__cli_command *command,
                        const struct sonde__cli_operands *operands, struct request *request)
{
    if (request->core != NULL) {
        request->program = operands->list[0];
        return request->wanted.stop ? sonde__cli_usage_error(command, "--stop: a core does not run")
                                    : SONDE__CLI_GO_ON;
    }
    if (operands->count == 0) {
        return sonde__cli_usage_error(command, "which process? give its id, or --core FILE");
    }
    return sonde__cli_parse_pid(operands->list[0], &request->pid)
               ? SONDE__CLI_GO_ON
               : sonde__cli_usage_error(command, "not a process id: %s", operands->list[0]);
}

/* --- from stacks to a report --- */

static const char *arch_name(const struct sonde__image_set *images)
{
    return images->image_count != 0 ? sonde__arch_name(images->images[0].arch) : "";
}

static void set_header(struct sonde__report *report, struct sonde__target *target,
                       const struct request *request, const struct sonde__stacks *stacks)
{
    struct sonde__report_header header;
    sonde__cli_report_header(&header);
    header.kind = SONDE__REPORT_STACKS;
    header.executable = sonde__target_executable(target);
    header.arch = arch_name(sonde__target_images(target));
    header.source = request->core != NULL ? "core" : "process";
    if (request->core != NULL) { /* the core's machine is unknown */
        header.os = "";
        header.device = (struct sonde__report_device){0};
    }
    header.pid = sonde__target_pid(target);
    header.pause_ns = stacks->pause_ns;
    header.build = request->origin.build;
    header.device.id = request->origin.device;
    header.tags = request->origin.tags;
    header.tag_count = request->origin.tag_count;
    sonde__report_set_header(report, &header);
    sonde__drain_process(report, header.pid,
                         request->core == NULL ? sonde__host_parent(header.pid) : 0,
                         header.executable);
}

static enum sonde_status drain(struct sonde__report *report, struct sonde__target *target,
                               struct sonde__symfile_cache *symbols,
                               const struct sonde__stacks *stacks,
                               const struct sonde__stacks_causes *causes,
                               struct sonde__cli_report_file *file)
{
    struct sonde__drain *d;
    struct sonde__cli_progress progress;
    const struct sonde__image_set *images = sonde__target_images(target);
    enum sonde_status status = sonde__drain_create(report, target, symbols, &d);
    if (status != SONDE_OK) {
        return status;
    }
    sonde__cli_progress_begin(&progress, "naming threads");
    for (uint32_t i = 0; i < stacks->count; i++) {
        struct sonde__report_thread thread;
        sonde__drain_thread(d, images, &stacks->list[i], &thread);
        sonde__stacks_causes_add(causes, i, report, &thread);
        sonde__report_add_thread(report, &thread);
        sonde__drain_tasks(d, &stacks->list[i], &thread);
        sonde__cli_report_flush(file, report);
        sonde__cli_progress_step(&progress, i + 1, stacks->count);
    }
    sonde__cli_progress_end(&progress);
    sonde__drain_destroy(d);
    return SONDE_OK;
}

static enum sonde_status fill_report(struct sonde__report *report, struct sonde__target *target,
                                     const struct request *request,
                                     const struct sonde__stacks *stacks,
                                     const struct sonde__stacks_causes *causes,
                                     struct sonde__cli_report_file *file)
{
    struct sonde__symfile_cache *symbols = NULL;
    static const struct sonde__report_end end; /* records that exceeded the limits are added */
    enum sonde_status status = SONDE_OK;
    if (!request->no_names) {
        struct sonde__symfile_options where = request->symbols.options;
        where.root = sonde__target_root(target);
        status = sonde__symfile_cache_create(&where, &symbols);
    }
    if (status == SONDE_OK) {
        set_header(report, target, request, stacks);
        if (sonde__target_doubt(target)[0] != '\0') {
            sonde__report_add_note(report, sonde__target_doubt(target));
        }
        sonde__stacks_causes_add_circles(causes, report);
        sonde__cli_report_flush(file, report);
        status = drain(report, target, symbols, stacks, causes, file);
        sonde__symfile_cache_destroy(symbols);
    }
    sonde__report_set_end(report, &end);
    return status;
}

/* --- out --- */

static void print(const struct sonde__report *report, struct request *request)
{
    if (request->report_path != NULL && strcmp(request->report_path, "-") == 0) {
        return; /* stdout has the report */
    }
    sonde__cli_view_print(&request->view, report);
}

static int print_unread(const struct sonde__cli_command *command,
                        const struct sonde__stacks *stacks)
{
    const struct sonde__sample *first;
    const char *why;
    if (stacks->unread == 0) {
        return SONDE__CLI_OK;
    }
    first = &stacks->list[stacks->first_unread];
    why = first->capture.note[0] != '\0' ? first->capture.note
                                         : sonde_status_text(first->capture.status);
    sonde__cli_error(command, "%u of %u threads could not be read: thread %" PRIu64 ": %s",
                     stacks->unread, stacks->count, first->thread.tid, why);
    if (stacks->unread < stacks->count) {
        return SONDE__CLI_INCOMPLETE;
    }
    switch (first->capture.status) {
    case SONDE_DENIED:
        return SONDE__CLI_DENIED;
    case SONDE_UNSUPPORTED:
        return SONDE__CLI_UNSUPPORTED;
    default:
        return SONDE__CLI_INCOMPLETE;
    }
}

static int show_stacks(const struct sonde__cli_command *command, struct sonde__target *target,
                       struct request *request, const struct sonde__stacks *stacks,
                       const struct sonde__stacks_causes *causes)
{
    struct sonde__cli_report_file file = {0};
    struct sonde__report *report = NULL;
    enum sonde_status status;
    int exit_code = SONDE__CLI_OK;
    int written;
    int unread;
    if (request->report_path != NULL) {
        exit_code = sonde__cli_report_open(command, request->report_path, &file);
    }
    status = sonde__report_create(&report);
    if (status == SONDE_OK) {
        status = fill_report(report, target, request, stacks, causes, &file);
    }
    if (status != SONDE_OK) {
        (void)sonde__cli_report_close(command, &file, NULL);
        sonde__report_destroy(report);
        return sonde__cli_fail(command, NULL, status, NULL);
    }
    if (sonde__target_doubt(target)[0] != '\0') {
        sonde__cli_error(command, "%s", sonde__target_doubt(target));
        exit_code = exit_code != SONDE__CLI_OK ? exit_code : SONDE__CLI_MALFORMED;
    }
    unread = print_unread(command, stacks);
    written = sonde__cli_report_close(command, &file, report);
    print(report, request);
    if (!request->no_names) {
        fflush(stdout);
        sonde__cli_hint_images(command, sonde__target_root(target), !request->symbols.no_network,
                               report);
    }
    sonde__report_destroy(report);
    exit_code = exit_code != SONDE__CLI_OK ? exit_code : written;
    return exit_code != SONDE__CLI_OK ? exit_code : unread;
}

static int show_target(const struct sonde__cli_command *command, struct sonde__target *target,
                       struct request *request)
{
    struct sonde__stacks stacks;
    int exit_code = sonde__stacks_capture(command, target, &request->wanted, &stacks);
    if (exit_code == SONDE__CLI_OK) {
        struct sonde__stacks_causes causes;
        sonde__stacks_causes_find(target, &stacks, &causes);
        exit_code = show_stacks(command, target, request, &stacks, &causes);
        sonde__stacks_causes_done(&causes);
        sonde__stacks_done(&stacks);
    }
    return exit_code;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    static struct request request = {.wanted = {.depth = SONDE__STACKS_DEPTH_DEFAULT}};
    struct sonde__target_options where = {.scripts = true};
    struct sonde__cli_operands operands;
    struct sonde__target *target = NULL;
    struct sonde_error error;
    enum sonde_status status;
    char subject[48];
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = sonde__cli_one_operand(command, &operands, "process");
    }
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = take_operand(command, &operands, &request);
    }
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (request.core != NULL) {
        where.executable = request.program;
        status = sonde__target_open_core(request.core, &where, &target, &error);
    } else {
        where.mode = request.wanted.stop ? SONDE__TARGET_STOP : SONDE__TARGET_PASSIVE;
        status = sonde__target_open_process(request.pid, &where, &target, &error);
    }
    if (status != SONDE_OK) {
        snprintf(subject, sizeof subject, "process %d", (int)request.pid);
        return sonde__cli_fail(command, request.core != NULL ? request.core : subject, status,
                               &error);
    }
    sonde__target_want_tasks(target, true);
    sonde__cli_symbols_start(&request.symbols, command, BUDGET_NS);
    exit_code = show_target(command, target, &request);
    sonde__target_close(target);
    return exit_code;
}

const struct sonde__cli_command sonde__cmd_stacks = {
    .name = "stacks",
    .summary = "the stacks of all threads of a running process, or of a core",
    .usage = "[OPTION...] PID\n[OPTION...] --core=FILE [PROGRAM]",
    .about = "Shows the stack of every thread, innermost frame first, main thread first. The\n"
             "process is not stopped and none of its system calls is interrupted: blocked\n"
             "threads are read from outside, running ones are sampled. Failures to read are\n"
             "reported.",
    .options = options,
    .examples = "  sonde stacks $(pidof nginx | cut -d' ' -f1)\n"
                "  sonde stacks --thread main-loop --json 4711\n"
                "  sonde stacks --core core.4711 /usr/bin/redis-server\n",
    .run = run,
};
