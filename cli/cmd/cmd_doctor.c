// SPDX-License-Identifier: Apache-2.0
/* sonde doctor: checks what works on this machine, why not, and what to do. */
#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base_text.h"
#include "cli_fit.h"
#include "cli_library.h"
#include "cli_report.h"
#include "cmd.h"
#include "host_doctor.h"
#include "target_script.h"
#include "watch_run.h"

struct request {
    bool json;
    enum sonde__cli_color color;
    int32_t pid; /* 0: none */
};

static const struct sonde__cli_option options[] = {
    {"json", 'j', NULL, "JSON: an array of objects, one for each finding", sonde__cli_take_flag,
     offsetof(struct request, json)},
    {"color", 0, "WHEN", "auto (the default), always or never", sonde__cli_take_color,
     offsetof(struct request, color)},
    {0},
};

static const char *const state_names[] = {"ok", "limited", "no"};

/* --- out --- */

static void print_json(const struct sonde__findings *findings)
{
    struct sonde__report_out out;
    struct sonde__json json;
    sonde__cli_json_begin(&json, &out);
    sonde__json_array(&json, NULL);
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct sonde__finding *f = &findings->list[i];
        sonde__json_line(&json, 2);
        sonde__json_object(&json, NULL);
        sonde__json_string(&json, "name", f->name);
        sonde__json_string(&json, "state", state_names[f->state]);
        sonde__json_bool(&json, "needed", f->needed);
        sonde__json_string(&json, "reason", f->reason);
        sonde__json_string(&json, "advice", f->advice);
        sonde__json_close(&json);
    }
    sonde__json_line(&json, 0);
    sonde__cli_json_end(&json);
}

/* Columns of a finding; the advice stands below its reason. */
enum { NAME_COLUMN = 8, REASON_COLUMN = 26, ADVICE_COLUMN = 27 };

static void print_text(const struct sonde__findings *findings, bool color)
{
    static const enum sonde__report_color paint[] = {SONDE__REPORT_GREEN, SONDE__REPORT_YELLOW,
                                                     SONDE__REPORT_RED};
    struct sonde__report_out out;
    sonde__cli_fit_output();
    sonde__report_out_init(&out, sonde__cli_sink(stdout), color);
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct sonde__finding *f = &findings->list[i];
        sonde__report_out_color(&out, paint[f->state]);
        sonde__report_out_str(&out, state_names[f->state]);
        sonde__report_out_tab(&out, NAME_COLUMN);
        sonde__report_out_color(&out, SONDE__REPORT_PLAIN);
        sonde__report_out_str(&out, f->name);
        sonde__report_out_tab(&out, REASON_COLUMN);
        sonde__report_out_text(&out, f->reason);
        sonde__report_out_str(&out, "\n");
        if (f->advice[0] != '\0') {
            sonde__report_out_tab(&out, ADVICE_COLUMN);
            sonde__report_out_print(&out, "-> %s\n", f->advice);
        }
    }
    sonde__report_out_flush(&out);
}

/* Is the preloaded library of `sonde run` present and loadable? A child loads it, to keep it out of
 * this process. */
static void check_probe(struct sonde__findings *findings)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "probe of run");
    const char *path = sonde__cli_find_probe();
    int status = -1;
    if (path == NULL) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                                "libsonde-preload.so is not beside this program");
        snprintf(finding->advice, sizeof finding->advice,
                 "sonde run finds no stalls without it: install sonde whole");
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(dlopen(path, RTLD_NOW) != NULL ? 0 : 1);
    }
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
        WEXITSTATUS(status) == 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "%.200s can be loaded", path);
        return;
    }
    sonde__host_finding_set(finding, SONDE__FINDING_LIMITED, "%.200s cannot be loaded", path);
    snprintf(finding->advice, sizeof finding->advice,
             "it is of another build or damaged: install sonde again");
}

static bool is_ok(const struct sonde__findings *findings, const char *name)
{
    for (uint32_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->list[i].name, name) == 0) {
            return findings->list[i].state == SONDE__FINDING_OK;
        }
    }
    return false;
}

/* Can `sonde watch PID` see stalls of this process? Needs the earlier findings. */
static void check_watch(int32_t pid, struct sonde__findings *findings)
{
    bool readable = is_ok(findings, "rights") && is_ok(findings, "program");
    struct sonde__finding *finding = sonde__host_finding_add(findings, "sonde watch");
    int32_t supervisor;
    if (!readable) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO,
                                "its threads cannot be inspected: see rights and program");
    } else if (sonde__watch_find_supervisor(pid, &supervisor)) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK,
                                "sonde run watches it already (supervisor %d)", (int)supervisor);
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "its threads can be inspected");
    }
}

/* Is there an interpreter whose functions can be shown? No finding if there is none. */
static void check_script(int32_t pid, struct sonde__findings *findings)
{
    static const struct sonde__target_options with_scripts = {.scripts = true};
    struct sonde__target *target;
    struct sonde_error error;
    const char *why = "";
    if (!is_ok(findings, "rights") ||
        sonde__target_open_process(pid, &with_scripts, &target, &error) != SONDE_OK) {
        return;
    }
    const char *name = sonde__target_runtime(target, &why);
    if (*name != '\0') {
        sonde__host_finding_set(sonde__host_finding_add(findings, "script frames"),
                                SONDE__FINDING_OK, "%s: functions with file and line%s", name,
                                sonde__base_starts_with(name, "Python")
                                    ? ", and its lock (GIL)"
                                    : "; without line where they are compiled");
    } else if (*why != '\0') {
        sonde__host_finding_set(sonde__host_finding_add(findings, "script frames"),
                                SONDE__FINDING_LIMITED, "only native functions: %s", why);
    }
    sonde__target_close(target);
}

static int verdict(const struct sonde__findings *findings)
{
    for (uint32_t i = 0; i < findings->count; i++) {
        if (findings->list[i].needed && findings->list[i].state == SONDE__FINDING_NO) {
            return SONDE__CLI_FAILED;
        }
    }
    return SONDE__CLI_OK;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    static struct sonde__findings findings;
    struct request request = {0};
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = sonde__cli_one_operand(command, &operands, "process");
    }
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (operands.count != 0 && !sonde__cli_parse_pid(operands.list[0], &request.pid)) {
        return sonde__cli_usage_error(command, "not a process id: %s", operands.list[0]);
    }
    sonde__host_doctor_machine(&findings);
    check_probe(&findings);
    if (request.pid != 0 && !sonde__host_doctor_process(request.pid, &findings)) {
        sonde__cli_error(command, "process %d: no such process", (int)request.pid);
        return SONDE__CLI_ABSENT;
    }
    if (request.pid != 0) {
        check_watch(request.pid, &findings);
        check_script(request.pid, &findings);
    }
    if (request.json) {
        print_json(&findings);
    } else {
        print_text(&findings, sonde__cli_use_color(request.color, stdout));
    }
    return verdict(&findings);
}

const struct sonde__cli_command sonde__cmd_doctor = {
    .name = "doctor",
    .summary = "what works on this machine, what does not, why, and what to do",
    .usage = "[OPTION...] [PID]",
    .about = "Checks what sonde needs and reports for each: ok, limited (there is a way\n"
             "around) or no, with the reason and what to do. With a PID, also whether that\n"
             "process can be read. Exit code 0: all that is needed works; else 1.",
    .options = options,
    .examples = "  sonde doctor\n  sonde doctor 4711\n",
    .run = run,
};
