// SPDX-License-Identifier: Apache-2.0
#include "drain_script.h"

#include <stdio.h>
#include <string.h>

/* Another drain of the report may have added it. */
static bool has_note(const struct sonde__report *report, const char *text)
{
    for (uint32_t i = 0; i < sonde__report_note_count(report); i++) {
        if (strcmp(sonde__report_note(report, i), text) == 0) {
            return true;
        }
    }
    return false;
}

void drain_script_note(struct sonde__report *report, const struct sonde__script *script,
                       const char *reason, struct drain_script_notes *notes)
{
    char text[192];
    if (reason == NULL) {
        return;
    }
    for (uint32_t i = 0; i < notes->count; i++) {
        if (notes->reasons[i] == reason) {
            return;
        }
    }
    if (notes->count == sizeof notes->reasons / sizeof *notes->reasons) {
        return;
    }
    notes->reasons[notes->count++] = reason;
    if (reason == script->doubt) {
        snprintf(text, sizeof text, "%s", reason);
    } else if (reason != script->why) {
        snprintf(text, sizeof text, "%s functions stand beside the stack of a thread: %s",
                 script->language, reason);
    } else if (script->language == NULL) {
        snprintf(text, sizeof text, "functions of scripts are not shown: %s", reason);
    } else {
        snprintf(text, sizeof text, "%s functions of a thread are not shown: %s", script->language,
                 reason);
    }
    if (!has_note(report, text)) {
        sonde__report_add_note(report, text);
    }
}

static uint32_t add_record(struct sonde__report *report, const struct sonde__script *script,
                           const char *function, const char *file, uint32_t line)
{
    const struct sonde__report_frame record = {
        .kind = SONDE__REPORT_FRAME_SCRIPT,
        .name = sonde__report_string(report, function),
        .file = file[0] != '\0' ? sonde__report_string(report, file) : 0,
        .line = line,
        .language = sonde__report_string(report, script->language),
    };
    return sonde__report_add_frame(report, &record);
}

static uint32_t add_frame(struct sonde__report *report, const struct sonde__script *script,
                          const struct sonde__script_frame *frame, uint32_t parent,
                          uint32_t awaiter)
{
    const struct sonde__script_creator *created = &frame->created;
    const struct sonde__report_node node = {
        .parent = parent,
        .creator = created->function != NULL
                       ? add_record(report, script, created->function, created->file, created->line)
                       : 0,
        .frame = add_record(report, script, frame->function, frame->file, frame->line),
        .awaiter = awaiter,
        .task = frame->task != NULL ? sonde__report_string(report, frame->task) : 0,
    };
    return node.frame != 0 ? sonde__report_add_node_value(report, &node) : 0;
}

/* Add frames of tasks that await each other, the last one first. Returns the innermost
 * frame; 0: there are none. */
static uint32_t add_waiting(struct sonde__report *report, const struct sonde__script *script,
                            const struct sonde__script_frame *frames, uint32_t count)
{
    uint32_t node = 0;
    for (uint32_t i = count; i > 0; i--) {
        const struct sonde__script_frame *frame = &frames[i - 1];
        bool begins = frame->task != NULL;
        node = add_frame(report, script, frame, begins ? 0 : node, begins ? node : 0);
        if (node == 0) {
            return 0;
        }
    }
    return node;
}

/* Is it the outermost frame of the innermost task? */
static bool is_awaited(const struct sonde__script *script, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (script->frames[i].task != NULL) {
            return false;
        }
    }
    return script->frames[index].task != NULL;
}

static uint32_t add_at(struct sonde__report *report, const struct sonde__script *script,
                       uint32_t index, uint32_t parent)
{
    uint32_t awaiter = is_awaited(script, index)
                           ? add_waiting(report, script, script->waiting, script->waiting_count)
                           : 0;
    return add_frame(report, script, &script->frames[index], parent, awaiter);
}

uint32_t drain_script_run(struct sonde__report *report, const struct sonde__script *script,
                          uint32_t run, uint32_t parent)
{
    for (uint32_t i = script->count; i > 0; i--) {
        if (script->frames[i - 1].run == run &&
            (parent = add_at(report, script, i - 1, parent)) == 0) {
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
        node = add_at(report, script, i - 1, node);
        if (node == 0) {
            return 0;
        }
    }
    return node;
}

void drain_script_tasks(struct sonde__report *report, const struct sonde__script *script,
                        const struct sonde__report_thread *thread)
{
    for (uint32_t i = 0; i < script->parked_count; i++) {
        const struct sonde__script_parked *parked = &script->parked[i];
        const struct sonde__report_tasks tasks = {
            .tid = thread->tid,
            .process = thread->process,
            .stack = add_waiting(report, script, parked->frames, parked->count),
            .count = parked->tasks,
        };
        (void)sonde__report_add_tasks(report, &tasks);
    }
}
