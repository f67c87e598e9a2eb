// SPDX-License-Identifier: Apache-2.0
/* sonde upload: sends reports to a collector or to Sentry. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base_text.h"
#include "cli_fit.h"
#include "cli_input.h"
#include "cli_report.h"
#include "cli_send_symbols.h"
#include "cli_spool.h"
#include "cli_symbols.h"
#include "cli_upload.h"
#include "cmd.h"
#include "host_clock.h"
#include "host_writer.h"
#include "report_read.h"
#include "send_manifests.h"
#include "upload_sender.h"
#include "watch_spooled.h"

#define NS_PER_S 1000000000u
/* How long to wait for the writer of a report. */
#define WRITTEN_NS (10 * (uint64_t)NS_PER_S)

struct request {
    struct sonde__cli_upload upload;
    uint64_t wait_ns;
    bool keep, quiet, background, symbols, manifests;
    const char *project, *build;
};

static const struct sonde__cli_option options[] = {
    SONDE__CLI_UPLOAD_OPTIONS(struct request, upload),
    {"timeout", 't', "DUR", "give up a request after this long (default 2m; 1s to 1h)",
     sonde__cli_take_duration, offsetof(struct request, upload.timeout_ns), NS_PER_S,
     3600u * (uint64_t)NS_PER_S},
    {"wait", 'w', "DUR", "keep trying for this long (default: try each report once)",
     sonde__cli_take_duration, offsetof(struct request, wait_ns)},
    {"symbols", 0, NULL,
     "send symbols instead of reports: programs, debug files, dSYMs and index files, or folders "
     "with them; only what the collector lacks",
     sonde__cli_take_flag, offsetof(struct request, symbols)},
    {"manifests", 0, NULL,
     "send the privacy manifests of a build instead: apps (App.app), or single ones",
     sonde__cli_take_flag, offsetof(struct request, manifests)},
    {"project", 0, "NAME", "the project of --manifests", sonde__cli_take_text,
     offsetof(struct request, project)},
    {"build", 0, "NAME", "the build of --manifests", sonde__cli_take_text,
     offsetof(struct request, build)},
    {"keep", 'k', NULL, "do not remove reports that were stored; they are not sent again",
     sonde__cli_take_flag, offsetof(struct request, keep)},
    {"plain-http", 0, NULL, "allow http:// to another machine: reports can be read on the way",
     sonde__cli_take_flag, offsetof(struct request, upload.plain_http)},
    {"quiet", 'q', NULL, "print nothing but errors", sonde__cli_take_flag,
     offsetof(struct request, quiet)},
    /* internal, for sonde run: sends silently what is due */
    {"background", 0, NULL, NULL, sonde__cli_take_flag, offsetof(struct request, background)},
    {0},
};

struct job {
    const struct sonde__cli_command *command;
    const struct request *request;
    struct sonde__upload_sender sender;
    uint64_t until_ns; /* monotonic time when to give up */
};

/* --- messages --- */

static void print_wait(uint64_t wait_ns)
{
    uint64_t seconds = wait_ns / NS_PER_S;
    if (seconds >= 7200) {
        printf(" (not before %" PRIu64 " h)", seconds / 3600);
    } else if (seconds >= 120) {
        printf(" (not before %" PRIu64 " min)", seconds / 60);
    } else if (seconds > 0) {
        printf(" (not before %" PRIu64 " s)", seconds);
    }
}

static void print_outcome(const struct request *request, const struct sonde_upload_item *item)
{
    if (request->quiet || request->background) {
        return;
    }
    printf("%s  ", item->name);
    if (item->outcome == SONDE_UPLOAD_STORED) {
        printf("stored");
    } else if (item->outcome == SONDE_UPLOAD_REFUSED) {
        printf("refused: %s", item->why);
    } else {
        printf("later: %s", item->why);
        print_wait(item->wait_ns);
    }
    printf("\n");
    for (size_t i = 0; item->need[i] != NULL; i++) {
        printf("  the server lacks symbols of build-id %s\n", item->need[i]);
    }
    fflush(stdout);
}

static void end_item(void *ctx, const struct sonde_upload_item *item)
{
    print_outcome(ctx, item);
}

static void print_line(void *ctx, const char *line)
{
    const struct request *request = ctx;
    if (!request->quiet && !request->background) {
        printf("%s\n", line);
    }
}

/* Say what the default policy did if nobody knows whether the network is metered. */
static void print_network(const struct job *job)
{
    struct request request = *job->request;
    if (job->sender.is_unknown_network) {
        print_line(&request,
                   "it is not known whether the network is metered (NetworkManager does not "
                   "say), so it counts as not metered");
    }
}

/* --- waiting --- */

/* False: the deadline comes first. */
static bool wait_for(const struct job *job, uint64_t wait_ns)
{
    uint64_t now_ns = sonde__host_monotonic_ns();
    if (wait_ns == UINT64_MAX || now_ns >= job->until_ns || wait_ns > job->until_ns - now_ns) {
        return false;
    }
    struct timespec left = {.tv_sec = (time_t)(wait_ns / NS_PER_S),
                            .tv_nsec = (long)(wait_ns % NS_PER_S)};
    nanosleep(&left, NULL);
    return true;
}

/* --- one file --- */

static void no_part(void *ctx, const struct sonde__upload_state *state)
{
    (void)ctx, (void)state;
}

/* need: room for SONDE__UPLOAD_NEED_MAX pointers and a null. */
static struct sonde_upload_item item_of(const struct sonde__upload_verdict *verdict,
                                        const char *name, uint64_t wait_ns, const char **need)
{
    for (uint32_t i = 0; i < verdict->need_count; i++) {
        need[i] = verdict->need[i];
    }
    need[verdict->need_count] = NULL;
    return (struct sonde_upload_item){
        .struct_bytes = sizeof(struct sonde_upload_item),
        .name = name,
        .outcome = verdict->meaning == SONDE__UPLOAD_DONE      ? SONDE_UPLOAD_STORED
                   : verdict->meaning == SONDE__UPLOAD_REFUSAL ? SONDE_UPLOAD_REFUSED
                                                               : SONDE_UPLOAD_LATER,
        .http_status = verdict->status,
        .why = verdict->why,
        .wait_ns = wait_ns,
        .need = need,
    };
}

/* The writer may go on after the program has ended, for as long as names take. Part of a report
 * would be taken for all of it: the server has its id then, and wants no more. */
static bool is_whole(const struct job *job, const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) ||
        sonde__host_writer_await(path, 0, WRITTEN_NS)) {
        return true;
    }
    sonde__cli_error(job->command, "%s: it is still written: send it when its program has ended",
                     path);
    return false;
}

static int send_file(struct job *job, const char *path)
{
    const char *need[SONDE__UPLOAD_NEED_MAX + 1];
    const struct sonde__upload_verdict *verdict = job->sender.verdict;
    const struct sonde__upload_env *env = &job->sender.env;
    struct sonde__upload_state state = {0}, address = {0};
    struct sonde__cli_input input;
    bool again;
    if (!is_whole(job, path)) {
        return SONDE__CLI_FAILED;
    }
    int exit_code = sonde__cli_input_read(job->command, path, sonde__report_begins, &input);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    do {
        sonde__upload_report(&job->sender, input.data, input.size, &state, no_part, NULL);
        sonde__upload_address_end(&address, verdict, env->unix_s(env->ctx), env->random(env->ctx));
        bool is_over =
            verdict->meaning == SONDE__UPLOAD_DONE || verdict->meaning == SONDE__UPLOAD_REFUSAL;
        uint64_t wait_ns = is_over ? 0 : address.wait_s * (uint64_t)NS_PER_S;
        const struct sonde_upload_item item =
            item_of(verdict, sonde__cli_input_name(path), wait_ns, need);
        print_outcome(job->request, &item);
        again = !is_over && wait_for(job, wait_ns);
    } while (again);
    sonde__cli_input_done(&input);
    return verdict->meaning == SONDE__UPLOAD_DONE ? SONDE__CLI_OK : SONDE__CLI_FAILED;
}

/* --- a spool folder --- */

/* First finish killed runs, whose reports matter most. */
static int finish(const struct job *job, const char *folder)
{
    static struct sonde__cli_symbols symbols;
    struct sonde_error error = {0};
    struct request request = *job->request;
    sonde__cli_symbols_start(&symbols, job->command, 0);
    symbols.fetch.network = false;
    enum sonde_status status = sonde__watch_spool_finish(
        folder, &symbols.options, (struct sonde__report_lines){print_line, &request}, &error);
    return status == SONDE_OK ? SONDE__CLI_OK
                              : sonde__cli_fail(job->command, folder, status, &error);
}

static int send_folder(struct job *job, const char *folder)
{
    struct sonde_upload_result result;
    struct sonde_error error = {0};
    uint32_t refused = 0;
    bool again;
    int exit_code = finish(job, folder);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    job->sender.options.folder = folder;
    job->sender.is_hasty = !job->request->background;
    bool is_said = false;
    do {
        enum sonde_status status = sonde__upload_pass(&job->sender, &result, &error);
        if (status == SONDE_BUSY && job->request->background) {
            return SONDE__CLI_OK; /* the other sender sends ours, too */
        }
        if (status != SONDE_OK) {
            return sonde__cli_fail(job->command, folder, status, &error);
        }
        refused += result.refused;
        if (!is_said && result.stored + result.later + result.refused != 0) {
            print_network(job);
            is_said = true;
        }
        again = result.wait_ns != UINT64_MAX && wait_for(job, result.wait_ns);
    } while (again);
    bool is_left = result.wait_ns != UINT64_MAX || result.later != 0;
    if (result.stored == 0 && result.why[0] != '\0' && result.later + result.refused == 0) {
        sonde__cli_error(job->command, "%s: nothing was sent: %s", folder, result.why);
        is_left = true;
    }
    return is_left || refused != 0 ? SONDE__CLI_FAILED : SONDE__CLI_OK;
}

static int send_one(struct job *job, const char *operand)
{
    static char folder[SONDE__SPOOL_PATH];
    char why[SONDE__UPLOAD_WHY];
    struct stat st;
    if (operand != NULL && strcmp(operand, "auto") != 0 &&
        (stat(operand, &st) != 0 || !S_ISDIR(st.st_mode))) {
        if (!sonde__upload_is_allowed(&job->sender, why)) {
            sonde__cli_error(job->command, "%s: not sent: %s", operand, why);
            return SONDE__CLI_FAILED;
        }
        print_network(job);
        return send_file(job, operand);
    }
    int exit_code = sonde__cli_spool_path(job->command, operand, folder);
    return exit_code == SONDE__CLI_OK ? send_folder(job, folder) : exit_code;
}

/* Null, or what is wrong. */
static const char *wrong_with(const struct request *request,
                              const struct sonde__cli_operands *operands)
{
    if (request->symbols && request->manifests) {
        return "--symbols and --manifests exclude each other";
    }
    if (!request->manifests && (request->project != NULL || request->build != NULL)) {
        return "--project and --build are for --manifests";
    }
    if (request->manifests && (request->project == NULL || request->build == NULL)) {
        return "--manifests: --project and --build are needed";
    }
    if (operands->count == 0 && (request->symbols || request->manifests)) {
        return request->symbols ? "--symbols: which files or folders?"
                                : "--manifests: which apps or manifests?";
    }
    return NULL;
}

static int send_files(const struct sonde__cli_command *command, const struct request *request,
                      const struct sonde_upload_options *how,
                      const struct sonde__cli_operands *operands)
{
    return request->symbols ? sonde__cli_send_symbols(command, how, operands, request->quiet)
                            : sonde__cli_send_manifests(command, how, request->project,
                                                        request->build, operands, request->quiet);
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {0};
    struct sonde__cli_operands operands;
    struct sonde_error error = {0};
    struct sonde_upload_options how;
    int exit_code = sonde__cli_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    const char *wrong = wrong_with(&request, &operands);
    if (wrong != NULL) {
        return sonde__cli_usage_error(command, "%s", wrong);
    }
    sonde__cli_fit_output();
    exit_code = sonde__cli_upload_options(command, &request.upload, &how);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (request.symbols || request.manifests) {
        return send_files(command, &request, &how, &operands);
    }
    if (request.background) {
        (void)!nice(10); /* nobody is waiting */
    }
    how.keep = request.keep;
    how.on_end = end_item;
    how.ctx = &request;
    struct job job = {.command = command,
                      .request = &request,
                      .until_ns = sonde__host_monotonic_ns() + request.wait_ns};
    enum sonde_status status =
        sonde__upload_sender_make(&how, &sonde__upload_real_env, &job.sender, &error);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, how.to, status, &error);
    }
    exit_code = SONDE__CLI_OK;
    for (unsigned i = 0; i == 0 || i < operands.count; i++) {
        int one = send_one(&job, operands.count > 0 ? operands.list[i] : NULL);
        exit_code = exit_code == SONDE__CLI_OK ? one : exit_code;
    }
    sonde__upload_sender_done(&job.sender);
    return exit_code;
}

const struct sonde__cli_command sonde__cmd_upload = {
    .name = "upload",
    .summary = "send reports to a collector, or to Sentry",
    .usage = "--to ADDRESS [OPTION...] [FILE|DIR]...\n--to ADDRESS --symbols FILE|DIR...\n"
             "--to ADDRESS --manifests --project NAME --build NAME APP...",
    .about = "Sends the reports of a spool folder (sonde run --spool), or single files.\n"
             "ADDRESS is the URL of a collector (https://collector.example/), or a Sentry\n"
             "DSN (https://KEY@host/PROJECT), which gets an event for each stall. Without\n"
             "DIR, or with auto, the folder is your own, as for sonde spool.\n"
             "\n"
             "A report of the folder is removed when the server has confirmed that it is\n"
             "stored. Otherwise it stays, and a file next to it has the number and time of\n"
             "tries. This command tries all of them at once, unless the server has asked to\n"
             "wait. A report that a server refuses permanently (400, 413) is not sent again.\n"
             "A report that arrives twice is stored once. Single files are never removed.\n"
             "\n"
             "The key of a collector is read from --key-file, or from SONDE_UPLOAD_KEY in\n"
             "the environment. Nothing is sent if NetworkManager, or macOS, reports that the\n"
             "network is metered, unless --policy is always; if that is unknown, it counts\n"
             "as not metered. http:// is for this machine only, unless --plain-http allows it.\n"
             "\n"
             "With --symbols, symbol files are sent to a collector, which names the reports of\n"
             "stripped programs with them: programs, debug files, dSYM bundles, index files\n"
             "(sonde index). It is asked first which build-ids it lacks. The key needs the\n"
             "role write.\n"
             "\n"
             "With --manifests, privacy manifests are sent to a collector, which then says\n"
             "what the build calls and does not declare: those of an app (App.app) and of\n"
             "each framework in it, as for sonde privacy. The key needs the role write.\n"
             "\n"
             "Reports have names of functions and files: see PRIVACY in sonde-upload(1).",
    .options = options,
    .examples = "  sonde upload --to https://collector.example/ --key-file key\n"
                "  sonde upload --to https://KEY@sentry.example/3 stalls.sonde\n"
                "  sonde upload --to https://collector.example/ --wait 5m auto\n"
                "  sonde upload --to https://collector.example/ --key-file key --symbols build/\n"
                "  sonde upload --to https://collector.example/ --key-file key --manifests \\\n"
                "    --project web --build 1.10 App.app\n",
    .run = run,
};
