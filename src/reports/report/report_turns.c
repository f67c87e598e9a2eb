// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "report_turns.h"

#include "base_text.h"

#define NS_PER_S 1000000000u

static void put_turns(struct sonde__report_out *out, const struct sonde__report_end *end)
{
    const char *before = "long turns: ";
    for (uint32_t i = 0; i < end->turn_count_count && !out->stopped; i++) {
        const struct sonde__report_turn_count *turns = &end->turn_counts[i];
        if (turns->count == 0) {
            continue;
        }
        sonde__report_out_print(out, "%s%" PRIu64 " of %s", before, turns->count,
                                sonde__report_duration(turns->from_ns).text);
        if (turns->to_ns != 0) {
            sonde__report_out_print(out, " to %s", sonde__report_duration(turns->to_ns).text);
        } else {
            sonde__report_out_str(out, " and more");
        }
        before = ", ";
    }
}

static void put_frames(struct sonde__report_out *out, const struct sonde__report_end *end)
{
    if (end->frame_ns != 0) {
        sonde__report_out_print(out, "%" PRIu64 " frame%s dropped at %" PRIu64 " a second",
                                end->frames_dropped, sonde__base_plural(end->frames_dropped),
                                (NS_PER_S + end->frame_ns / 2) / end->frame_ns);
    }
}

static bool write_text(void *ctx, const char *bytes, size_t size)
{
    sonde__base_text_bytes(ctx, bytes, size);
    return true;
}

void sonde__report_turns_text(const struct sonde__report_end *end, char *ret_text, size_t capacity)
{
    struct sonde__report_out out;
    struct sonde__text text;
    sonde__base_text_init(&text, ret_text, capacity);
    sonde__report_out_init(&out, (struct sonde__report_sink){write_text, &text}, false);
    put_turns(&out, end);
    sonde__report_out_str(&out, out.column != 0 && end->frame_ns != 0 ? "; " : "");
    put_frames(&out, end);
    sonde__report_out_flush(&out);
}
