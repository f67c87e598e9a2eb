// SPDX-License-Identifier: Apache-2.0
/* The `sonde` program: finds the verb and runs it. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "demangle.h"
#include "demangler.h"
#include "image_app.h"

// clang-format off
const struct sonde__cli_command *const sonde__cli_commands[] = {
    &sonde__cmd_stacks,
    &sonde__cmd_run,
    &sonde__cmd_show,
    &sonde__cmd_export,
    &sonde__cmd_symbolize,
    &sonde__cmd_index,
    &sonde__cmd_types,
    &sonde__cmd_blocks,
    &sonde__cmd_holders,
    &sonde__cmd_doctor,
    &sonde__cmd_help,
    &sonde__cmd_version,
    NULL,
};
// clang-format on

const struct sonde__cli_command *sonde__cli_find(const char *name)
{
    for (size_t i = 0; sonde__cli_commands[i] != NULL; i++) {
        if (strcmp(sonde__cli_commands[i]->name, name) == 0) {
            return sonde__cli_commands[i];
        }
    }
    return NULL;
}

/* A list of path beginnings, as PATH has it. */
static bool read_app_rules(const char *variable, bool is_app)
{
    const char *at = getenv(variable);
    while (at != NULL && *at != '\0') {
        size_t size = strcspn(at, ":");
        if (size != 0 && !sonde__image_app_rule(at, size, is_app)) {
            sonde__cli_error(NULL, "%s: not an absolute path, too long or too many: %.*s", variable,
                             (int)size, at);
            return false;
        }
        at += size + (at[size] == ':');
    }
    return true;
}

int main(int argc, char **argv)
{
    const struct sonde__cli_command *command;
    const char *name = argc > 1 ? argv[1] : "";
    sonde__cli_hold_standard_files();
    sonde__demangle_use(&sonde__cli_demangler);
    if (argc < 2) {
        sonde__cli_print_overview(stderr);
        return SONDE__CLI_USAGE;
    }
    if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0) {
        name = "help";
    } else if (strcmp(name, "-V") == 0 || strcmp(name, "--version") == 0) {
        name = "version";
    }
    command = sonde__cli_find(name);
    if (command == NULL) {
        sonde__cli_error(NULL, "unknown %s %s (sonde help lists what there is)",
                         name[0] == '-' ? "option" : "command", name);
        return SONDE__CLI_USAGE;
    }
    if (!read_app_rules("SONDE_APP", true) || !read_app_rules("SONDE_NOT_APP", false)) {
        return SONDE__CLI_USAGE;
    }
    return sonde__cli_finish_output(command, command->run(command, argc - 1, argv + 1));
}
