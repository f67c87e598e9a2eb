// SPDX-License-Identifier: Apache-2.0
/* sonde-collector backup and restore: copies of the data folder. */
#include <inttypes.h>
#include <string.h>

#include "cmd.h"
#include "copy.h"

struct request {
    const char *data;
};

static const struct sonde__cli_option options[] = {
    COLLECTOR_OPTION_CONFIG, COLLECTOR_OPTION_DATA(struct request, data), {0}};

/* Copy, and check the copy. A backup has its files as links where it can. */
static int copy(const struct sonde__cli_command *command, const char *from, const char *to,
                bool is_backup)
{
    struct sonde_error error = {0};
    struct copy_counts counts;
    enum sonde_status status = copy_data(from, to, is_backup, &error);
    if (status == SONDE_OK && is_backup) {
        status = copy_removed(from, to, &error);
    }
    if (status == SONDE_OK) {
        status = copy_check(to, &counts, &error);
    }
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, NULL, status, &error);
    }
    printf("%" PRIu64 " reports, %" PRIu64 " files, all sound: %s\n", counts.reports, counts.files,
           to);
    return SONDE__CLI_OK;
}

/* Read the one operand. Returns SONDE__CLI_GO_ON or an exit code. */
static int read_folder(const struct sonde__cli_command *command, int argc, char **argv,
                       struct request *request, const char **ret_folder)
{
    struct sonde__cli_operands operands;
    int exit_code = collector_parse(command, argc, argv, request, &operands);
    if (exit_code == SONDE__CLI_GO_ON && operands.count != 1) {
        exit_code = sonde__cli_usage_error(command, "takes one folder");
    }
    if (exit_code == SONDE__CLI_GO_ON) {
        *ret_folder = operands.list[0];
    }
    return exit_code;
}

static int back_up(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.data = COLLECTOR_DATA};
    const char *folder;
    int exit_code = read_folder(command, argc, argv, &request, &folder);
    return exit_code == SONDE__CLI_GO_ON ? copy(command, request.data, folder, true) : exit_code;
}

static int restore(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.data = COLLECTOR_DATA};
    struct sonde_error error = {0};
    struct copy_counts counts;
    const char *folder;
    int exit_code = read_folder(command, argc, argv, &request, &folder);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    enum sonde_status status = copy_check(folder, &counts, &error); /* before anything is made */
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, NULL, status, &error);
    }
    return copy(command, folder, request.data, false);
}

const struct sonde__cli_command collector_cmd_backup = {
    .name = "backup",
    .summary = "copy the data folder while the server runs",
    .usage = "[--data=DIR] FOLDER",
    .about = "Copies the data folder to a new folder, and checks the copy: the database, and the\n"
             "file of each report. All that was acknowledged before the command is in it. A\n"
             "server may run meanwhile, and also with a copy as its data folder. On the same\n"
             "file system the files of reports are hard links, so copy the folder away.\n",
    .options = options,
    .examples = "  sonde-collector backup /backup/$(date +%F)\n",
    .environment = "SONDE_COLLECTOR_",
    .run = back_up,
};

const struct sonde__cli_command collector_cmd_restore = {
    .name = "restore",
    .summary = "check a backup, and make a data folder of it",
    .usage = "[--data=DIR] FOLDER",
    .about = "Checks a backup, then copies it to the data folder, which must be empty or not\n"
             "there, and checks that. A damaged backup is refused.\n",
    .options = options,
    .examples = "  sonde-collector restore --data /var/lib/sonde-collector /backup/2026-11-29\n",
    .environment = "SONDE_COLLECTOR_",
    .run = restore,
};
