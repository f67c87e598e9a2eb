// SPDX-License-Identifier: Apache-2.0
/* In place of the commands that start or observe programs, where the port does not: each says
 * so. The commands that read files and cores are all there. */
#include <stddef.h>

#include "cmd.h"
#include "run_record.h"

/* sonde run ends with it if sonde itself failed (docs/guide/cli.md). */
enum { RUN_FAILED = 125 };

static int run_none(const struct sonde__cli_command *command, int argc, char **argv)
{
    (void)argc, (void)argv;
    sonde__cli_error(
        command, "not on this system: sonde reads no other processes here, only files and cores. "
                 "Use it on Linux (sonde help lists what runs here)");
    return SONDE__CLI_UNSUPPORTED;
}

static int run_run(const struct sonde__cli_command *command, int argc, char **argv)
{
    (void)run_none(command, argc, argv);
    return RUN_FAILED;
}

#define NONE(command, run_it)                                                                      \
    const struct sonde__cli_command sonde__cmd_##command = {                                       \
        .name = #command,                                                                          \
        .summary = "not on this system: reads processes",                                          \
        .usage = "",                                                                               \
        .about = "This command reads running programs, which sonde does on Linux only.",           \
        .run = run_it,                                                                             \
    }

NONE(run, run_run);
NONE(watch, run_none);
NONE(mark, run_none);
NONE(doctor, run_none);

/* No loader here lists the libraries of an ELF program. */
const char *sonde__cli_find_binary(const char *name)
{
    (void)name;
    return NULL;
}
