// SPDX-License-Identifier: Apache-2.0
/* The threads of a Firefox profile, with weighted samples and markers.
 *
 * A thread that stalled has the samples of its stalls, weighted in milliseconds. A thread that was
 * only seen during other threads' stalls has samples of weight 1. Records without a thread
 * (recorded calls, heap blocks) are put in one artificial thread. */
#include <inttypes.h>

#include "base_text.h"
#include "export_firefox.h"
#include "export_strings.h"

/* Columns of the samples table. */
enum column { STACK, TIME, WEIGHT };

struct samples {
    struct sonde__export_firefox *f;
    enum column column;
    bool is_time;     /* weights are nanoseconds */
    uint64_t last_ns; /* times must not decrease */
    uint64_t count;
};

static bool put_sample(void *ctx, const struct sonde__export_sample *sample)
{
    struct samples *s = ctx;
    struct sonde__report_out *out = &s->f->out;
    sonde__export_json_comma(out, &s->f->filled);
    switch (s->column) {
    case STACK:
        sonde__report_out_dec(out, sonde__export_firefox_row(s->f, sample, s->count));
        break;
    case TIME:
        s->last_ns = sample->at_ns > s->last_ns ? sample->at_ns : s->last_ns;
        sonde__export_json_ms(out, s->last_ns);
        break;
    case WEIGHT:
        if (s->is_time) {
            sonde__export_json_ms(out, sample->weight);
        } else {
            sonde__report_out_dec(out, sample->weight);
        }
        break;
    }
    s->count++;
    return !out->stopped;
}

/* When a thread was seen. */
static uint64_t time_of(const struct sonde__report *r, const struct sonde__export_appearance *seen)
{
    return seen->stall != 0 ? sonde__report_stall(r, seen->stall - 1)->begin_ns
                            : sonde__export_thread_of(r, seen)->time_ns;
}

/* track null: records without a thread. */
static void put_all_samples(struct samples *s, const struct sonde__export_track *track)
{
    const struct sonde__export_set *set = s->f->set;
    uint32_t at = 0;
    struct sonde__export_series series;
    if (track == NULL) {
        if (sonde__export_next(set, &at, &series) && series.kind >= SONDE__EXPORT_CALLS) {
            sonde__export_each(set, &series, put_sample, s);
        }
        return;
    }
    for (uint32_t i = 0; i < track->count && !s->f->out.stopped; i++) {
        const struct sonde__export_appearance *seen = &s->f->tracks.appearances[track->first + i];
        const struct sonde__report_thread *thread = sonde__export_thread_of(set->report, seen);
        if (thread == NULL) {
            series = (struct sonde__export_series){SONDE__EXPORT_STALL, seen->stall - 1};
            sonde__export_each(set, &series, put_sample, s);
        } else if (!track->stalls) {
            const struct sonde__export_sample sample = {
                .stack = thread->stack, .at_ns = time_of(set->report, seen), .weight = 1};
            (void)put_sample(s, &sample);
        }
    }
}

static void put_samples(struct sonde__export_firefox *f, const struct sonde__export_track *track)
{
    static const char *const keys[] = {"\"stack\":[", "],\n\"time\":[", "],\n\"weight\":["};
    struct samples s = {.f = f, .is_time = track != NULL && track->stalls};
    sonde__report_out_str(&f->out, ",\"samples\":{");
    for (enum column column = STACK; column <= WEIGHT; column++) {
        s.column = column;
        s.count = 0;
        f->filled = false;
        sonde__report_out_str(&f->out, keys[column]);
        put_all_samples(&s, track);
    }
    sonde__report_out_str(&f->out, s.is_time ? "],\"weightType\":\"tracing-ms\""
                                             : "],\"weightType\":\"samples\"");
    sonde__export_firefox_end_table(f, s.count);
}

/* --- markers --- */

static void put_stall_data(struct sonde__export_firefox *f, uint32_t index)
{
    const struct sonde__report_stall *stall = sonde__report_stall(f->set->report, index);
    sonde__report_out_print(
        &f->out, "{\"type\":\"Stall\",\"number\":%" PRIu64 ",\"cpu\":", (uint64_t)index + 1);
    sonde__export_json_ms(&f->out, stall->cpu_ns);
    sonde__report_out_str(&f->out, ",\"runqueue\":");
    sonde__export_json_ms(&f->out, stall->runqueue_ns);
    sonde__report_out_str(&f->out, ",\"loop\":");
    sonde__export_json_string(&f->out, sonde__report_text(f->set->report, stall->loop_detail));
    sonde__report_out_str(&f->out, "}");
}

static void put_stack_data(struct sonde__export_firefox *f,
                           const struct sonde__report_thread *thread)
{
    const struct sonde__export_sample sample = {.stack = thread->stack};
    const char state[] = {thread->state > ' ' && thread->state < 0x7f ? (char)thread->state : '?',
                          '\0'};
    sonde__report_out_str(&f->out, "{\"type\":\"Stack\",\"state\":");
    sonde__export_json_string(&f->out, state);
    sonde__report_out_str(&f->out, ",\"waits\":");
    sonde__export_json_string(&f->out, sonde__report_text(f->set->report, thread->detail));
    if (thread->stack != 0) {
        sonde__report_out_print(&f->out, ",\"cause\":{\"stack\":%" PRIu64 "}",
                                sonde__export_firefox_row(f, &sample, 0));
    }
    sonde__report_out_str(&f->out, "}");
}

typedef void marker_cell(struct sonde__export_firefox *f,
                         const struct sonde__export_appearance *seen);

static void put_data(struct sonde__export_firefox *f, const struct sonde__export_appearance *seen)
{
    const struct sonde__report_thread *thread = sonde__export_thread_of(f->set->report, seen);
    if (thread == NULL) {
        put_stall_data(f, seen->stall - 1);
    } else {
        put_stack_data(f, thread);
    }
}

static void put_name(struct sonde__export_firefox *f, const struct sonde__export_appearance *seen)
{
    sonde__report_out_dec(
        &f->out, sonde__export_string_of_word(f->set, seen->thread == 0 ? SONDE__FIREFOX_STALL
                                                                        : SONDE__FIREFOX_STACK));
}

static void put_begin(struct sonde__export_firefox *f, const struct sonde__export_appearance *seen)
{
    sonde__export_json_ms(&f->out, time_of(f->set->report, seen));
}

static void put_end(struct sonde__export_firefox *f, const struct sonde__export_appearance *seen)
{
    if (seen->thread != 0) {
        sonde__report_out_str(&f->out, "null");
        return;
    }
    const struct sonde__report_stall *stall = sonde__report_stall(f->set->report, seen->stall - 1);
    sonde__export_json_ms(&f->out, stall->begin_ns + stall->duration_ns);
}

/* Write an interval, or an instant. */
static void put_phase(struct sonde__export_firefox *f, const struct sonde__export_appearance *seen)
{
    sonde__report_out_str(&f->out, seen->thread == 0 ? "1" : "0");
}

static void put_category(struct sonde__export_firefox *f,
                         const struct sonde__export_appearance *seen)
{
    (void)seen;
    sonde__report_out_str(&f->out, "0");
}

static void put_markers(struct sonde__export_firefox *f, const struct sonde__export_track *track)
{
    static const struct {
        const char *key;
        marker_cell *put;
    } columns[] = {
        {",\n\"markers\":{\"data\":[", put_data},
        {"],\"name\":[", put_name},
        {"],\"startTime\":[", put_begin},
        {"],\"endTime\":[", put_end},
        {"],\"phase\":[", put_phase},
        {"],\"category\":[", put_category},
    };
    uint32_t count = track != NULL ? track->count : 0;
    for (unsigned c = 0; c < sizeof columns / sizeof *columns; c++) {
        sonde__report_out_str(&f->out, columns[c].key);
        f->filled = false;
        for (uint32_t i = 0; i < count && !f->out.stopped; i++) {
            sonde__export_json_comma(&f->out, &f->filled);
            columns[c].put(f, &f->tracks.appearances[track->first + i]);
        }
    }
    sonde__report_out_str(&f->out, "]");
    sonde__export_firefox_end_table(f, count);
}

/* --- threads --- */

static void put_thread(struct sonde__export_firefox *f, const struct sonde__export_track *track,
                       const char *name, int64_t tid)
{
    const struct sonde__report_header *header = sonde__report_header(f->set->report);
    sonde__report_out_str(&f->out,
                          "{\"processType\":\"default\",\"processStartupTime\":0,"
                          "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
                          "\"pausedRanges\":[],\"showMarkersInTimeline\":true,\"name\":");
    sonde__export_json_string(&f->out, *name != '\0' ? name : "thread");
    sonde__report_out_print(&f->out, ",\"isMainThread\":%s,\"processName\":",
                            track == NULL || track->main ? "true" : "false");
    sonde__export_json_string(&f->out, sonde__base_file_name(header->executable));
    sonde__report_out_print(&f->out, ",\"pid\":\"%d\",\"tid\":\"%" PRId64 "\"", header->pid, tid);
    put_samples(f, track);
    put_markers(f, track);
    sonde__report_out_str(&f->out, "}");
}

void sonde__export_firefox_threads(struct sonde__export_firefox *f)
{
    struct sonde__export_series series = {.kind = SONDE__EXPORT_THREADS};
    uint32_t at = 0;
    bool filled = false;
    bool has_series = sonde__export_next(f->set, &at, &series);
    if (f->tracks.count == 0 || (has_series && series.kind >= SONDE__EXPORT_CALLS)) {
        const char *name = series.kind == SONDE__EXPORT_CALLS    ? "calls"
                           : series.kind == SONDE__EXPORT_BLOCKS ? "live blocks"
                                                                 : "no stacks";
        put_thread(f, NULL, name, sonde__report_header(f->set->report)->pid);
        filled = true;
    }
    for (uint32_t i = 0; i < f->tracks.count && !f->out.stopped; i++) {
        const struct sonde__export_track *track = &f->tracks.list[i];
        sonde__report_out_str(&f->out, filled ? ",\n" : "");
        filled = true;
        put_thread(f, track, sonde__report_text(f->set->report, track->name), track->tid);
    }
}
