// SPDX-License-Identifier: Apache-2.0
#include "cli_reports.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_input.h"
#include "cli_shown.h"
#include "mem_heap.h"

static int add_file(struct sonde__cli_reports *reports, const struct sonde__cli_command *command,
                    const char *path, struct sonde__cli_symbols *symbols)
{
    struct sonde__report_loss loss;
    char line[SONDE__REPORT_LOSS_LINE];
    uint32_t at = reports->count;
    if (at == SONDE__CLI_REPORTS_MAX) {
        sonde__cli_error(command, "%s: more than %d reports", path, SONDE__CLI_REPORTS_MAX);
        return SONDE__CLI_USAGE;
    }
    int exit_code = sonde__cli_report_read(command, path, symbols, &reports->reports[at], &loss);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    reports->count++;
    reports->names[at] = sonde__mem_copy_string(sonde__cli_input_name(path));
    if (reports->names[at] == NULL) {
        return sonde__cli_fail(command, path, SONDE_MEMORY, NULL);
    }
    sonde__report_loss_line(&loss, line, sizeof line);
    if (line[0] != '\0') {
        sonde__cli_error(command, "%s: %s", path, line);
        reports->is_damaged = true;
    }
    return SONDE__CLI_OK;
}

/* A regular file that starts as a report does, and no live file of a spool: when a run ends, its
 * report has the live file's content. */
static bool is_report(const char *path)
{
    static char begin[SONDE__REPORT_BEGIN_BYTES];
    struct stat st;
    size_t length = strlen(path);
    bool is_live = length > 5 && strcmp(path + length - 5, ".live") == 0;
    if (is_live || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        return false;
    }
    FILE *file = fopen(path, "re");
    size_t size = file != NULL ? fread(begin, 1, sizeof begin, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return size != 0 && sonde__report_begins(begin, size);
}

static int add_folder(struct sonde__cli_reports *reports, const struct sonde__cli_command *command,
                      const char *folder, struct sonde__cli_symbols *symbols)
{
    struct dirent **entries = NULL;
    int exit_code = SONDE__CLI_OK, count = scandir(folder, &entries, NULL, alphasort);
    uint32_t before = reports->count;
    if (count < 0) {
        return sonde__cli_fail_os(command, folder, errno);
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (exit_code == SONDE__CLI_OK && length < (int)sizeof path && is_report(path)) {
            exit_code = add_file(reports, command, path, symbols);
        }
        free(entries[i]);
    }
    free(entries);
    if (exit_code == SONDE__CLI_OK && reports->count == before) {
        sonde__cli_error(command, "%s: no report is in this folder", folder);
        exit_code = SONDE__CLI_ABSENT;
    }
    return exit_code;
}

int sonde__cli_reports_add(struct sonde__cli_reports *reports,
                           const struct sonde__cli_command *command, const char *path,
                           struct sonde__cli_symbols *symbols)
{
    struct stat st;
    bool is_folder = strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    return is_folder ? add_folder(reports, command, path, symbols)
                     : add_file(reports, command, path, symbols);
}

void sonde__cli_reports_done(struct sonde__cli_reports *reports)
{
    for (uint32_t i = 0; i < reports->count; i++) {
        sonde__report_destroy(reports->reports[i]);
        sonde__mem_free(reports->names[i]);
    }
    reports->count = 0;
}

int sonde__cli_gate_code(const struct sonde__findings_gate *gate, bool damaged)
{
    return gate->found != 0    ? SONDE__CLI_FOUND
           : damaged           ? SONDE__CLI_MALFORMED
           : gate->unsure != 0 ? SONDE__CLI_INCOMPLETE
                               : SONDE__CLI_OK;
}
