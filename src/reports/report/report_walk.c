// SPDX-License-Identifier: Apache-2.0
#include "report_walk.h"

void sonde__report_walk_begin(struct sonde__report_walk *walk, const struct sonde__report *report,
                              uint32_t stack)
{
    *walk = (struct sonde__report_walk){.report = report, .node = stack};
}

static bool is_async(const struct sonde__report_frame *frame)
{
    return (frame->how & SONDE_HOW_FOUND_MASK) == SONDE_FOUND_ASYNC;
}

bool sonde__report_walk_next(struct sonde__report_walk *walk, struct sonde__report_step *ret_step)
{
    const struct sonde__report_node *node = sonde__report_node(walk->report, walk->node);
    const struct sonde__report_frame *frame = sonde__report_frame(walk->report, node->frame);
    struct sonde__report_step step = {
        .frame = frame, .depth = walk->depth, .runs_script = walk->runs_script};
    uint32_t part = walk->part++;
    if (walk->node == 0) {
        return false;
    }
    if (walk->awaiter == 0) {
        walk->awaiter = node->awaiter;
    }
    if (frame->kind == SONDE__REPORT_FRAME_SCRIPT) {
        step.kind = SONDE__REPORT_STEP_SCRIPT;
        step.task = node->task;
        step.creator = node->creator;
        walk->node = node->parent;
        walk->part = 0;
        walk->runs_script = true;
        *ret_step = step;
        return true;
    }
    if (frame->lost_count != 0) {
        step.kind = SONDE__REPORT_STEP_GAP;
        walk->depth += frame->lost_count;
    } else if (part < frame->inlined_count) {
        step.kind = SONDE__REPORT_STEP_INLINED;
        step.inlined = &frame->inlined[part];
    } else if (part == frame->inlined_count) {
        step.kind = is_async(frame) ? SONDE__REPORT_STEP_ASYNC : SONDE__REPORT_STEP_PHYSICAL;
    } else {
        step.kind = SONDE__REPORT_STEP_TAIL_CALL;
        step.frame =
            sonde__report_frame(walk->report, node->tail_calls[part - frame->inlined_count - 1]);
    }
    if (frame->lost_count != 0 || part == frame->inlined_count + node->tail_call_count) {
        walk->node = node->parent;
        walk->part = 0;
        walk->runs_script = false;
        walk->depth += frame->lost_count == 0;
    }
    *ret_step = step;
    return true;
}

struct sonde__report_shown sonde__report_shown(const struct sonde__report_step *step)
{
    const struct sonde__report_frame *frame = step->frame;
    if (step->kind == SONDE__REPORT_STEP_INLINED) {
        return (struct sonde__report_shown){step->inlined->name, step->inlined->file,
                                            step->inlined->line};
    }
    return (struct sonde__report_shown){frame->name, frame->file, frame->line};
}

bool sonde__report_has_script(const struct sonde__report *report, uint32_t stack)
{
    for (uint32_t id = stack; id != 0;) {
        const struct sonde__report_node *node = sonde__report_node(report, id);
        if (sonde__report_frame(report, node->frame)->kind == SONDE__REPORT_FRAME_SCRIPT) {
            return true;
        }
        id = node->parent;
    }
    return false;
}

bool sonde__report_is_interpreter(const struct sonde__report *report,
                                  const struct sonde__report_frame *frame)
{
    return frame->kind != SONDE__REPORT_FRAME_SCRIPT && frame->image != 0 &&
           (sonde__report_image(report, frame->image)->flags & SONDE__REPORT_IMAGE_INTERPRETER) !=
               0;
}
