// SPDX-License-Identifier: Apache-2.0
#include "watch_output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch_regs.h"
#include "base_text.h"
#include "drain_origin.h"
#include "entry_equal.h"
#include "entry_names.h"
#include "entry_record.h"
#include "host_process.h"
#include "host_run.h"
#include "host_self.h"
#include "host_writer.h"
#include "report_fingerprint.h"
#include "report_fit.h"
#include "report_view.h"
#include "report_write.h"
#include "sampler_child.h"
#include "target.h"
#include "watch_spooled.h"

struct sonde__watch_output {
    struct sonde__report *report; /* stalls and dictionaries of the whole watch */
    struct sonde__entry_names *names;
    const struct sonde__watch_options *options;
    struct sonde__report_writer *writer; /* the file; null: none */
    struct sonde__report_writer *spool;  /* the report in the spool folder; null: none */
    struct sonde__report_header header;
    struct sonde__drain_origin origin; /* texts of the header */
    int32_t parent_pid;
    uint64_t stalls;
    uint64_t written; /* those reported one by one */
    struct sonde__entry_equals equals;
    uint32_t forgotten;           /* stalls in reports before this one */
    bool stacks;                  /* stacks were written, too */
    int write_error;              /* of the report: errno */
    bool journal;                 /* stderr goes to the journal; then: */
    bool in_line;                 /* the last text had no newline */
    bool of_stall;                /* it is about a stall */
    struct sonde__report_fit fit; /* of text to a terminal */
    char who[SONDE__WATCH_WHO];   /* "NAME[PID]: " where programs are followed, else "" */
};

static enum sonde_status write_report(void *ctx, const void *bytes, size_t size)
{
    struct sonde__watch_output *output = ctx;
    if (sonde__host_write_all(output->options->report_fd, bytes, size)) {
        return SONDE_OK;
    }
    output->write_error = errno;
    return SONDE_OS;
}

static enum sonde_status write_spool(void *ctx, const void *bytes, size_t size)
{
    struct sonde__watch_output *output = ctx;
    struct sonde__watch_spooled *spool = output->options->spooled;
    if (sonde__host_write_all(spool->report_fd, bytes, size)) {
        return SONDE_OK;
    }
    spool->error = errno;
    return SONDE_OS;
}

static const char *command_of(const struct sonde__watch_output *output)
{
    return output->options->command != NULL ? output->options->command : "run";
}

static void print_lost_report(struct sonde__watch_output *output)
{
    const char *name = output->options->report_name;
    sonde__watch_output_print(output, "%s: the report could not be written: %s",
                              name != NULL ? name : "?", strerror(output->write_error));
}

/* The parent of a followed program may read its stderr, so text goes to the stderr of the first
 * program while that lives. */
static bool write_bytes(struct sonde__watch_output *output, const char *bytes, size_t size)
{
    int32_t root = output->options->root;
    return (root != 0 && sonde__host_write_stderr_of(root, bytes, size)) ||
           sonde__host_write_all(2, bytes, size);
}

/* For the journal, each line begins with its priority: warning for a stall, else notice. */
static bool write_stderr(void *ctx, const char *bytes, size_t size)
{
    struct sonde__watch_output *output = ctx;
    bool done = true;
    while (output->journal && size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t line = end != NULL ? (size_t)(end - bytes) + 1 : size;
        if (!output->in_line) {
            done = write_bytes(output, output->of_stall ? "<4>" : "<5>", 3) && done;
        }
        done = write_bytes(output, bytes, line) && done;
        output->in_line = end == NULL;
        bytes += line;
        size -= line;
    }
    return (size == 0 || write_bytes(output, bytes, size)) && done;
}

/* Standard error, with lines fitted to the terminal; that of another program is used as it is. */
static struct sonde__report_sink fitted_stderr(struct sonde__watch_output *output)
{
    const struct sonde__watch_options *o = output->options;
    uint32_t columns = o->root == 0 && !o->wide ? sonde__host_terminal_columns(2) : 0;
    sonde__report_fit_begin(&output->fit, (struct sonde__report_sink){write_stderr, output},
                            columns);
    return sonde__report_fit_sink(&output->fit);
}

static void print_fitted(struct sonde__watch_output *output, const char *text)
{
    struct sonde__report_sink sink = fitted_stderr(output);
    (void)sink.write(sink.ctx, text, strlen(text));
}

void sonde__watch_who(const char *program, int32_t pid, char ret_who[SONDE__WATCH_WHO])
{
    snprintf(ret_who, SONDE__WATCH_WHO, "%.255s[%d]: ", sonde__base_file_name(program), (int)pid);
    for (char *c = ret_who; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        *c = byte < ' ' || byte == 127 ? '?' : *c; /* no control characters for the terminal */
    }
}

static void fill_who(struct sonde__watch_output *output, int32_t pid)
{
    const char *program = output->options->program;
    if ((output->options->follow && output->options->plugin == NULL) ||
        output->options->root != 0) {
        sonde__watch_who(program != NULL ? program : output->options->argv[0], pid, output->who);
    }
}

static void fill_header(struct sonde__watch_output *output, int32_t pid, uint32_t kind)
{
    static char executable[4096];
    (void)sonde__host_executable(pid, executable, sizeof executable);
    output->header = (struct sonde__report_header){
        .kind = kind,
        .tool = output->options->tool,
        .executable = executable[0] == '\0' && output->options->argv != NULL
                          ? output->options->argv[0]
                          : executable,
        .arch = sonde__arch_name(SONDE__ARCH_HOST),
        .source = output->options->on_stall != NULL ? "self" : command_of(output),
        .pid = pid,
        .threshold_ns = output->options->plugin != NULL ? 0 : output->options->threshold_ns,
        .build = output->options->build,
        .tags = output->options->tags,
        .tag_count = output->options->tag_count,
    };
    sonde__drain_origin(&output->origin, &output->header);
    output->header.device.id = output->options->device;
}

/* Begin a report of the program. */
static void set_header(struct sonde__watch_output *output, struct sonde__report *report)
{
    const char *path = output->options->path;
    sonde__report_set_header(report, &output->header);
    sonde__drain_process(report, output->header.pid, output->parent_pid,
                         path != NULL ? path : output->header.executable);
}

/* The live file keeps the last stalls for the next start. */
static void give_up_spool(struct sonde__watch_output *output)
{
    struct sonde__watch_spooled *spool = output->options->spooled;
    sonde__report_writer_destroy(output->spool);
    output->spool = NULL;
    spool->has_failed = true;
    sonde__watch_output_print(output, "the report in the spool folder could not be written: %s",
                              strerror(spool->error));
}

static void flush_report(struct sonde__watch_output *output)
{
    if (output->spool != NULL &&
        sonde__report_writer_flush(output->spool, output->report) == SONDE_OS) {
        give_up_spool(output);
    }
    if (output->writer == NULL) {
        return;
    }
    enum sonde_status status = sonde__report_writer_flush(output->writer, output->report);
    if (status != SONDE_OK && status != SONDE_MEMORY) {
        sonde__report_writer_destroy(output->writer);
        output->writer = NULL;
        print_lost_report(output);
    }
}

enum sonde_status sonde__watch_output_create(const struct sonde__watch_options *options,
                                             int32_t pid, struct sonde__watch_output **ret_output)
{
    struct sonde__watch_output *output = calloc(1, sizeof *output);
    if (output == NULL || sonde__entry_names_create(options->symbols, &output->names) != SONDE_OK) {
        free(output);
        return SONDE_MEMORY;
    }
    if (sonde__report_create(&output->report) != SONDE_OK) {
        sonde__entry_names_destroy(output->names);
        free(output);
        return SONDE_MEMORY;
    }
    output->options = options;
    output->journal = sonde__host_is_journal(2);
    sonde__entry_equals_init(&output->equals, options->equal_max);
    output->parent_pid = sonde__host_parent(pid);
    fill_who(output, pid);
    fill_header(output, pid, options->plugin != NULL ? options->plugin->kind : SONDE__REPORT_WATCH);
    if (options->argv != NULL) {
        output->header.executable = options->argv[0]; /* not executed yet */
    }
    set_header(output, output->report);
    if (options->report_fd >= 0) {
        sonde__host_writer_lock(options->report_fd);
    }
    if (options->report_fd >= 0 && !options->report_json &&
        sonde__report_writer_create(NULL, write_report, output, &output->writer) != SONDE_OK) {
        sonde__watch_output_print(output, "the report cannot be written: out of memory");
    }
    if (options->spooled != NULL &&
        sonde__report_writer_create(options->plugin == NULL ? &sonde__watch_spool_caps : NULL,
                                    write_spool, output, &output->spool) != SONDE_OK) {
        options->spooled->has_failed = true;
    }
    flush_report(output); /* the header, in case the watch is killed at once */
    *ret_output = output;
    return SONDE_OK;
}

void sonde__watch_output_print(struct sonde__watch_output *output, const char *format, ...)
{
    char line[512];
    va_list list;
    snprintf(line, sizeof line, "sonde %s: %s", command_of(output), output->who);
    size_t prefix = strlen(line);
    va_start(list, format);
    vsnprintf(line + prefix, sizeof line - prefix - 1, format, list);
    va_end(list);
    sonde__report_add_note(output->report, line + prefix);
    if (output->options->on_stall == NULL) {
        line[strlen(line) + 1] = '\0';
        line[strlen(line)] = '\n';
        print_fitted(output, line);
    }
}

/* A report that goes to no file need not be kept. */
static void renew_report(struct sonde__watch_output *output)
{
    struct sonde__report *report;
    if (sonde__report_create(&report) == SONDE_OK) {
        set_header(output, report);
        sonde__report_destroy(output->report);
        output->report = report;
        output->forgotten = (uint32_t)output->written;
    }
}

/* Show the stall that was added last: to the caller, or as text. */
static void show_stall(struct sonde__watch_output *output, const struct sonde__entry_ended *ended)
{
    const struct sonde__report_view view = {.color = output->options->color,
                                            .stall_first = output->forgotten};
    uint32_t count = sonde__report_stall_count(output->report);
    const struct sonde__report_sink to_stderr = fitted_stderr(output);
    if (output->options->on_stall != NULL) {
        output->options->on_stall(output->options->ctx, ended, output->report, &view, count - 1);
    } else {
        if (output->who[0] != '\0') {
            sonde__watch_output_print(output, "its event loop stalled:");
        }
        output->of_stall = true;
        sonde__report_text_stall(output->report, count - 1, &view, to_stderr);
        output->of_stall = false;
    }
}

/* Print a line for a stall that is only counted. */
static void show_again(struct sonde__watch_output *output, const struct sonde__entry_equal *equal,
                       uint64_t duration_ns)
{
    char line[512];
    uint64_t times = equal->full + equal->counted;
    snprintf(line, sizeof line,
             "sonde %s: %sstall %llu again: %llu ms; %llu times by now, up to %llu ms\n",
             command_of(output), output->who, (unsigned long long)equal->number,
             (unsigned long long)(duration_ns / 1000000u), (unsigned long long)times,
             (unsigned long long)(equal->longest_ns / 1000000u));
    print_fitted(output, line);
}

/* Add a message of the stalls of this fingerprint that were counted since the last one. */
static void add_count(struct sonde__watch_output *output, struct sonde__entry_equal *equal)
{
    if (equal->open.count == 0 || output->options->report_fd < 0) {
        return;
    }
    const struct sonde__report_stall_count count = {
        .fingerprint = sonde__report_string(output->report, equal->id),
        .count = equal->open.count,
        .total_ns = equal->open.total_ns,
        .longest_ns = equal->open.longest_ns,
        .first_ns = equal->open.first_ns,
        .last_ns = equal->open.last_ns,
    };
    sonde__report_add_stall_count(output->report, &count);
    sonde__entry_equal_written(equal);
}

/* In the spool folder counts are always exact, as long as there is room for them. */
static bool counts_at_once(const struct sonde__watch_output *output)
{
    return output->options->spooled != NULL &&
           sonde__report_stall_count_count(output->report) < SONDE__REPORT_STALL_COUNTS_MAX / 2;
}

/* Count the stall if it is one of many equal ones, and not the last. Its names go into a scratch
 * report, so a program that stalls for days needs no more memory. */
static bool is_counted(struct sonde__watch_output *output, const struct sonde__entry_ended *ended)
{
    struct sonde__report *scratch;
    struct sonde__entry_record record;
    struct sonde__report_fingerprint fingerprint;
    bool counted = false;
    if (ended->killed || ended->open || !sonde__entry_equals_may_count(&output->equals) ||
        sonde__report_create(&scratch) != SONDE_OK) {
        return false;
    }
    set_header(output, scratch);
    sonde__entry_record_make(output->names, ended, scratch, &record);
    if (sonde__report_fingerprint(scratch, &record.stall, &fingerprint) == SONDE_OK) {
        struct sonde__entry_equal *equal = sonde__entry_equals_count(
            &output->equals, fingerprint.id, ended->begin_ns, ended->duration_ns);
        counted = equal != NULL;
        if (counted) {
            show_again(output, equal, ended->duration_ns);
        }
        if (counted && (sonde__entry_equal_is_due(equal) || counts_at_once(output))) {
            add_count(output, equal);
            flush_report(output);
        }
        sonde__report_fingerprint_done(&fingerprint);
    }
    sonde__entry_record_done(&record);
    sonde__report_destroy(scratch);
    return counted;
}

void sonde__watch_output_stall(struct sonde__watch_output *output,
                               const struct sonde__entry_ended *ended)
{
    struct sonde__entry_record record;
    output->stalls++;
    if (is_counted(output, ended)) {
        return;
    }
    sonde__entry_record_make(output->names, ended, output->report, &record);
    if (ended->stall->thread_total > ended->stall->thread_count) {
        sonde__watch_output_print(
            output, "%u of %u other threads were left out of a stall",
            (unsigned)(ended->stall->thread_total - ended->stall->thread_count),
            (unsigned)ended->stall->thread_total);
    }
    uint32_t before = sonde__report_stall_count(output->report);
    sonde__report_add_stall(output->report, &record.stall);
    bool is_kept = sonde__report_stall_count(output->report) > before;
    output->written++;
    if (output->options->on_stall == NULL) {
        sonde__entry_equals_add(&output->equals,
                                sonde__report_text(output->report, record.stall.fingerprint),
                                output->written, ended->duration_ns);
    }
    sonde__entry_record_done(&record);
    if (is_kept) {
        show_stall(output, ended);
    } else {
        sonde__watch_output_print(output, "a stall of %llu ms cannot be shown: out of memory",
                                  (unsigned long long)(ended->duration_ns / 1000000u));
    }
    flush_report(output);
    if (output->options->report_fd < 0 && output->options->spooled == NULL) {
        renew_report(output);
    }
    if (output->options->spooled != NULL) {
        output->options->spooled->is_used = true;
    }
}

void sonde__watch_output_stacks(struct sonde__watch_output *output,
                                const struct sonde__sampler_stall *threads,
                                struct sonde__target *images, const char *why)
{
    const struct sonde__report_view view = {.color = output->options->color};
    const struct sonde__report_sink to_stderr = fitted_stderr(output);
    const struct sonde__sampler_child *child = threads->child;
    struct sonde__report *report;
    images = child != NULL ? child->images : images;
    output->stacks = true;
    if (images == NULL || sonde__report_create(&report) != SONDE_OK) {
        return;
    }
    fill_header(output, output->header.pid, SONDE__REPORT_STACKS);
    if (child == NULL) {
        set_header(output, report);
    } else {
        struct sonde__report_header header = output->header;
        header.pid = child->pid;
        header.executable = child->executable;
        sonde__report_set_header(report, &header);
    }
    sonde__report_add_note(report, why);
    sonde__entry_record_threads(output->names, threads, images, report);
    sonde__report_text_view(report, &view, to_stderr);
    if (output->options->report_fd >= 0) {
        sonde__entry_record_threads(output->names, threads, images, output->report);
        flush_report(output);
    }
    sonde__report_destroy(report);
}

void sonde__watch_output_begin(struct sonde__watch_output *output,
                               const struct sonde__sampler_stall *threads,
                               const struct sonde__entry_ended *ended)
{
    struct sonde__report *report;
    if (sonde__report_create(&report) != SONDE_OK) {
        return;
    }
    struct sonde__report_header header = output->header;
    header.kind = SONDE__REPORT_STACKS;
    sonde__report_set_header(report, &header);
    if (ended->images != NULL) {
        sonde__entry_record_threads(output->names, threads, ended->images, report);
    }
    output->options->on_begin(output->options->ctx, ended, report);
    sonde__report_destroy(report);
}

static void print_line(void *ctx, const char *line)
{
    sonde__watch_output_print(ctx, "%s", line);
}

void sonde__watch_output_plugin(struct sonde__watch_output *output, const void *memory)
{
    const struct sonde__watch_plugin *plugin = output->options->plugin;
    const struct sonde__report_view view = {
        .color = output->options->color, .app_only = plugin->app_only, .top = plugin->top};
    const struct sonde__report_sink to_stderr = fitted_stderr(output);
    uint32_t first = sonde__report_heap_blocks_count(output->report);
    plugin->end(plugin->ctx, memory, output->report,
                (struct sonde__report_lines){print_line, output});
    sonde__report_text_calls(output->report, &view, to_stderr);
    sonde__report_text_heap_blocks(output->report, first, &view, to_stderr);
    flush_report(output);
}

/* Recorded calls so far, as text only: the report gets each once, at the end of the program. */
static void show_calls(struct sonde__watch_output *output, const void *memory)
{
    const struct sonde__watch_plugin *plugin = output->options->plugin;
    const struct sonde__report_view view = {
        .color = output->options->color, .app_only = plugin->app_only, .top = plugin->top};
    const struct sonde__report_sink to_stderr = fitted_stderr(output);
    struct sonde__report *report;
    if (sonde__report_create(&report) != SONDE_OK) {
        return;
    }
    set_header(output, report);
    sonde__watch_output_print(output, "so far:");
    plugin->look(plugin->ctx, memory, true, report,
                 (struct sonde__report_lines){print_line, output});
    sonde__report_text_calls(report, &view, to_stderr);
    sonde__report_destroy(report);
}

void sonde__watch_output_look(struct sonde__watch_output *output, const void *memory, bool all)
{
    const struct sonde__watch_plugin *plugin = output->options->plugin;
    const struct sonde__report_view view = {.color = output->options->color};
    const struct sonde__report_sink to_stderr = fitted_stderr(output);
    uint32_t first = sonde__report_heap_blocks_count(output->report);
    if (plugin->kind != SONDE__REPORT_HEAP_BLOCKS) {
        if (all) {
            show_calls(output, memory);
        } else { /* it tells what is new by itself */
            plugin->look(plugin->ctx, memory, false, NULL,
                         (struct sonde__report_lines){print_line, output});
        }
        return;
    }
    plugin->look(plugin->ctx, memory, all, output->report,
                 (struct sonde__report_lines){print_line, output});
    sonde__report_text_heap_blocks(output->report, first, &view, to_stderr);
    flush_report(output);
}

/* A line about other runs is no note in this run's report. */
static void print_ended(void *ctx, const char *line)
{
    struct sonde__watch_output *output = ctx;
    char text[600];
    if (output->options->on_stall == NULL) {
        snprintf(text, sizeof text, "sonde %s: %s\n", command_of(output), line);
        print_fitted(output, text);
    }
}

void sonde__watch_output_tidy(struct sonde__watch_output *output)
{
    sonde__watch_spool_tidy(output->options, (struct sonde__report_lines){print_ended, output});
}

const struct sonde__report *sonde__watch_output_report(const struct sonde__watch_output *output)
{
    return output->report;
}

static bool write_json(void *ctx, const char *bytes, size_t size)
{
    return write_report(ctx, bytes, size) == SONDE_OK;
}

/* Write the rest of the report's file: its end, or all of it as JSON. */
static void finish_report(struct sonde__watch_output *output)
{
    const struct sonde__report_view view = {.images = true,
                                            .one_line = output->options->report_lines};
    if (output->options->report_fd >= 0 && output->options->report_json) {
        sonde__report_json_view(output->report, &view,
                                (struct sonde__report_sink){write_json, output});
    }
    if (output->spool != NULL &&
        sonde__report_writer_finish(output->spool, output->report) != SONDE_OK) {
        give_up_spool(output);
    }
    bool is_lost = output->writer != NULL &&
                   sonde__report_writer_finish(output->writer, output->report) != SONDE_OK;
    if (is_lost || (output->options->report_json && output->write_error != 0)) {
        print_lost_report(output);
    }
}

void sonde__watch_output_finish(struct sonde__watch_output *output, uint64_t turns,
                                uint64_t watched_ns, const struct sonde__decide_turns *lengths)
{
    struct sonde__report_turn_count counts[SONDE__DECIDE_TURN_BUCKETS];
    struct sonde__report_end end = {
        .stall_count = output->stalls, .turn_count = turns, .watched_ns = watched_ns};
    for (size_t i = 0; i < output->equals.count; i++) {
        add_count(output, &output->equals.list[i]);
    }
    sonde__decide_turns_fill(lengths, &end, counts);
    sonde__report_set_end(output->report, &end);
    finish_report(output);
    if (output->options->report_path != NULL && output->stalls == 0 && !output->stacks) {
        sonde__host_remove_file(output->options->report_path);
    }
    sonde__report_writer_destroy(output->writer);
    sonde__report_writer_destroy(output->spool);
    sonde__report_destroy(output->report);
    sonde__entry_names_destroy(output->names);
    sonde__entry_equals_done(&output->equals);
    free(output);
}
