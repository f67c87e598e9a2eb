// SPDX-License-Identifier: Apache-2.0
#include "drain_script.h"

static uint32_t add_frame(struct sonde__report *report, const struct sonde__script *script,
                          const struct sonde__script_frame *frame, uint32_t parent)
{
    const struct sonde__report_frame record = {
        .kind = SONDE__REPORT_FRAME_SCRIPT,
        .name = sonde__report_string(report, frame->function),
        .file = frame->file[0] != '\0' ? sonde__report_string(report, frame->file) : 0,
        .line = frame->line,
        .language = sonde__report_string(report, script->language),
    };
    uint32_t id = sonde__report_add_frame(report, &record);
    return id != 0 ? sonde__report_add_node(report, parent, id) : 0;
}

uint32_t drain_script_run(struct sonde__report *report, const struct sonde__script *script,
                          uint32_t run, uint32_t parent)
{
    for (uint32_t i = script->count; i > 0; i--) {
        const struct sonde__script_frame *frame = &script->frames[i - 1];
        if (frame->run == run && (parent = add_frame(report, script, frame, parent)) == 0) {
            return 0;
        }
    }
    return parent;
}

static uint32_t add_gap(struct sonde__report *report, uint64_t lost_count)
{
    const struct sonde__report_frame gap = {.lost_count = lost_count};
    uint32_t frame = lost_count != 0 ? sonde__report_add_frame(report, &gap) : 0;
    return frame != 0 ? sonde__report_add_node(report, 0, frame) : 0;
}

uint32_t drain_script_all(struct sonde__report *report, const struct sonde__script *script)
{
    uint32_t node = add_gap(report, script->lost_count);
    for (uint32_t i = script->count; i > 0; i--) {
        node = add_frame(report, script, &script->frames[i - 1], node);
        if (node == 0) {
            return 0;
        }
    }
    return node;
}
