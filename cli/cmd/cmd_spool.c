// SPDX-License-Identifier: Apache-2.0
/* sonde spool: manages the reports of sonde run --spool. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base_text.h"
#include "cli_fit.h"
#include "cli_report.h"
#include "cli_spool.h"
#include "cli_symbols.h"
#include "cmd.h"
#include "host_folder.h"
#include "host_run.h"
#include "spool_list.h"
#include "upload_folder.h"
#include "upload_sender.h"
#include "watch_spooled.h"

#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u

struct request {
    bool json;
};

static const struct sonde__cli_option options[] = {
    {"json", 'j', NULL, "list: JSON, one array", sonde__cli_take_flag,
     offsetof(struct request, json)},
    {0},
};

/* One line of the list: a run. */
struct line {
    const char *state;
    uint64_t begin_unix_ns;
    const char *program;
    int pid;
    uint64_t stalls, fatal, longest_ns;
    bool is_of_calls; /* then only: */
    uint64_t calls;
};

static const char *state_text(enum sonde__spool_state state)
{
    static const char *const texts[] = {[SONDE__SPOOL_OVER] = "over",
                                        [SONDE__SPOOL_RUNNING] = "running",
                                        [SONDE__SPOOL_KILLED] = "killed",
                                        [SONDE__SPOOL_DAMAGED] = "damaged"};
    return texts[state];
}

static void add_stalls(struct line *line, const struct sonde__report *report, bool live)
{
    for (uint32_t i = 0; i < sonde__report_stall_count(report); i++) {
        const struct sonde__report_stall *stall = sonde__report_stall(report, i);
        line->stalls += !live || stall->open; /* ended stalls are counted in the report */
        line->fatal += stall->fatal;
        line->longest_ns =
            stall->duration_ns > line->longest_ns ? stall->duration_ns : line->longest_ns;
    }
    for (uint32_t i = 0; i < sonde__report_stall_count_count(report); i++) {
        const struct sonde__report_stall_count *count = sonde__report_stall_count_at(report, i);
        line->stalls += count->count;
        line->longest_ns =
            count->longest_ns > line->longest_ns ? count->longest_ns : line->longest_ns;
    }
}

static void add_calls(struct line *line, const struct sonde__report *report)
{
    uint32_t kind = sonde__report_header(report)->kind;
    line->is_of_calls = kind == SONDE__REPORT_CALLS || kind == SONDE__REPORT_AUDIT;
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        line->calls += sonde__report_call(report, i)->count;
    }
}

static struct line line_of(const struct sonde__spool_entry *entry)
{
    const struct sonde__report *report = entry->report != NULL ? entry->report : entry->live;
    struct line line = {.state = state_text(entry->state), .program = ""};
    if (report == NULL) {
        return line;
    }
    const struct sonde__report_header *header = sonde__report_header(report);
    line.begin_unix_ns = header->time_unix_ns;
    line.program = sonde__base_file_name(header->executable);
    line.pid = header->pid;
    add_calls(&line, entry->live != NULL ? entry->live : report);
    if (entry->report != NULL) {
        add_stalls(&line, entry->report, false);
    }
    if (entry->live != NULL) {
        add_stalls(&line, entry->live, true);
    }
    return line;
}

static bool is_counts(const struct sonde__spool_entry *entry)
{
    return strcmp(entry->name, SONDE__SPOOL_COUNTS) == 0;
}

static const char *state_of(const struct sonde__spool_entry *entry, const struct line *line)
{
    bool is_damaged = entry->state == SONDE__SPOOL_DAMAGED;
    return is_counts(entry) && !is_damaged ? "removed" : line->state;
}

struct listing {
    struct sonde__report_out out;
    struct sonde__json json;
    int32_t folder;
    int64_t now_s; /* of the machine's clock, as the states have it */
};

/* What the sender has noted of the report. False: nothing, it was never tried. */
static bool read_upload(const struct listing *listing, const struct sonde__spool_entry *entry,
                        struct sonde__upload_state *ret_state)
{
    char name[SONDE__SPOOL_NAME + sizeof SONDE__UPLOAD_SIDECAR];
    const char *end = strrchr(entry->name, '.');
    int length = end != NULL ? (int)(end - entry->name) : (int)strlen(entry->name);
    snprintf(name, sizeof name, "%.*s" SONDE__UPLOAD_SIDECAR, length, entry->name);
    sonde__upload_load(listing->folder, name, ret_state);
    return ret_state->to[0] != '\0';
}

static void print_upload(struct sonde__report_out *out, const struct sonde__upload_state *state,
                         int64_t now_s)
{
    uint32_t left_s = sonde__upload_left_s(state, now_s);
    if (state->stage == SONDE__UPLOAD_SENT) {
        sonde__report_out_print(out, "; sent to %s", state->to);
        return;
    }
    if (state->stage == SONDE__UPLOAD_REFUSED_FOR_GOOD) {
        sonde__report_out_print(out, "; refused by %s: %s", state->to, state->why);
        return;
    }
    sonde__report_out_print(out, "; not sent to %s after %" PRIu32 " tr%s", state->to, state->tries,
                            state->tries == 1 ? "y" : "ies");
    if (left_s > 0) {
        sonde__report_out_print(out, ", the next in %s",
                                sonde__report_duration((uint64_t)left_s * NS_PER_S).text);
    }
    if (state->why[0] != '\0') {
        sonde__report_out_print(out, ": %s", state->why);
    }
}

static void print_json_upload(struct sonde__json *json, const struct sonde__upload_state *state,
                              int64_t now_s)
{
    static const char *const stages[] = {[SONDE__UPLOAD_WAITING] = "waiting",
                                         [SONDE__UPLOAD_REFUSED_FOR_GOOD] = "refused",
                                         [SONDE__UPLOAD_SENT] = "sent"};
    sonde__json_object(json, "upload");
    sonde__json_string(json, "state", stages[state->stage]);
    sonde__json_string(json, "to", state->to);
    sonde__json_uint(json, "tries", state->tries);
    sonde__json_uint(json, "next_s", sonde__upload_left_s(state, now_s));
    sonde__json_string(json, "why", state->why);
    sonde__json_close(json);
}

static int print_entry(void *ctx, const struct sonde__spool_entry *entry)
{
    struct listing *listing = ctx;
    struct sonde__report_out *out = &listing->out;
    struct sonde__upload_state upload;
    struct line line = line_of(entry);
    char number[64];
    snprintf(number, sizeof number, "%-34s %-8s %5" PRIu64 "%s", entry->name,
             state_of(entry, &line), line.is_of_calls ? line.calls : line.stalls,
             line.is_of_calls   ? line.calls == 1 ? " call  " : " calls "
             : line.stalls == 1 ? " stall "
                                : " stalls");
    sonde__report_out_str(out, number);
    if (line.longest_ns != 0) {
        sonde__report_out_print(out, ", longest %s", sonde__report_duration(line.longest_ns).text);
    }
    if (line.fatal != 0) {
        snprintf(number, sizeof number, ", %" PRIu64 " fatal", line.fatal);
        sonde__report_out_str(out, number);
    }
    if (line.program[0] != '\0') {
        sonde__report_out_print(out, "  %s", line.program);
        snprintf(number, sizeof number, " (%d)", line.pid);
        sonde__report_out_str(out, number);
    }
    if (read_upload(listing, entry, &upload)) {
        print_upload(out, &upload, listing->now_s);
    }
    sonde__report_out_str(out, "\n");
    return out->stopped;
}

static int print_json_entry(void *ctx, const struct sonde__spool_entry *entry)
{
    struct listing *listing = ctx;
    struct sonde__json *json = &listing->json;
    struct sonde__upload_state upload;
    struct line line = line_of(entry);
    sonde__json_object(json, NULL);
    sonde__json_string(json, "file", entry->name);
    sonde__json_string(json, "state", state_of(entry, &line));
    sonde__json_uint(json, "size_bytes", entry->size_bytes);
    if (entry->report != NULL || entry->live != NULL) {
        sonde__json_time(json, "time", line.begin_unix_ns);
        sonde__json_string(json, "executable", line.program);
        sonde__json_int(json, "pid", line.pid);
        if (line.is_of_calls) {
            sonde__json_uint(json, "calls", line.calls);
        }
        sonde__json_uint(json, "stalls", line.stalls);
        sonde__json_uint(json, "fatal", line.fatal);
        sonde__json_uint(json, "longest_ns", line.longest_ns);
    }
    if (read_upload(listing, entry, &upload)) {
        print_json_upload(json, &upload, listing->now_s);
    }
    sonde__json_close(json);
    return 0;
}

static int list(const struct sonde__cli_command *command, const struct request *request,
                const char *path)
{
    struct listing listing = {.now_s = (int64_t)time(NULL)};
    struct sonde_error error = {0};
    enum sonde_status status = sonde__host_folder_open(path, false, &listing.folder, &error);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, path, status, &error);
    }
    if (request->json) {
        sonde__cli_json_begin(&listing.json, &listing.out);
        sonde__json_array(&listing.json, NULL);
        status = sonde__spool_list(listing.folder, print_json_entry, &listing);
        sonde__json_close(&listing.json);
        sonde__report_out_str(&listing.out, "\n");
    } else {
        sonde__cli_fit_output();
        sonde__report_out_init(&listing.out, sonde__cli_sink(stdout), false);
        status = sonde__spool_list(listing.folder, print_entry, &listing);
    }
    sonde__report_out_flush(&listing.out);
    sonde__host_close(listing.folder);
    return status == SONDE_OK ? SONDE__CLI_OK : sonde__cli_fail(command, path, status, NULL);
}

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    printf("%s\n", line);
}

static int finish(const struct sonde__cli_command *command, const char *path)
{
    static struct sonde__cli_symbols symbols;
    struct sonde_error error = {0};
    sonde__cli_symbols_start(&symbols, command, 0);
    symbols.fetch.network = false;
    sonde__cli_fit_output();
    enum sonde_status status = sonde__watch_spool_finish(
        path, &symbols.options, (struct sonde__report_lines){print_line, NULL}, &error);
    return status == SONDE_OK ? SONDE__CLI_OK : sonde__cli_fail(command, path, status, &error);
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    static char path[SONDE__SPOOL_PATH];
    struct request request = {0};
    struct sonde__cli_operands operands;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    const char *verb = operands.count > 0 ? operands.list[0] : "";
    bool finishes = strcmp(verb, "finish") == 0;
    if (!finishes && strcmp(verb, "list") != 0) {
        return sonde__cli_usage_error(command, "list or finish? not %s",
                                      verb[0] != '\0' ? verb : "nothing");
    }
    if (operands.count > 2) {
        return sonde__cli_usage_error(command, "one folder at a time, not also %s",
                                      operands.list[2]);
    }
    if (finishes && request.json) {
        return sonde__cli_usage_error(command, "--json is of list");
    }
    exit_code = sonde__cli_spool_path(command, operands.count > 1 ? operands.list[1] : NULL, path);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    return finishes ? finish(command, path) : list(command, &request, path);
}

const struct sonde__cli_command sonde__cmd_spool = {
    .name = "spool",
    .summary = "list the reports that sonde run --spool keeps, or finish those of killed runs",
    .usage = "list [--json] [DIR]\nfinish [DIR]",
    .about = "Each run of `sonde run --spool DIR` with a stall leaves a report in the folder,\n"
             "which `sonde show` shows. During a stall each sample is written to a file of the\n"
             "folder (RUN.live), so it survives a kill of the program, the supervisor, or\n"
             "both. The next run finishes the reports of killed runs: a stall that had not\n"
             "ended is fatal if the program has ended. `finish` does so immediately.\n"
             "A run with --record or --audit always leaves a report; what was recorded so\n"
             "far is written to RUN.live twice a second.\n"
             "\n"
             "Without DIR, or with auto, the folder is $XDG_STATE_HOME/sonde/spool, else\n"
             "~/.local/state/sonde/spool; on macOS ~/Library/Caches/sonde/spool. Only its\n"
             "owner may be able to write there.\n"
             "\n"
             "The folder keeps 64 reports, 32 MiB and 14 days, and 8 MiB of a run; further\n"
             "stalls are counted, with total and longest duration. Removed reports are counted\n"
             "in counts.sonde in the same way.\n"
             "The report of a finished run may be removed with rm.",
    .options = options,
    .examples = "  sonde run --spool auto -- ./server\n  sonde spool list\n"
                "  sonde show ~/.local/state/sonde/spool/20261123T164012Z-4242.sonde\n",
    .run = run,
};
