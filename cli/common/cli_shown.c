// SPDX-License-Identifier: Apache-2.0
#include "cli_shown.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base_status.h"
#include "base_text.h"
#include "cli_input.h"
#include "cli_others.h"
#include "drain_names.h"
#include "host_writer.h"
#include "spool_folder.h"

/* Maximum wait for the report of a program that has ended: names of a large program take
 * seconds. */
#define FINISH_NS 60000000000u

/* Look up names, files and lines of the frames on this machine. */
static enum sonde_status find_names(const struct sonde__cli_command *command,
                                    struct sonde__cli_symbols *options,
                                    struct sonde__report *report)
{
    struct sonde__symfile_cache *symbols;
    enum sonde_status status;
    if (options->folders.count == 0 && options->debug_root == NULL && !options->always) {
        return SONDE_OK; /* the user asked for no look-up */
    }
    sonde__cli_symbols_start(options, command, 0);
    SONDE_TRY(sonde__symfile_cache_create(&options->options, &symbols));
    status = sonde__drain_rename(report, symbols);
    sonde__symfile_cache_destroy(symbols);
    return status;
}

/* A supervisor that takes over from another one begins the report anew: wait for its first bytes.
 */
static void await_begin(const char *path)
{
    static const struct timespec pause = {0, 5000000};
    struct stat st;
    for (unsigned i = 0; i < 400 && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
                         st.st_size == 0 && !sonde__host_writer_await(path, 0, 0);
         i++) {
        nanosleep(&pause, NULL);
    }
}

/* Read a report file. If it has no end record, read it again when its writer has released it: the
 * writer may still be finishing after the program ended. Returns an exit code. */
static int read_report(const struct sonde__cli_command *command, const char *path,
                       struct sonde__report **ret_report, struct sonde__report_loss *ret_loss)
{
    struct sonde__cli_input input;
    struct sonde_error error;
    enum sonde_status status = SONDE_OK;
    bool again = false;
    await_begin(path);
    do {
        int exit_code = sonde__cli_input_read(command, path, sonde__report_begins, &input);
        if (exit_code != SONDE__CLI_OK) {
            return exit_code;
        }
        status = sonde__report_read(input.data, input.size, ret_report, ret_loss, &error);
        sonde__cli_input_done(&input);
        again = !again && status == SONDE_OK && ret_loss->unfinished && strcmp(path, "-") != 0 &&
                sonde__host_writer_await(path, sonde__report_header(*ret_report)->pid, FINISH_NS);
        if (again) {
            sonde__report_destroy(*ret_report);
            *ret_report = NULL;
        }
    } while (again);
    return status == SONDE_OK
               ? SONDE__CLI_OK
               : sonde__cli_fail(command, sonde__cli_input_name(path), status, &error);
}

int sonde__cli_report_read(const struct sonde__cli_command *command, const char *path,
                           struct sonde__cli_symbols *symbols, struct sonde__report **ret_report,
                           struct sonde__report_loss *ret_loss)
{
    struct sonde__report *report = NULL;
    enum sonde_status status;
    int exit_code = read_report(command, path, &report, ret_loss);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    if ((status = find_names(command, symbols, report)) != SONDE_OK) {
        sonde__report_destroy(report);
        return sonde__cli_fail(command, sonde__cli_input_name(path), status, NULL);
    }
    *ret_report = report;
    return SONDE__CLI_OK;
}

/* The folder and the live file of a spool folder's unfinished report. False: it is none. */
static bool find_live(const char *path, char ret_folder[SONDE__SPOOL_PATH],
                      char ret_live[SONDE__SPOOL_PATH])
{
    char run[SONDE__SPOOL_NAME];
    const char *name = sonde__base_file_name(path);
    bool is_live = sonde__spool_is_run(name, SONDE__SPOOL_LIVE, run);
    if (!is_live && !sonde__spool_is_run(name, SONDE__SPOOL_REPORT, run)) {
        return false;
    }
    int size = name == path
                   ? snprintf(ret_folder, SONDE__SPOOL_PATH, ".")
                   : snprintf(ret_folder, SONDE__SPOOL_PATH, "%.*s", (int)(name - path - 1), path);
    int live_size = snprintf(ret_live, SONDE__SPOOL_PATH, "%.*s%s" SONDE__SPOOL_LIVE,
                             (int)(name - path), path, run);
    return size < (int)SONDE__SPOOL_PATH && live_size < (int)SONDE__SPOOL_PATH &&
           access(ret_live, F_OK) == 0;
}

/* What to do about a run of a spool folder that was killed: its last stalls are in the live file
 * until a later start, or the user, has finished it. */
static void print_live(const struct sonde__cli_command *command, const char *path)
{
    char folder[SONDE__SPOOL_PATH], live[SONDE__SPOOL_PATH];
    if (!find_live(path, folder, live)) {
        return;
    }
    if (sonde__host_writer_await(live, 0, 0)) {
        sonde__cli_error(command,
                         "its watch was killed, and its last stalls are in %s: complete the report "
                         "with `sonde spool finish %s`",
                         live, folder);
    } else {
        sonde__cli_error(command, "the program still runs: its current stalls are in %s", live);
    }
}

int sonde__cli_shown(const struct sonde__cli_command *command, const char *path,
                     struct sonde__cli_symbols *symbols,
                     void (*print)(void *ctx, struct sonde__report *report,
                                   const struct sonde__report_loss *loss),
                     void *ctx)
{
    struct sonde__report *report = NULL;
    struct sonde__report_loss loss;
    char line[SONDE__REPORT_LOSS_LINE];
    int exit_code = sonde__cli_report_read(command, path, symbols, &report, &loss);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    print(ctx, report, &loss);
    if (sonde__report_header(report)->kind == SONDE__REPORT_WATCH && strcmp(path, "-") != 0) {
        sonde__cli_print_others(command, path, sonde__report_header(report)->time_unix_ns);
    }
    sonde__report_loss_line(&loss, line, sizeof line);
    sonde__report_destroy(report);
    if (line[0] != '\0') {
        sonde__cli_error(command, "%s: %s", sonde__cli_input_name(path), line);
        if (loss.unfinished) {
            print_live(command, path);
        }
        return SONDE__CLI_MALFORMED;
    }
    return exit_code;
}

static void print(void *ctx, struct sonde__report *report, const struct sonde__report_loss *loss)
{
    struct sonde__cli_show *request = ctx;
    request->view.view.loss = loss;
    sonde__cli_view_print(&request->view, report);
}

int sonde__cli_show(const struct sonde__cli_command *command,
                    const struct sonde__cli_operands *operands, struct sonde__cli_show *request)
{
    if (operands->count == 0) {
        return sonde__cli_usage_error(command, "which report? give a file, or - for stdin");
    }
    int exit_code = sonde__cli_one_operand(command, operands, "report");
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = sonde__cli_shown(command, operands->list[0], &request->symbols, print, request);
    }
    return exit_code;
}
