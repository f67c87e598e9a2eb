// SPDX-License-Identifier: Apache-2.0
/* Folded stacks, as flame graph tools read them:
 *
 *   worker;start_thread;run;fsync 3
 *
 * The suffixes of names are those of stackcollapse-perf.pl: _[i] inlined, _[j] JIT; _[t] (tail
 * call) is ours. Equal lines are merged in batches of limited size, so a line may be repeated; all
 * readers add up equal lines. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base_text.h"
#include "export_formats.h"
#include "mem_heap.h"
#include "report_view.h"
#include "report_walk.h"

/* Bytes of lines in one batch. */
#define FOLDED_BYTES_MAX ((size_t)64 << 20)
/* Frames of one stack; the outermost frames of a deeper one are replaced by their count. */
#define FOLDED_FRAMES_MAX SONDE__REPORT_VIEW_FRAMES_MAX

struct line {
    size_t at;        /* offset in `bytes`, which move as they grow */
    const char *text; /* valid until bytes are added */
    uint64_t weight;
};

struct folded {
    struct sonde__report_out out; /* into `bytes` */
    const struct sonde__export_set *set;
    const struct sonde__report *report;
    struct sonde__report_sink sink;
    struct sonde__report_step *steps; /* steps of one stack, FOLDED_FRAMES_MAX */
    char *bytes;                      /* lines, each NUL-terminated */
    size_t used, capacity;
    struct line *lines;
    size_t count, line_capacity;
    bool failed;  /* no memory */
    bool stopped; /* by the sink */
};

static bool collect(void *ctx, const char *bytes, size_t size)
{
    struct folded *f = ctx;
    while (f->used + size > f->capacity && !f->failed) {
        f->failed = !sonde__mem_grow(&f->bytes, f->capacity, &f->capacity, 1);
    }
    if (!f->failed) {
        memcpy(f->bytes + f->used, bytes, size);
        f->used += size;
    }
    return !f->failed;
}

/* --- output of lines --- */

static int by_text(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    return strcmp(a->text, b->text);
}

static void flush(struct folded *f)
{
    struct sonde__report_out out;
    sonde__report_out_init(&out, f->sink, false);
    for (size_t i = 0; i < f->count; i++) {
        f->lines[i].text = f->bytes + f->lines[i].at;
    }
    if (f->count != 0) {
        qsort(f->lines, f->count, sizeof *f->lines, by_text);
    }
    for (size_t i = 0; i < f->count && !out.stopped;) {
        const char *text = f->lines[i].text;
        uint64_t weight = 0;
        for (; i < f->count && strcmp(text, f->lines[i].text) == 0; i++) {
            weight += f->lines[i].weight;
        }
        sonde__report_out_print(&out, "%s %" PRIu64 "\n", text, weight);
    }
    sonde__report_out_flush(&out);
    f->stopped = out.stopped;
    f->count = 0;
    f->used = 0;
}

/* --- one stack --- */

static void put_step(struct folded *f, const struct sonde__report_step *step)
{
    switch (step->kind) {
    case SONDE__REPORT_STEP_INLINED:
        sonde__report_put_name(&f->out, f->report, step->inlined->name);
        sonde__report_out_str(&f->out, "_[i]");
        break;
    case SONDE__REPORT_STEP_GAP:
        sonde__report_out_print(&f->out, "(%" PRIu64 " frames left out)", step->frame->lost_count);
        break;
    case SONDE__REPORT_STEP_TAIL_CALL:
        if (step->frame->alternatives != 0) {
            sonde__report_out_str(&f->out, "(tail calls)");
            break;
        }
        sonde__report_put_function(&f->out, f->report, step->frame);
        sonde__report_out_str(&f->out, "_[t]");
        break;
    case SONDE__REPORT_STEP_SCRIPT: /* "save (session.py)", as Python's tools fold */
        sonde__report_put_name(&f->out, f->report, step->frame->name);
        if (step->frame->file != 0) {
            sonde__report_out_print(
                &f->out, " (%s)",
                sonde__base_file_name(sonde__report_text(f->report, step->frame->file)));
        }
        break;
    default:
        if (step->frame->image == 0 && step->frame->name == 0 && step->frame->code_id != 0) {
            sonde__report_out_str(&f->out, "(code ");
            sonde__report_out_code_id(&f->out, step->frame->code_id);
            sonde__report_out_str(&f->out, ")");
            break;
        }
        sonde__report_put_function(&f->out, f->report, step->frame);
        if (step->frame->name_source == SONDE__REPORT_NAME_JIT) {
            sonde__report_out_str(&f->out, "_[j]");
        }
    }
}

/* Replace semicolons after `from`, because they separate frames. */
static void no_semicolons(struct folded *f, size_t from)
{
    for (size_t i = from; i < f->used; i++) {
        f->bytes[i] = f->bytes[i] == ';' ? ':' : f->bytes[i];
    }
}

static void put_part(struct folded *f, const char *text, const struct sonde__report_step *step)
{
    size_t from = f->used;
    if (step != NULL) {
        put_step(f, step);
    } else {
        sonde__report_out_text(&f->out, text);
    }
    sonde__report_out_flush(&f->out);
    no_semicolons(f, from);
}

static void put_separator(struct folded *f, size_t begin)
{
    if (f->used != begin) {
        (void)collect(f, ";", 1);
    }
}

/* below, above: texts outside and inside all frames, or "". */
static void put_stack(struct folded *f, const char *below, uint32_t stack, const char *above,
                      uint64_t weight)
{
    struct sonde__report_walk walk;
    uint32_t count = 0;
    size_t begin = f->used;
    if (f->failed || weight == 0 ||
        (f->count >= f->line_capacity &&
         !sonde__mem_grow(&f->lines, f->count, &f->line_capacity, sizeof *f->lines))) {
        f->failed = f->failed || weight != 0;
        return;
    }
    put_part(f, below, NULL);
    sonde__report_walk_begin(&walk, f->report, stack);
    while (count < FOLDED_FRAMES_MAX && sonde__report_walk_next(&walk, &f->steps[count])) {
        count++;
    }
    if (walk.node != 0) {
        put_separator(f, begin);
        sonde__report_out_print(&f->out, "(%u more frames)",
                                sonde__report_node(f->report, walk.node)->depth);
        sonde__report_out_flush(&f->out);
    }
    for (uint32_t i = count; i > 0 && !f->failed; i--) {
        put_separator(f, begin);
        put_part(f, NULL, &f->steps[i - 1]);
    }
    if (*above != '\0') {
        put_separator(f, begin);
        put_part(f, above, NULL);
    }
    if (f->used == begin) {
        put_part(f, "(no stack)", NULL);
    }
    if (collect(f, "", 1)) {
        f->lines[f->count++] = (struct line){.at = begin, .weight = weight};
    }
    if (f->used > FOLDED_BYTES_MAX) {
        flush(f);
    }
}

/* --- the whole report --- */

static bool put_sample(void *ctx, const struct sonde__export_sample *sample)
{
    struct folded *f = ctx;
    const char *above = "";
    if (sample->leaf != 0) {
        const struct sonde__export_function *leaf = &f->set->functions.list[sample->leaf - 1];
        above = leaf->kind == SONDE__EXPORT_LITERAL ? "(not sampled)"
                                                    : sonde__report_text(f->report, leaf->name);
    }
    put_stack(f, sonde__report_text(f->report, sample->thread), sample->stack, above,
              sample->weight);
    return !f->failed && !f->stopped;
}

bool sonde__export_folded(const struct sonde__export_set *set, struct sonde__report_sink sink)
{
    struct folded f = {.set = set, .report = set->report, .sink = sink};
    struct sonde__export_series series;
    uint32_t at = 0;
    sonde__report_out_init(&f.out, (struct sonde__report_sink){collect, &f}, false);
    f.out.raw_names = set->functions.raw_names;
    f.steps = sonde__mem_alloc_array(FOLDED_FRAMES_MAX, sizeof *f.steps);
    while (f.steps != NULL && !f.failed && !f.stopped && sonde__export_next(set, &at, &series)) {
        sonde__export_each(set, &series, put_sample, &f);
    }
    if (f.steps != NULL) {
        flush(&f);
    }
    bool is_whole = f.steps != NULL && !f.failed;
    sonde__mem_free(f.steps);
    sonde__mem_free(f.bytes);
    sonde__mem_free(f.lines);
    return is_whole;
}
