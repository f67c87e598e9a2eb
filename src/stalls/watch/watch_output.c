// SPDX-License-Identifier: Apache-2.0
#include "watch_output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch_regs.h"
#include "base_text.h"
#include "host_clock.h"
#include "host_process.h"
#include "host_run.h"
#include "host_writer.h"
#include "report_view.h"
#include "report_write.h"
#include "target.h"

struct sonde__watch_output {
    struct sonde__report *report; /* stalls and dictionaries, of the whole watch */
    const struct sonde__watch_options *options;
    struct sonde__report_writer *writer; /* the file; null: none */
    struct sonde__report_header header;
    uint64_t stalls;
    uint32_t forgotten; /* stalls in reports before this one */
    bool stacks;        /* stacks were written, too */
    int write_error;    /* of the report: errno */
    char who[300];      /* "NAME[PID]: " where programs are followed, else "" */
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

static void say_lost_report(struct sonde__watch_output *output)
{
    const char *name = output->options->report_name;
    sonde__watch_say(output, "%s: the report could not be written: %s", name != NULL ? name : "?",
                     strerror(output->write_error));
}

/* The parent of a followed program may read its stderr, so text goes to the stderr of the first
 * program as long as that lives. */
static bool write_stderr(void *ctx, const char *bytes, size_t size)
{
    const struct sonde__watch_output *output = ctx;
    int32_t root = output->options->root;
    return (root != 0 && sonde__host_write_stderr_of(root, bytes, size)) ||
           sonde__host_write_all(2, bytes, size);
}

static void fill_who(struct sonde__watch_output *output, int32_t pid)
{
    const char *program = output->options->program;
    if (!output->options->follow) {
        return;
    }
    program = program != NULL ? program : output->options->argv[0];
    snprintf(output->who, sizeof output->who, "%.255s[%d]: ", sonde__base_file_name(program),
             (int)pid);
    for (char *c = output->who; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        *c = byte < ' ' || byte == 127 ? '?' : *c; /* no control characters for the terminal */
    }
}

static void fill_header(struct sonde__watch_output *output, int32_t pid, uint32_t kind)
{
    static char os[160], executable[4096];
    sonde__host_system_name(os, sizeof os);
    (void)sonde__host_executable(pid, executable, sizeof executable);
    output->header = (struct sonde__report_header){
        .kind = kind,
        .tool = output->options->tool,
        .executable = executable[0] == '\0' && output->options->argv != NULL
                          ? output->options->argv[0]
                          : executable,
        .os = os,
        .arch = sonde__arch_name(SONDE__ARCH_HOST),
        .source = output->options->on_stall != NULL ? "self" : "run",
        .time_unix_ns = sonde__host_unix_ns(),
        .pid = pid,
        .threshold_ns = output->options->plugin != NULL ? 0 : output->options->threshold_ns,
    };
}

static void flush_report(struct sonde__watch_output *output)
{
    if (output->writer == NULL) {
        return;
    }
    enum sonde_status status = sonde__report_writer_flush(output->writer, output->report);
    if (status != SONDE_OK && status != SONDE_MEMORY) {
        sonde__report_writer_destroy(output->writer);
        output->writer = NULL;
        say_lost_report(output);
    }
}

enum sonde_status sonde__watch_output_create(const struct sonde__watch_options *options,
                                             int32_t pid, struct sonde__watch_output **ret_output)
{
    struct sonde__watch_output *output = calloc(1, sizeof *output);
    if (output == NULL || sonde__report_create(&output->report) != SONDE_OK) {
        free(output);
        return SONDE_MEMORY;
    }
    output->options = options;
    fill_who(output, pid);
    fill_header(output, pid, options->plugin != NULL ? options->plugin->kind : SONDE__REPORT_WATCH);
    if (options->argv != NULL) {
        output->header.executable = options->argv[0]; /* not executed yet */
    }
    sonde__report_set_header(output->report, &output->header);
    if (options->report_fd >= 0) {
        sonde__host_writer_lock(options->report_fd);
    }
    if (options->report_fd >= 0 &&
        sonde__report_writer_create(NULL, write_report, output, &output->writer) != SONDE_OK) {
        sonde__watch_say(output, "the report cannot be written: out of memory");
    }
    flush_report(output); /* the header: a watch that is killed at once leaves a report, too */
    *ret_output = output;
    return SONDE_OK;
}

void sonde__watch_say(struct sonde__watch_output *output, const char *format, ...)
{
    char line[512];
    va_list list;
    snprintf(line, sizeof line, "sonde run: %s", output->who);
    size_t prefix = strlen(line);
    va_start(list, format);
    vsnprintf(line + prefix, sizeof line - prefix - 1, format, list);
    va_end(list);
    sonde__report_add_note(output->report, line + prefix);
    if (output->options->on_stall == NULL) {
        line[strlen(line) + 1] = '\0';
        line[strlen(line)] = '\n';
        (void)write_stderr(output, line, strlen(line));
    }
}

static uint32_t phase_of(const struct sonde__sample *sample)
{
    switch (sample->thread.letter) {
    case 'D':
        return SONDE__REPORT_PHASE_DISK;
    case 'R':
        return SONDE__REPORT_PHASE_RUNNING;
    case 'S':
        return SONDE__REPORT_PHASE_BLOCKED;
    default:
        return SONDE__REPORT_PHASE_UNKNOWN;
    }
}

static uint32_t text_id(struct sonde__report *report, const char *text)
{
    return text[0] != '\0' ? sonde__report_string(report, text) : 0;
}

static struct sonde__report_sample *make_samples(struct sonde__watch_output *output,
                                                 struct sonde__watch_sampler *sampler,
                                                 const struct sonde__watch_stall *stall)
{
    struct sonde__report_sample *samples = calloc(stall->count + 1, sizeof *samples);
    for (uint32_t i = 0; samples != NULL && i < stall->count; i++) {
        const struct sonde__sample *from = &stall->samples[i].sample;
        samples[i] = (struct sonde__report_sample){
            .time_ns = stall->samples[i].time_ns,
            .weight_ns = stall->samples[i].weight_ns,
            .stack = sonde__watch_resolve(sampler, from),
            .end = from->stack.end,
            .phase = phase_of(from),
            .captured_by = from->capture.by,
            .syscall = from->capture.syscall + 1,
            .detail = text_id(output->report, from->capture.waits_for),
        };
    }
    return samples;
}

/* How the loop was identified: all else in the report depends on it. */
static void describe_loop(struct sonde__watch_sampler *sampler,
                          const struct sonde__probe_slot *slot, char *text, size_t capacity)
{
    static const char *const kind[] = {[SONDE__PROBE_NONE] = "not known",
                                       [SONDE__PROBE_EPOLL] = "epoll descriptor",
                                       [SONDE__PROBE_POLL] = "poll, first descriptor",
                                       [SONDE__PROBE_SELECT] = "select, nfds",
                                       [SONDE__PROBE_COND] = "condition variable",
                                       [SONDE__PROBE_SIGNAL] = "wait for signals, kind",
                                       [SONDE__PROBE_OTHER] = "io_uring descriptor",
                                       [SONDE__PROBE_MARKS] = "marked by the program"};
    /* the program may write here: load once, then check */
    const volatile struct sonde__probe_candidate *from = &slot->loop;
    const struct sonde__probe_candidate loop = {
        .object = from->object, .caller = from->caller, .kind = from->kind};
    char place[128] = "?";
    uint32_t k = loop.kind <= SONDE__PROBE_MARKS ? loop.kind : 0;
    if (sampler != NULL) {
        sonde__watch_place(sampler, loop.caller, place, sizeof place);
    }
    if (k == SONDE__PROBE_MARKS) {
        snprintf(text, capacity, "%s, first at %s", kind[k], place);
    } else if (k == SONDE__PROBE_COND) {
        snprintf(text, capacity, "%s 0x%llx, waited for at %s", kind[k],
                 (unsigned long long)loop.object, place);
    } else {
        snprintf(text, capacity, "%s %lld, waited for at %s", kind[k],
                 (long long)(int32_t)loop.object, place);
    }
}

/* A report without a file need not be kept. Callers set the sampler's target before they add to
 * it. */
static void renew_report(struct sonde__watch_output *output)
{
    struct sonde__report *report;
    if (sonde__report_create(&report) == SONDE_OK) {
        sonde__report_set_header(report, &output->header);
        sonde__report_destroy(output->report);
        output->report = report;
        output->forgotten = (uint32_t)output->stalls;
    }
}

/* The most intrusive way that was needed; none if no way gave a sample. */
static uint32_t sampler_of(const struct sonde__watch_sampler *watch,
                           const struct sonde__watch_stall *stall)
{
    uint32_t sampler = SONDE__REPORT_SAMPLER_NONE;
    bool refused = false, sampled = false;
    for (uint32_t i = 0; i < stall->count; i++) {
        const struct sonde__sample *sample = &stall->samples[i].sample;
        uint32_t way = sonde__watch_way_of(watch, sample);
        sampler = way > sampler ? way : sampler;
        refused =
            refused || (sample->capture.by == SONDE__CAPTURED_NOT && sample->thread.letter == 'R');
        sampled = sampled || sample->stack.count > 0;
    }
    return refused && !sampled ? SONDE__REPORT_SAMPLER_NONE : sampler;
}

static struct sonde__report_thread *make_threads(struct sonde__watch_output *output,
                                                 struct sonde__watch_sampler *sampler,
                                                 const struct sonde__watch_stall *stall)
{
    struct sonde__report_thread *threads = calloc(stall->thread_count + 1u, sizeof *threads);
    for (uint32_t i = 0; threads != NULL && i < stall->thread_count; i++) {
        sonde__watch_resolve_thread(sampler, &stall->threads[i], &threads[i]);
    }
    if (stall->thread_total > stall->thread_count) {
        sonde__watch_say(output, "%u of %u other threads were left out of a stall",
                         (unsigned)(stall->thread_total - stall->thread_count),
                         (unsigned)stall->thread_total);
    }
    return threads;
}

void sonde__watch_output_stall(struct sonde__watch_output *output,
                               struct sonde__watch_sampler *sampler,
                               const struct sonde__watch_ended *ended)
{
    const struct sonde__watch_stall *stall = ended->stall;
    const struct sonde__report_view view = {.color = output->options->color,
                                            .stall_first = output->forgotten};
    struct sonde__report_sample *samples = NULL;
    struct sonde__report_thread *threads = NULL;
    char loop[256];
    if (sampler != NULL && sonde__watch_sampler_target(sampler, output->report) == SONDE_OK) {
        samples = make_samples(output, sampler, stall);
        threads = make_threads(output, sampler, stall);
    }
    describe_loop(sampler, ended->slot, loop, sizeof loop);
    const struct sonde__report_stall record = {
        .begin_ns = ended->begin_ns,
        .duration_ns = ended->duration_ns,
        .tid = (int64_t)ended->tid,
        .thread_name =
            stall->count > 0 ? text_id(output->report, stall->samples[0].sample.thread.name) : 0,
        .loop = ended->slot->loop.kind,
        .loop_detail = sonde__report_string(output->report, loop),
        .loop_turns = ended->turns,
        .samples = samples,
        .sample_count = samples != NULL ? stall->count : 0,
        .threads = threads,
        .thread_count = threads != NULL ? stall->thread_count : 0,
        .cpu_ns = stall->cpu_ns,
        .runqueue_ns = stall->runqueue_ns,
        .overhead_ns = stall->overhead_ns,
        .samples_early = stall->early,
        .open = ended->open,
        .sampler = sampler_of(sampler, stall),
        .main = ended->main,
    };
    sonde__report_add_stall(output->report, &record);
    free(samples);
    free(threads);
    output->stalls++;
    uint32_t count = sonde__report_stall_count(output->report);
    const struct sonde__report_sink to_stderr = {write_stderr, output};
    if (count > 0 && output->options->on_stall != NULL) {
        output->options->on_stall(output->options->ctx, ended, output->report, &view, count - 1);
    } else if (count > 0) {
        if (output->who[0] != '\0') {
            sonde__watch_say(output, "its event loop stalled:");
        }
        sonde__report_text_stall(output->report, count - 1, &view, to_stderr);
    }
    flush_report(output);
    if (output->options->report_fd < 0) {
        renew_report(output);
    }
}

static void add_threads(struct sonde__watch_sampler *sampler, const struct sonde__watch_stall *all,
                        struct sonde__report *report)
{
    for (uint32_t i = 0; i < all->thread_count; i++) {
        struct sonde__report_thread thread;
        sonde__watch_resolve_thread(sampler, &all->threads[i], &thread);
        sonde__report_add_thread(report, &thread);
    }
}

void sonde__watch_output_stacks(struct sonde__watch_output *output,
                                struct sonde__watch_sampler *sampler, const char *why)
{
    const struct sonde__report_view view = {.color = output->options->color};
    const struct sonde__report_sink to_stderr = {write_stderr, output};
    struct sonde__watch_stall all;
    struct sonde__report *report;
    sonde__watch_stall_init(&all);
    output->stacks = true;
    if (sonde__report_create(&report) != SONDE_OK) {
        return;
    }
    fill_header(output, output->header.pid, SONDE__REPORT_STACKS);
    sonde__report_set_header(report, &output->header);
    sonde__report_add_note(report, why);
    sonde__watch_stall_add_threads(&all, sampler, 0);
    if (sonde__watch_sampler_target(sampler, report) == SONDE_OK) {
        add_threads(sampler, &all, report);
        sonde__report_text_view(report, &view, to_stderr);
    }
    /* the drain must not outlive this report */
    if (sonde__watch_sampler_target(sampler, output->report) == SONDE_OK &&
        output->writer != NULL) {
        add_threads(sampler, &all, output->report);
        flush_report(output);
    }
    sonde__watch_stall_done(&all);
    sonde__report_destroy(report);
}

static void say_line(void *ctx, const char *line)
{
    sonde__watch_say(ctx, "%s", line);
}

void sonde__watch_output_plugin(struct sonde__watch_output *output, const void *memory)
{
    const struct sonde__watch_plugin *plugin = output->options->plugin;
    const struct sonde__report_view view = {
        .color = output->options->color, .app_only = plugin->app_only, .top = plugin->top};
    const struct sonde__report_sink to_stderr = {write_stderr, output};
    uint32_t first = sonde__report_heap_blocks_count(output->report);
    plugin->end(plugin->ctx, memory, output->report, (struct sonde__say){say_line, output});
    sonde__report_text_calls(output->report, &view, to_stderr);
    sonde__report_text_heap_blocks(output->report, first, &view, to_stderr);
    flush_report(output);
}

/* Recorded calls so far, as text only: the report has each once, at the end of the program. */
static void show_calls(struct sonde__watch_output *output, const void *memory)
{
    const struct sonde__watch_plugin *plugin = output->options->plugin;
    const struct sonde__report_view view = {
        .color = output->options->color, .app_only = plugin->app_only, .top = plugin->top};
    const struct sonde__report_sink to_stderr = {write_stderr, output};
    struct sonde__report *report;
    if (sonde__report_create(&report) != SONDE_OK) {
        return;
    }
    sonde__report_set_header(report, &output->header);
    sonde__watch_say(output, "so far:");
    plugin->look(plugin->ctx, memory, true, report, (struct sonde__say){say_line, output});
    sonde__report_text_calls(report, &view, to_stderr);
    sonde__report_destroy(report);
}

void sonde__watch_output_look(struct sonde__watch_output *output, const void *memory, bool all)
{
    const struct sonde__watch_plugin *plugin = output->options->plugin;
    const struct sonde__report_view view = {.color = output->options->color};
    const struct sonde__report_sink to_stderr = {write_stderr, output};
    uint32_t first = sonde__report_heap_blocks_count(output->report);
    if (plugin->kind == SONDE__REPORT_CALLS) {
        show_calls(output, memory);
        return;
    }
    plugin->look(plugin->ctx, memory, all, output->report, (struct sonde__say){say_line, output});
    sonde__report_text_heap_blocks(output->report, first, &view, to_stderr);
    flush_report(output);
}

void sonde__watch_output_finish(struct sonde__watch_output *output, uint64_t turns,
                                uint64_t watched_ns)
{
    const struct sonde__report_end end = {
        .stall_count = output->stalls, .turn_count = turns, .watched_ns = watched_ns};
    if (output->options->verbose && output->options->plugin == NULL) {
        sonde__watch_say(output, "%llu stalls in %llu turns", (unsigned long long)output->stalls,
                         (unsigned long long)turns);
    }
    sonde__report_set_end(output->report, &end);
    if (output->writer != NULL &&
        sonde__report_writer_finish(output->writer, output->report) != SONDE_OK) {
        say_lost_report(output);
    }
    if (output->options->report_path != NULL && output->stalls == 0 && !output->stacks) {
        sonde__host_remove_file(output->options->report_path);
    }
    sonde__report_writer_destroy(output->writer);
    sonde__report_destroy(output->report);
    free(output);
}
