// SPDX-License-Identifier: Apache-2.0
/* speedscope's own format (https://www.speedscope.app/file-format-schema.json): for each stall a
 * "sampled" profile in order of time, weighted in nanoseconds, and one for the other threads of
 * that time.
 *
 * speedscope merges frames by number, so a frame of the file is a function here. It has a line only
 * if all frames of the function have the same one. */
#include <inttypes.h>

#include "base_text.h"
#include "export_formats.h"
#include "export_json.h"

struct speedscope {
    struct sonde__report_out out;
    const struct sonde__export_set *set;
    struct sonde__export_path path;
    bool with_threads; /* add the thread as the outermost frame */
    bool filled;
};

static void put_frame(struct speedscope *s, uint32_t number)
{
    const struct sonde__export_function *f = &s->set->functions.list[number];
    sonde__report_out_str(&s->out, "{\"name\":");
    sonde__export_json_function(&s->out, &s->set->functions, number);
    if (f->file != 0) {
        sonde__report_out_str(&s->out, ",\"file\":");
        sonde__export_json_string(&s->out, sonde__report_text(s->set->report, f->file));
    } else if (f->image != 0) { /* the next best place */
        sonde__report_out_str(&s->out, ",\"file\":");
        sonde__export_json_string(
            &s->out, sonde__report_text(s->set->report,
                                        sonde__report_image(s->set->report, f->image)->path));
    }
    if (f->file != 0 && f->line != 0 && !f->several_lines) {
        sonde__report_out_print(&s->out, ",\"line\":%u", f->line);
    }
    sonde__report_out_str(&s->out, "}");
}

static bool put_stack(void *ctx, const struct sonde__export_sample *sample)
{
    struct speedscope *s = ctx;
    uint32_t root =
        s->with_threads ? sonde__export_function_find(&s->set->functions, sample->thread) + 1 : 0;
    sonde__export_path_read(&s->path, &s->set->functions, sample->stack, sample->leaf, root);
    sonde__export_json_comma(&s->out, &s->filled);
    for (uint32_t i = s->path.count; i > 0; i--) { /* outermost first */
        sonde__report_out_print(&s->out, "%s%u", i == s->path.count ? "[" : ",",
                                s->path.places[i - 1].function);
    }
    sonde__report_out_str(&s->out, "]\n");
    return !s->out.stopped;
}

static bool put_weight(void *ctx, const struct sonde__export_sample *sample)
{
    struct speedscope *s = ctx;
    sonde__export_json_comma(&s->out, &s->filled);
    sonde__report_out_dec(&s->out, sample->weight);
    return !s->out.stopped;
}

static void put_profile(struct speedscope *s, const struct sonde__export_series *series)
{
    struct sonde__export_json_text text;
    struct sonde__export_sum sum = sonde__export_sum(s->set, series);
    bool is_time = sonde__export_is_time(series->kind);
    uint64_t begin = series->kind == SONDE__EXPORT_STALL
                         ? sonde__report_stall(s->set->report, series->stall)->begin_ns
                         : 0;
    s->with_threads = series->kind == SONDE__EXPORT_THREADS || series->kind == SONDE__EXPORT_OTHERS;
    sonde__report_out_str(&s->out, "{\"type\":\"sampled\",\"name\":");
    sonde__export_json_begin(&text, &s->out);
    sonde__export_put_title(&text.out, s->set, series);
    sonde__export_json_end(&text);
    sonde__report_out_print(
        &s->out, "%s,\"startValue\":%" PRIu64 ",\"endValue\":%" PRIu64 ",\"samples\":[",
        is_time ? ",\"unit\":\"nanoseconds\"" : ",\"unit\":\"none\"", begin, begin + sum.weight);
    s->filled = false;
    sonde__export_each(s->set, series, put_stack, s);
    sonde__report_out_str(&s->out, "],\"weights\":[");
    s->filled = false;
    sonde__export_each(s->set, series, put_weight, s);
    sonde__report_out_str(&s->out, "]}");
}

static void put_profiles(struct speedscope *s)
{
    struct sonde__export_series series = {0};
    bool filled = false;
    for (uint32_t at = 0; !s->out.stopped && sonde__export_next(s->set, &at, &series);) {
        sonde__export_json_comma(&s->out, &filled);
        put_profile(s, &series);
        if (series.kind == SONDE__EXPORT_STALL &&
            sonde__report_stall(s->set->report, series.stall)->thread_count != 0) {
            series.kind = SONDE__EXPORT_OTHERS;
            sonde__export_json_comma(&s->out, &filled);
            put_profile(s, &series);
        }
    }
    if (series.kind <= SONDE__EXPORT_LOOSE &&
        (!filled || sonde__report_thread_count(s->set->report) != 0)) {
        /* stacks that a watch captured on request; else an empty profile, because speedscope needs
         * one */
        series.kind = SONDE__EXPORT_THREADS;
        sonde__export_json_comma(&s->out, &filled);
        put_profile(s, &series);
    }
}

bool sonde__export_speedscope(const struct sonde__export_set *set, struct sonde__report_sink sink)
{
    const struct sonde__report_header *header = sonde__report_header(set->report);
    struct speedscope s = {.set = set};
    if (sonde__export_path_make(&s.path) != SONDE_OK) {
        return false;
    }
    sonde__report_out_init(&s.out, sink, false);
    sonde__report_out_str(
        &s.out,
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":");
    sonde__export_json_string(&s.out, header->tool);
    sonde__report_out_str(&s.out, ",\"name\":");
    sonde__export_json_string(&s.out, sonde__base_file_name(header->executable));
    sonde__report_out_str(&s.out, ",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
    for (uint32_t i = 0; i < set->functions.count && !s.out.stopped; i++) {
        sonde__report_out_str(&s.out, i == 0 ? "" : ",\n");
        put_frame(&s, i);
    }
    sonde__report_out_str(&s.out, "]},\"profiles\":[");
    put_profiles(&s);
    sonde__report_out_str(&s.out, "]}\n");
    sonde__report_out_flush(&s.out);
    sonde__export_path_done(&s.path);
    return true;
}
