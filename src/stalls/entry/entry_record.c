// SPDX-License-Identifier: Apache-2.0
#include "entry_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "cause.h"
#include "entry_report.h"
#include "report_fingerprint.h"
#include "report_phase.h"

static uint32_t text_id(struct sonde__report *report, const char *text)
{
    return text[0] != '\0' ? sonde__report_string(report, text) : 0;
}

static struct sonde__report_sample *make_samples(struct sonde__entry_names *names,
                                                 struct sonde__report *report,
                                                 const struct sonde__sampler_stall *stall)
{
    struct sonde__report_sample *samples = calloc(stall->count + 1, sizeof *samples);
    for (uint32_t i = 0; samples != NULL && i < stall->count; i++) {
        const struct sonde__sample *from = &stall->samples[i].sample;
        sonde__entry_to_sample(&stall->samples[i], &samples[i]);
        samples[i].stack = sonde__entry_resolve(names, from, &samples[i].script_stack);
        samples[i].detail = text_id(report, from->capture.waits_for);
        samples[i].queue = text_id(report, from->thread.queue);
    }
    return samples;
}

/* How the loop was identified. Everything else in the report depends on it. */
static void describe_loop(struct sonde__entry_names *names, const struct sonde__entry_ended *ended,
                          char *text, size_t capacity)
{
    const struct sonde__probe_candidate *loop = &ended->loop;
    static const char *const kind[] = {[SONDE__PROBE_NONE] = "not known",
                                       [SONDE__PROBE_EPOLL] = "epoll descriptor",
                                       [SONDE__PROBE_POLL] = "poll, first descriptor",
                                       [SONDE__PROBE_SELECT] = "select, nfds",
                                       [SONDE__PROBE_COND] = "condition variable",
                                       [SONDE__PROBE_SIGNAL] = "wait for signals, kind",
                                       [SONDE__PROBE_OTHER] = "io_uring descriptor",
                                       [SONDE__PROBE_MARKS] = "marked by the program",
                                       [SONDE__PROBE_RUN_LOOP] = "run loop of the main thread",
                                       [SONDE__PROBE_SEM] = "semaphore",
                                       [SONDE__PROBE_FUTEX] = "futex",
                                       [SONDE__PROBE_SLEEP] = "pause",
                                       [SONDE__PROBE_TIMER] = "timer descriptor"};
    char place[128] = "?";
    uint32_t k = loop->kind <= SONDE__PROBE_TIMER && kind[loop->kind] != NULL ? loop->kind : 0;
    sonde__entry_place(names, loop->caller, place, sizeof place);
    if (ended->scope[0] != '\0') {
        snprintf(text, capacity, "scope %s%s%s", ended->scope,
                 loop->caller != 0 ? ", entered at " : "", loop->caller != 0 ? place : "");
    } else if (k == SONDE__PROBE_RUN_LOOP) {
        snprintf(text, capacity, "%s", kind[k]);
    } else if (k == SONDE__PROBE_MARKS) {
        snprintf(text, capacity, "%s, first at %s",
                 loop->object == SONDE__PROBE_BEATS ? "heartbeat of the program" : kind[k], place);
    } else if (k == SONDE__PROBE_SLEEP) {
        snprintf(text, capacity, "%s, at %s", kind[k], place);
    } else if (k == SONDE__PROBE_COND || k == SONDE__PROBE_SEM || k == SONDE__PROBE_FUTEX) {
        snprintf(text, capacity, "%s 0x%llx, waited for at %s", kind[k],
                 (unsigned long long)loop->object, place);
    } else {
        snprintf(text, capacity, "%s %lld, waited for at %s", kind[k],
                 (long long)(int32_t)loop->object, place);
    }
}

/* The most intrusive way that was needed; none if no way gave a sample. */
static uint32_t sampler_of(uint8_t way_of_running, const struct sonde__sampler_stall *stall)
{
    uint32_t sampler = SONDE__REPORT_SAMPLER_NONE;
    bool refused = false, sampled = false;
    for (uint32_t i = 0; i < stall->count; i++) {
        const struct sonde__sample *sample = &stall->samples[i].sample;
        uint32_t way = sonde__sampler_way_of(way_of_running, sample);
        sampler = way > sampler ? way : sampler;
        refused =
            refused || (sample->capture.by == SONDE__CAPTURED_NOT && sample->thread.letter == 'R');
        sampled = sampled || sample->stack.count > 0;
    }
    return refused && !sampled ? SONDE__REPORT_SAMPLER_NONE : sampler;
}

/* A string id; 0: out of memory. */
static uint32_t fingerprint_of(struct sonde__report *report,
                               const struct sonde__report_stall *stall)
{
    struct sonde__report_fingerprint fingerprint;
    if (sonde__report_fingerprint(report, stall, &fingerprint) != SONDE_OK) {
        return 0;
    }
    uint32_t id = text_id(report, fingerprint.id);
    sonde__report_fingerprint_done(&fingerprint);
    return id;
}

/* Null: none, or out of memory. */
static struct sonde__report_wait *make_waits(struct sonde__report *report,
                                             const struct sonde__sampler_stall *stall,
                                             uint32_t *ret_count)
{
    enum { PROCESS = 1 }; /* as of the stall */
    struct sonde__report_wait *waits = calloc(stall->cause_count + 1u, sizeof *waits);
    *ret_count = 0;
    for (uint32_t i = 0; waits != NULL && i < stall->cause_count; i++) {
        *ret_count += sonde__cause_to_report(&stall->causes[i], sonde__report_header(report)->pid,
                                             PROCESS, report, &waits[*ret_count]);
    }
    return waits;
}

/* Add the threads of the child to those of the program. */
static void add_child(struct sonde__entry_names *names, struct sonde__report *report,
                      const struct sonde__sampler_child *child,
                      struct sonde__report_thread *threads)
{
    const struct sonde__report_process process = {.pid = child->pid, .parent = 1};
    uint32_t id = sonde__report_process_count(report);
    while (id > 0 && sonde__report_process(report, id)->pid != child->pid) {
        id--;
    }
    id = id != 0 ? id : sonde__report_add_process(report, &process);
    if (sonde__entry_names_begin(names, child->images, report) != SONDE_OK) {
        return;
    }
    for (uint32_t i = 0; i < child->thread_count; i++) {
        sonde__entry_resolve_thread(names, &child->threads[i], &threads[i]);
        threads[i].process = id;
    }
    sonde__entry_names_end(names);
}

/* Convert the threads of the program, and leave room for those of the child. */
static struct sonde__report_thread *make_threads(struct sonde__entry_names *names,
                                                 const struct sonde__sampler_stall *stall)
{
    uint32_t more = stall->child != NULL ? stall->child->thread_count : 0;
    struct sonde__report_thread *threads = calloc(stall->thread_count + more + 1u, sizeof *threads);
    for (uint32_t i = 0; threads != NULL && i < stall->thread_count; i++) {
        sonde__entry_resolve_thread(names, &stall->threads[i], &threads[i]);
    }
    return threads;
}

/* Is the stack in libc's exit()? */
static bool is_exiting(const struct sonde__report *report, uint32_t stack)
{
    for (uint32_t id = stack; id != 0; id = sonde__report_node(report, id)->parent) {
        const struct sonde__report_frame *frame =
            sonde__report_frame(report, sonde__report_node(report, id)->frame);
        const char *path =
            sonde__report_text(report, sonde__report_image(report, frame->image)->path);
        if (strcmp(sonde__report_text(report, frame->name), "exit") == 0 &&
            strncmp(sonde__base_file_name(path), "libc.", 5) == 0) {
            return true;
        }
    }
    return false;
}

/* Did the turn never end because the program was asked to end? Then most of it is the exit. */
static bool is_exit(const struct sonde__report *report, const struct sonde__report_stall *stall)
{
    uint64_t exit_ns = 0;
    for (uint32_t i = 0; i < stall->sample_count; i++) {
        const struct sonde__report_sample *sample = &stall->samples[i];
        exit_ns += is_exiting(report, sample->stack) ? sample->weight_ns : 0;
    }
    return (stall->open || stall->fatal) && exit_ns > stall->duration_ns / 2;
}

void sonde__entry_record_make(struct sonde__entry_names *names,
                              const struct sonde__entry_ended *ended, struct sonde__report *report,
                              struct sonde__entry_record *ret_record)
{
    const struct sonde__sampler_stall *stall = ended->stall;
    struct sonde__entry_record r = {0};
    uint32_t wait_count, thread_count = 0;
    char loop[SONDE__ENTRY_SCOPE_BYTES + 160];
    if (ended->images != NULL &&
        sonde__entry_names_begin(names, ended->images, report) == SONDE_OK) {
        r.samples = make_samples(names, report, stall);
        r.threads = make_threads(names, stall);
    }
    describe_loop(names, ended, loop, sizeof loop);
    sonde__entry_names_end(names);
    sonde__entry_to_uncovered(stall, report, r.uncovered);
    r.waits = make_waits(report, stall, &wait_count);
    thread_count = r.threads != NULL ? stall->thread_count : 0;
    if (r.threads != NULL && stall->child != NULL) {
        add_child(names, report, stall->child, r.threads + thread_count);
        thread_count += stall->child->thread_count;
    }
    r.stall = (struct sonde__report_stall){
        .begin_ns = ended->begin_ns,
        .duration_ns = ended->duration_ns,
        .tid = (int64_t)ended->tid,
        .thread_name = stall->count > 0 ? text_id(report, stall->samples[0].sample.thread.name) : 0,
        .loop = ended->loop.kind,
        .loop_detail = sonde__report_string(report, loop),
        .loop_turns = ended->turns,
        .samples = r.samples,
        .sample_count = r.samples != NULL ? stall->count : 0,
        .threads = r.threads,
        .thread_count = thread_count,
        .cpu_ns = stall->cpu_ns,
        .runqueue_ns = stall->runqueue_ns,
        .overhead_ns = stall->overhead_ns,
        .samples_early = stall->early,
        .open = ended->open,
        .fatal = ended->killed,
        .kind = ended->kind,
        .sampler = sampler_of(ended->way, stall),
        .main = ended->main,
        .process = 1,
        .uncovered = r.uncovered,
        .uncovered_count = stall->uncovered_count,
        .waits = r.waits,
        .wait_count = wait_count,
        .load = stall->load,
    };
    *ret_record = r;
    ret_record->stall.uncovered = ret_record->uncovered;
    sonde__sampler_to_notes(stall->notes, ended->watch_ns, report, ret_record->annotations,
                            &ret_record->stall);
    if (ended->kind == SONDE__REPORT_STALL_LOOP && ret_record->stall.loop_phase == 0) {
        ret_record->stall.loop_phase = sonde__report_loop_phase(report, &r.stall);
    }
    if (ended->kind == SONDE__REPORT_STALL_LOOP && is_exit(report, &r.stall)) {
        ret_record->stall.kind = SONDE__REPORT_STALL_EXIT;
    }
    ret_record->stall.fingerprint = fingerprint_of(report, &ret_record->stall);
}

void sonde__entry_record_done(struct sonde__entry_record *record)
{
    free(record->samples);
    free(record->threads);
    free(record->waits);
    *record = (struct sonde__entry_record){0};
}

static void add_thread(struct sonde__entry_names *names, const struct sonde__sample *sample,
                       uint32_t process, struct sonde__report *report)
{
    struct sonde__report_thread thread;
    sonde__entry_resolve_thread(names, sample, &thread);
    thread.process = process != 0 ? process : thread.process;
    sonde__report_add_thread(report, &thread);
    sonde__entry_resolve_tasks(names, sample, &thread);
}

void sonde__entry_record_threads(struct sonde__entry_names *names,
                                 const struct sonde__sampler_stall *all,
                                 struct sonde__target *images, struct sonde__report *report)
{
    const struct sonde__sampler_child *child = all->child;
    uint32_t process = 0;
    if (child != NULL) {
        process = sonde__report_add_process(
            report, &(struct sonde__report_process){
                        .pid = child->pid,
                        .parent_pid = child->parent_pid,
                        .executable = sonde__report_string(report, child->executable)});
    }
    if (sonde__entry_names_begin(names, images, report) != SONDE_OK) {
        return;
    }
    for (uint32_t i = 0; i < all->thread_count; i++) {
        add_thread(names, &all->threads[i], 0, report);
    }
    for (uint32_t i = 0; child != NULL && i < child->thread_count; i++) {
        add_thread(names, &child->threads[i], process, report);
    }
    sonde__entry_names_end(names);
}
