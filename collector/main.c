// SPDX-License-Identifier: Apache-2.0
/* The `sonde-collector` program: the table of commands. */
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "converter.h"
#include "demangle.h"
#include "demangler.h"

static const struct sonde__cli_command *const commands[] = {
    &collector_cmd_serve,  &collector_cmd_project, &collector_cmd_key,
    &collector_cmd_filter, &collector_cmd_hook,    &collector_cmd_log,
    &collector_cmd_backup, &collector_cmd_restore, NULL,
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, CONVERTER_WORD) == 0 && argc == 3) { /* by symbols/sandbox.c */
        return converter_main(argv[2]);
    }
    umask(077); /* what it makes is its user's alone, also in a folder that others see */
    bool wants_help =
        strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "help") == 0;
    collector_config_options = collector_cmd_serve.options;
    sonde__cli_hold_standard_files();
    sonde__demangle_use(&sonde__cli_demangler);
    if (strcmp(name, "-V") == 0 || strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        printf("sonde-collector %s\nnames: %s\n", SONDE_VERSION, sonde__cli_demangler_text());
        return sonde__cli_finish_output(NULL, SONDE__CLI_OK);
    }
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return sonde__cli_finish_output(commands[i],
                                            commands[i]->run(commands[i], argc - 1, argv + 1));
        }
    }
    if (argc > 1 && !wants_help) {
        sonde__cli_error(NULL, "unknown command %s (sonde-collector --help lists what there is)",
                         name);
        return SONDE__CLI_USAGE;
    }
    sonde__cli_print_overview(wants_help ? stdout : stderr, commands);
    return wants_help ? SONDE__CLI_OK : SONDE__CLI_USAGE;
}
