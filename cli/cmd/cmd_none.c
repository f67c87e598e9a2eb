// SPDX-License-Identifier: Apache-2.0
/* In place of the commands that read running programs and cores, where the port does not: each says
 * so. The commands that read files are all there. */
#include <string.h>

#include "audit_compile.h"
#include "blocks_process.h"
#include "cmd.h"
#include "run_record.h"

/* sonde run ends with it if sonde itself failed (docs/guide/cli.md). */
enum { RUN_FAILED = 125 };

static int refuse(const struct sonde__cli_command *command)
{
    sonde__cli_error(
        command,
        "not on this system: sonde reads no other processes and no cores here, only files. "
        "Use it on Linux (sonde help lists what runs here)");
    return SONDE__CLI_UNSUPPORTED;
}

static int run_none(const struct sonde__cli_command *command, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return refuse(command);
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
        .about = "This command reads running programs or cores, which sonde does on Linux only.",  \
        .run = run_it,                                                                             \
    }

NONE(stacks, run_none);
NONE(run, run_run);
NONE(watch, run_none);
NONE(mark, run_none);
NONE(holders, run_none);
NONE(doctor, run_none);

int blocks_process(const struct sonde__cli_command *command, const struct heap_place *place,
                   char *const *addresses, unsigned count, struct sonde__cli_symbols *symbols,
                   bool json)
{
    (void)place;
    (void)addresses;
    (void)count;
    (void)symbols;
    (void)json;
    return refuse(command);
}

bool heap_view_is_program(const struct heap_place *place, const char *operand)
{
    (void)place;
    (void)operand;
    return false;
}

/* No loader here lists the libraries of an ELF program. */
const char *sonde__cli_find_binary(const char *name)
{
    (void)name;
    return NULL;
}
