// SPDX-License-Identifier: Apache-2.0
/* Numbers the rows of the frame and stack tables. */
#include "export_firefox.h"
#include "mem_heap.h"

/* Fixed rows at the start of the stack table. */
enum { ROW_NOT_SAMPLED, ROW_NO_STACK, ROWS };

static uint64_t rows_of(const struct sonde__export_firefox *f, uint32_t node_id)
{
    const struct sonde__report_node *node = sonde__report_node(f->set->report, node_id);
    const struct sonde__report_frame *frame = sonde__report_frame(f->set->report, node->frame);
    return frame->lost_count != 0 ? 1 : 1 + (uint64_t)frame->inlined_count + node->tail_call_count;
}

uint64_t sonde__export_firefox_row(const struct sonde__export_firefox *f,
                                   const struct sonde__export_sample *sample, uint64_t call)
{
    uint32_t nodes = sonde__report_node_count(f->set->report);
    if (sample->leaf == SONDE__EXPORT_NOT_SAMPLED + 1) {
        return ROW_NOT_SAMPLED;
    }
    if (sample->leaf != 0) {
        return f->first_stack_row[nodes + 1] + call;
    }
    return sample->stack == 0 || sample->stack > nodes ? ROW_NO_STACK
                                                       : f->first_stack_row[sample->stack + 1] - 1;
}

static bool number_sources(struct sonde__export_firefox *f)
{
    const struct sonde__export_functions *t = &f->set->functions;
    f->sources = sonde__mem_alloc_zeroed(((size_t)sonde__report_string_count(f->set->report) + 1) *
                                         sizeof *f->sources);
    for (uint32_t i = 0; f->sources != NULL && i < t->count; i++) {
        if (t->list[i].file != 0 && f->sources[t->list[i].file] == 0) {
            f->sources[t->list[i].file] = ++f->source_count;
        }
    }
    return f->sources != NULL;
}

static bool number_rows(struct sonde__export_firefox *f)
{
    const struct sonde__report *r = f->set->report;
    uint32_t frames = sonde__report_frame_count(r), nodes = sonde__report_node_count(r);
    uint64_t row = f->set->functions.count; /* functions without a frame come first */
    f->first_frame_row = sonde__mem_alloc_array((size_t)frames + 1, sizeof *f->first_frame_row);
    f->first_stack_row = sonde__mem_alloc_array((size_t)nodes + 2, sizeof *f->first_stack_row);
    if (f->first_frame_row == NULL || f->first_stack_row == NULL) {
        return false;
    }
    for (uint32_t id = 1; id <= frames; id++) {
        f->first_frame_row[id] = row;
        row += 1 + (uint64_t)sonde__report_frame(r, id)->inlined_count;
    }
    row = ROWS;
    for (uint32_t id = 1; id <= nodes; id++) {
        f->first_stack_row[id] = row;
        row += rows_of(f, id);
    }
    f->first_stack_row[nodes + 1] = row;
    return true;
}

bool sonde__export_firefox_number(struct sonde__export_firefox *f)
{
    return number_rows(f) && number_sources(f);
}
