// SPDX-License-Identifier: Apache-2.0
/* sonde mark: begin a phase of a running audit. */
#include <string.h>

#include "audit_mark.h"
#include "cmd.h"
#include "target.h"

static const struct sonde__cli_option options[] = {{0}};

static int mark(const struct sonde__cli_command *command, int32_t pid, const char *name)
{
    const struct sonde__target_options how = {0};
    struct sonde__target *target;
    struct sonde_error error = {0};
    char place[32];
    snprintf(place, sizeof place, "process %d", (int)pid);
    enum sonde_status status = sonde__target_open_process(pid, &how, &target, &error);
    if (status == SONDE_OK) {
        status = sonde__audit_mark(target, name, &error);
        sonde__target_close(target);
    }
    return status == SONDE_OK ? SONDE__CLI_OK : sonde__cli_fail(command, place, status, &error);
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct sonde__cli_operands operands;
    int32_t pid;
    int exit_code = sonde__cli_parse(command, argc, argv, NULL, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (operands.count != 2) {
        return sonde__cli_usage_error(command, "takes a process id and the name of a phase");
    }
    if (!sonde__cli_parse_pid(operands.list[0], &pid)) {
        return sonde__cli_usage_error(command, "not a process id: %s", operands.list[0]);
    }
    size_t size = strlen(operands.list[1]);
    if (size == 0 || size >= SONDE__AUDIT_PHASE_NAME) {
        return sonde__cli_usage_error(command, "the name of a phase has 1 to %d bytes",
                                      SONDE__AUDIT_PHASE_NAME - 1);
    }
    return mark(command, pid, operands.list[1]);
}

const struct sonde__cli_command sonde__cmd_mark = {
    .name = "mark",
    .summary = "begin a phase of a running audit (sonde run --audit)",
    .usage = "PID NAME",
    .about = "Begins the phase NAME in the program PID, which sonde run --audit runs. Calls\n"
             "that begin after this command has ended count in the phase, or in a later one.\n"
             "Rules may be about one phase (phase = NAME), or about the time before it (phase\n"
             "= before NAME). A run has at most 15 changes of phase; the name of the current\n"
             "phase changes nothing.\n"
             "\n"
             "Other ways: sonde_watch_phase() in the program, and SIGUSR1 to the supervisor\n"
             "(sonde run --phase-signal NAME).",
    .options = options,
    .examples = "  sonde mark 4711 consent\n",
    .run = run,
};
