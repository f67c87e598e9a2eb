// SPDX-License-Identifier: Apache-2.0
/* The `sonde` program: the table of commands, and `help`. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "cli_library.h"
#include "cli_scrub.h"
#include "cmd.h"
#include "demangle.h"
#include "demangler.h"
#include "image_app.h"

static const struct sonde__cli_command help;

// clang-format off
static const struct sonde__cli_command *const commands[] = {
    &sonde__cmd_stacks,
    &sonde__cmd_run,
    &sonde__cmd_watch,
    &sonde__cmd_audit,
    &sonde__cmd_mark,
    &sonde__cmd_show,
    &sonde__cmd_diff,
    &sonde__cmd_spool,
    &sonde__cmd_upload,
    &sonde__cmd_export,
    &sonde__cmd_privacy,
    &sonde__cmd_symbolize,
    &sonde__cmd_index,
    &sonde__cmd_types,
    &sonde__cmd_blocks,
    &sonde__cmd_holders,
    &sonde__cmd_doctor,
    &help,
    &sonde__cmd_version,
    NULL,
};
// clang-format on

/* Find a command; null: unknown, which was reported. by: for the message, or null. */
static const struct sonde__cli_command *find(const struct sonde__cli_command *by, const char *name)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    sonde__cli_error(by, "unknown %s %s (sonde help lists what there is)",
                     name[0] == '-' ? "option" : "command", name);
    return NULL;
}

static int run_help(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct sonde__cli_operands operands;
    const struct sonde__cli_command *about = NULL;
    int exit_code = sonde__cli_parse(command, argc, argv, NULL, &operands);
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = sonde__cli_one_operand(command, &operands, "command");
    }
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (operands.count != 0 && (about = find(command, operands.list[0])) == NULL) {
        return SONDE__CLI_USAGE;
    }
    if (about != NULL) {
        sonde__cli_print_help(stdout, about);
    } else {
        sonde__cli_print_overview(stdout, commands);
        printf("\nExit codes (`sonde run` ends as its program does):\n%s", sonde__cli_exit_help);
    }
    return SONDE__CLI_OK;
}

static const struct sonde__cli_command help = {
    .name = "help",
    .summary = "list the commands, or show the help of one",
    .usage = "[COMMAND]",
    .about = "Lists the commands and exit codes, or shows the help of one command.",
    .run = run_help,
};

/* Path prefixes separated by colons, as in PATH. */
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
        sonde__cli_print_overview(stderr, commands);
        return SONDE__CLI_USAGE;
    }
    if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0) {
        name = "help";
    } else if (strcmp(name, "-V") == 0 || strcmp(name, "--version") == 0) {
        name = "version";
    }
    command = find(NULL, name);
    if (command == NULL || !read_app_rules("SONDE_APP", true) ||
        !read_app_rules("SONDE_NOT_APP", false) || !sonde__cli_scrub_start()) {
        return SONDE__CLI_USAGE;
    }
    int exit_code = sonde__cli_finish_output(command, command->run(command, argc - 1, argv + 1));
    sonde__cli_print_missing(command);
    return exit_code;
}
