// SPDX-License-Identifier: Apache-2.0
#include "watch_live.h"

#include <stdlib.h>

#include "cause.h"
#include "drain_stack.h"
#include "entry_report.h"
#include "host_life.h"
#include "report_write.h"
#include "sampler_note.h"
#include "spool_session.h"
#include "target.h"
#include "watch_scopes.h"

/* For durations of stalls whose samples no longer fit: some hundred parts. */
#define RESERVE_BYTES ((size_t)32 << 10)
/* A sample that lasts is written again when the stall has grown by 1/50: some ten times for each
 * doubling. */
#define STAY_PART 50u
#define STAY_NS   10000000u

struct sonde__watch_live {
    struct sonde__spool_session *spool;
    struct sonde__report *report; /* header and dictionaries */
    struct sonde__report_writer *writer;
    struct sonde__drain *drain; /* null: no stall yet */
    bool is_used;               /* parts were written since the file was emptied */
    bool is_full;
    bool has_failed; /* no memory; no more is written */
};

static struct sonde__report *make_report(const struct sonde__report *like, uint64_t boot,
                                         uint64_t program)
{
    struct sonde__report *report;
    if (sonde__report_create(&report) != SONDE_OK) {
        return NULL;
    }
    sonde__report_set_header(report, sonde__report_header(like));
    struct sonde__report_process process = *sonde__report_process(like, 1);
    process.executable = sonde__report_string(report, sonde__report_text(like, process.executable));
    process.boot = boot;
    process.program = program;
    (void)sonde__report_add_process(report, &process);
    return report;
}

struct sonde__report *sonde__watch_live_report(const struct sonde__report *like)
{
    return make_report(like, 0, 0);
}

/* Empty the file, and create its writer. */
static bool begin_file(struct sonde__watch_live *live, const struct sonde__report *like)
{
    bool is_own = sonde__report_process(like, 1)->pid == sonde__os_pid();
    struct sonde__report *report =
        make_report(like, sonde__host_boot(), is_own ? sonde__host_program() : 0);
    struct sonde__report_writer *writer = NULL;
    if (report == NULL || sonde__report_writer_create(NULL, sonde__spool_stream_write,
                                                      &live->spool->live, &writer) != SONDE_OK) {
        sonde__report_destroy(report);
        return false;
    }
    sonde__drain_destroy(live->drain);
    sonde__report_writer_destroy(live->writer);
    sonde__report_destroy(live->report);
    live->drain = NULL;
    live->writer = writer;
    live->report = report;
    live->is_used = live->is_full = false;
    sonde__spool_stream_reset(&live->spool->live);
    return sonde__report_writer_flush(writer, report) == SONDE_OK;
}

struct sonde__watch_live *sonde__watch_live_create(struct sonde__spool_session *spool,
                                                   const struct sonde__report *like)
{
    struct sonde__watch_live *live = calloc(1, sizeof *live);
    if (live == NULL) {
        return NULL;
    }
    live->spool = spool;
    if (!begin_file(live, like)) {
        sonde__watch_live_destroy(live);
        return NULL;
    }
    return live;
}

void sonde__watch_live_destroy(struct sonde__watch_live *live)
{
    if (live != NULL) {
        sonde__drain_destroy(live->drain);
        sonde__report_writer_destroy(live->writer);
        sonde__report_destroy(live->report);
        free(live);
    }
}

/* --- parts --- */

static uint32_t text_id(struct sonde__watch_live *live, const char *text)
{
    return text[0] != '\0' ? sonde__report_string(live->report, text) : 0;
}

static uint32_t stack_of(struct sonde__watch_session *s, const struct sonde__sample *sample,
                         uint32_t *ret_script_stack)
{
    *ret_script_stack = 0;
    return s->live->drain != NULL
               ? sonde__drain_sample(s->live->drain, sonde__sampler_images(s->sampler), sample,
                                     ret_script_stack)
               : 0;
}

/* Convert the samples from `first` on. */
static struct sonde__report_sample *make_samples(struct sonde__watch_session *s,
                                                 const struct sonde__sampler_stall *stall,
                                                 uint32_t first)
{
    struct sonde__report_sample *samples = calloc(stall->count - first + 1u, sizeof *samples);
    for (uint32_t i = first; samples != NULL && i < stall->count; i++) {
        const struct sonde__sampler_sample *from = &stall->samples[i];
        sonde__entry_to_sample(from, &samples[i - first]);
        samples[i - first].stack = stack_of(s, &from->sample, &samples[i - first].script_stack);
        samples[i - first].detail = text_id(s->live, from->sample.capture.waits_for);
        samples[i - first].queue = text_id(s->live, from->sample.thread.queue);
    }
    return samples;
}

static void make_thread(struct sonde__drain *drain, struct sonde__target *images,
                        const struct sonde__sample *sample, struct sonde__report_thread *ret_thread)
{
    sonde__drain_thread(drain, sonde__target_images(images), sample, ret_thread);
    ret_thread->end = sample->stack.end;
}

/* Convert the threads of the child that the thread waits for. Returns their number. */
static uint32_t make_child(struct sonde__watch_live *live, const struct sonde__sampler_child *child,
                           struct sonde__report_thread *threads)
{
    const struct sonde__report_process process = {.pid = child->pid, .parent = 1};
    struct sonde__drain *drain;
    uint32_t id = sonde__report_process_count(live->report);
    while (id > 0 && sonde__report_process(live->report, id)->pid != child->pid) {
        id--;
    }
    id = id != 0 ? id : sonde__report_add_process(live->report, &process);
    if (sonde__drain_create(live->report, child->images, NULL, &drain) != SONDE_OK) {
        return 0;
    }
    for (uint32_t i = 0; i < child->thread_count; i++) {
        make_thread(drain, child->images, &child->threads[i], &threads[i]);
        threads[i].process = id;
    }
    sonde__drain_destroy(drain);
    return child->thread_count;
}

/* Convert the threads of the program and of the child. */
static struct sonde__report_thread *make_threads(struct sonde__watch_session *s,
                                                 const struct sonde__sampler_stall *stall,
                                                 uint32_t *ret_count)
{
    struct sonde__target *target = sonde__sampler_target(s->sampler);
    uint32_t more = stall->child != NULL ? stall->child->thread_count : 0;
    struct sonde__report_thread *threads = calloc(stall->thread_count + more + 1u, sizeof *threads);
    *ret_count = threads != NULL ? stall->thread_count : 0;
    for (uint32_t i = 0; i < *ret_count; i++) {
        make_thread(s->live->drain, target, &stall->threads[i], &threads[i]);
    }
    if (threads != NULL && stall->child != NULL) {
        *ret_count += make_child(s->live, stall->child, threads + *ret_count);
    }
    return threads;
}

static struct sonde__report_wait *make_waits(struct sonde__watch_session *s,
                                             const struct sonde__sampler_stall *stall,
                                             uint32_t *ret_count)
{
    struct sonde__report_wait *waits = calloc(stall->cause_count + 1u, sizeof *waits);
    *ret_count = 0;
    for (uint32_t i = 0; waits != NULL && i < stall->cause_count; i++) {
        *ret_count += sonde__cause_to_report(&stall->causes[i], s->pid, 1, s->live->report,
                                             &waits[*ret_count]);
    }
    return waits;
}

/* Of the program now: what could end it, beside the stall. */
static uint32_t doubts_of(const struct sonde__watch_session *s,
                          const struct sonde__watch_loop *loop)
{
    bool is_own = s->waiter == NULL;
    return (loop->latest.tracer != 0 ? SONDE__REPORT_DOUBT_DEBUGGER : 0u) |
           (is_own && sonde__host_is_short_of_memory() ? SONDE__REPORT_DOUBT_MEMORY : 0u) |
           (atomic_load_explicit(&s->page->ends, memory_order_relaxed) != 0
                ? SONDE__REPORT_DOUBT_ENDS
                : 0u);
}

static struct sonde__report_stall part_of(const struct sonde__watch_session *s,
                                          const struct sonde__watch_loop *loop,
                                          uint64_t duration_ns)
{
    const struct sonde__decision *d = &loop->decision;
    return (struct sonde__report_stall){
        .begin_ns = d->since_ns > s->begin_ns ? d->since_ns - s->begin_ns : 0,
        .duration_ns = duration_ns,
        .tid = (int64_t)loop->tid,
        .process = 1,
        .open = true,
        .doubts = doubts_of(s, loop),
    };
}

static void write_part(struct sonde__watch_session *s, const struct sonde__report_stall *part)
{
    struct sonde__watch_live *live = s->live;
    live->is_used = true;
    if (sonde__report_writer_growing(live->writer, live->report, part) != SONDE_OK) {
        live->has_failed = true;
        sonde__watch_print(s->writer,
                           "the live file in the spool folder cannot be written any more");
    }
}

/* Is there room for samples? The reserve is for durations. */
static bool has_room(struct sonde__watch_session *s)
{
    struct sonde__watch_live *live = s->live;
    live->is_full =
        live->is_full || (sonde__spool_stream_left(&live->spool->live) < RESERVE_BYTES &&
                          !sonde__spool_stream_grow(&live->spool->live));
    return !live->is_full;
}

/* Write the new samples, and the last one again, which may have grown. */
static void write_samples(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                          struct sonde__report_stall *part)
{
    const struct sonde__sampler_stall *stall = &loop->stall;
    struct sonde__report_sample *samples = NULL;
    struct sonde__report_uncovered uncovered[SONDE__SAMPLER_UNCOVERED_MAX];
    if (has_room(s)) {
        uint32_t first = loop->live_samples > 0 ? loop->live_samples - 1 : 0;
        first = first < stall->count ? first : stall->count;
        samples = make_samples(s, stall, first);
        part->samples = samples;
        part->sample_count = samples != NULL ? stall->count - first : 0;
        if (stall->uncovered_count != loop->live_uncovered || !part->open) {
            sonde__entry_to_uncovered(stall, s->live->report, uncovered);
            part->uncovered = uncovered;
            part->uncovered_count = stall->uncovered_count;
        }
        loop->live_samples = stall->count;
        loop->live_uncovered = stall->uncovered_count;
    }
    write_part(s, part);
    loop->live_doubts |= part->doubts;
    part->uncovered = NULL;
    part->samples = NULL;
    loop->live_ns = part->duration_ns;
    free(samples);
}

static bool is_off(const struct sonde__watch_session *s)
{
    return s->live == NULL || s->live->has_failed;
}

void sonde__watch_live_begin(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__sampler_stall *stall = &loop->stall;
    if (is_off(s)) {
        return;
    }
    struct sonde__watch_live *live = s->live;
    struct sonde__target *target = sonde__sampler_target(s->sampler);
    if (live->drain == NULL && target != NULL &&
        sonde__drain_create(live->report, target, NULL, &live->drain) != SONDE_OK) {
        live->drain = NULL;
    }
    struct sonde__report_stall part = part_of(s, loop, loop->decision.counted_ns);
    struct sonde__report_thread *threads =
        live->drain != NULL && has_room(s) ? make_threads(s, stall, &part.thread_count) : NULL;
    struct sonde__report_wait *waits = make_waits(s, stall, &part.wait_count);
    part.threads = threads;
    part.waits = waits;
    part.thread_name = stall->count > 0 ? text_id(live, stall->samples[0].sample.thread.name) : 0;
    part.loop = loop->slot->loop.kind <= SONDE__PROBE_TIMER ? loop->slot->loop.kind : 0;
    part.kind = loop->kind;
    part.loop_detail = text_id(live, loop->scope);
    part.loop_turns = loop->turns > 0 ? loop->turns - 1 : 0;
    part.main = sonde__watch_is_main(s, loop->tid);
    part.sampler = s->sampler != NULL ? sonde__sampler_way(s->sampler) : 0;
    if (stall->count > 0) {
        part.sampler =
            sonde__sampler_way_of((uint8_t)part.sampler, &stall->samples[stall->count - 1].sample);
    }
    struct sonde__report_annotation annotations[SONDE__SAMPLER_NOTES_MAX];
    sonde__sampler_to_notes(stall->notes, s->begin_ns, live->report, annotations, &part);
    loop->is_live = true;
    loop->live_samples = loop->live_uncovered = loop->live_doubts = 0;
    write_samples(s, loop, &part);
    free(threads);
    free(waits);
}

void sonde__watch_live_go_on(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    uint64_t now_ns = loop->decision.counted_ns;
    uint64_t step_ns = loop->live_ns / STAY_PART > STAY_NS ? loop->live_ns / STAY_PART : STAY_NS;
    if (is_off(s) || !loop->is_live ||
        (loop->live_samples == loop->stall.count && now_ns < loop->live_ns + step_ns)) {
        return;
    }
    struct sonde__report_stall part = part_of(s, loop, now_ns);
    part.cpu_ns = loop->account.turn_cpu_ns;
    part.runqueue_ns = loop->account.turn_runqueue_ns;
    write_samples(s, loop, &part);
}

void sonde__watch_live_doubt(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    if (is_off(s) || !loop->is_live || (doubts_of(s, loop) & ~loop->live_doubts) == 0) {
        return;
    }
    const struct sonde__report_stall part = part_of(s, loop, loop->live_ns);
    loop->live_doubts |= part.doubts;
    write_part(s, &part);
}

void sonde__watch_live_end(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                           uint64_t duration_ns, bool open)
{
    if (is_off(s) || !loop->is_live) {
        return;
    }
    struct sonde__report_stall part = part_of(s, loop, duration_ns);
    part.open = open;
    part.cpu_ns = loop->stall.cpu_ns;
    part.runqueue_ns = loop->stall.runqueue_ns;
    part.overhead_ns = loop->stall.overhead_ns;
    part.samples_early = loop->stall.early;
    part.load = loop->stall.load;
    write_samples(s, loop, &part);
    loop->is_live = false;
}

void sonde__watch_live_take_back(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    if (!is_off(s) && loop->is_live) {
        const struct sonde__report_stall part = part_of(s, loop, 0);
        write_part(s, &part);
    }
    loop->is_live = false;
}

void sonde__watch_live_settle(struct sonde__watch_session *s, bool is_written)
{
    if (is_off(s) || !s->live->is_used || !is_written) {
        return;
    }
    if (s->launch.is_live || sonde__watch_scopes_are_unsettled(s)) {
        return;
    }
    for (uint32_t i = 0; i < s->used; i++) {
        if (s->loops[i].is_live) {
            return;
        }
    }
    if (!begin_file(s->live, s->live->report)) {
        s->live->has_failed = true;
    }
}
