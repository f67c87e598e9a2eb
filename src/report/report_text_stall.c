// SPDX-License-Identifier: Apache-2.0
/* A stall for people. */
#include "report_view.h"

static const struct sonde__report_sample *heaviest_sample(const struct sonde__report_stall *stall)
{
    const struct sonde__report_sample *best = NULL;
    for (uint32_t i = 0; i < stall->sample_count; i++) {
        if (best == NULL || stall->samples[i].weight_ns > best->weight_ns) {
            best = &stall->samples[i];
        }
    }
    return best;
}

void sonde__report_put_stall(struct sonde__report_out *out, const struct sonde__report *report,
                             uint32_t index, const struct sonde__report_view *view)
{
    const struct sonde__report_stall *stall = sonde__report_stall(report, index);
    const struct sonde__report_sample *sample = heaviest_sample(stall);
    const char *name = sonde__report_text(report, stall->thread_name);
    sonde__report_out_str(out, "\nstall ");
    sonde__report_out_dec(out, (uint64_t)index + 1);
    sonde__report_out_str(out, ": ");
    sonde__report_out_duration(out, stall->duration_ns);
    sonde__report_out_str(out, "  thread ");
    sonde__report_out_int(out, stall->tid);
    if (*name != '\0') {
        sonde__report_out_str(out, " \"");
        sonde__report_out_text(out, name);
        sonde__report_out_str(out, "\"");
    }
    sonde__report_out_str(out, "\n");
    if (sample != NULL) {
        sonde__report_put_stack(out, report, sample->stack, 2);
    }
    sonde__report_put_threads(out, report, stall->threads, stall->thread_count, view->unfolded);
}
