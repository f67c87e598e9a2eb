// SPDX-License-Identifier: Apache-2.0
#include "report_phase.h"

#include <string.h>

#include "base_text.h"
#include "report_store.h"
#include "report_walk.h"

/* A phase with a smaller share of the samples' time is left out. */
#define PERCENT_MIN 10u

struct phase {
    const char *function, *loop, *name;
};

/* In the order of a turn. Inlined functions have names, too, where there is debug information. */
static const struct phase phases[] = {
    {"g_main_context_prepare", "GLib", "prepare"},
    {"g_main_context_prepare_unlocked", "GLib", "prepare"}, /* since 2.79 */
    {"g_main_context_query", "GLib", "query"},
    {"g_main_context_query_unlocked", "GLib", "query"},
    {"g_main_context_check", "GLib", "check"},
    {"g_main_context_check_unlocked", "GLib", "check"},
    {"g_main_context_dispatch", "GLib", "dispatch"},
    {"g_main_context_dispatch_unlocked", "GLib", "dispatch"},
    {"uv__run_timers", "libuv", "timers"},
    {"uv__run_pending", "libuv", "pending"},
    {"uv__run_idle", "libuv", "idle"},
    {"uv__run_prepare", "libuv", "prepare"},
    {"uv__io_poll", "libuv", "poll"},
    {"uv__run_check", "libuv", "check"},
    {"uv__run_closing_handles", "libuv", "closing"},
};
enum { PHASES = sizeof phases / sizeof *phases };

static int32_t find_phase(const char *function)
{
    if (strncmp(function, "uv__", 4) != 0 && strncmp(function, "g_main_context_", 15) != 0) {
        return -1;
    }
    for (int32_t i = 0; i < PHASES; i++) {
        if (strcmp(phases[i].function, function) == 0) {
            return i;
        }
    }
    return -1;
}

/* The outermost one on the stack; -1: none. */
static int32_t phase_of_stack(const struct sonde__report *report, uint32_t stack)
{
    struct sonde__report_walk walk;
    struct sonde__report_step step;
    int32_t found = -1;
    sonde__report_walk_begin(&walk, report, stack);
    while (sonde__report_walk_next(&walk, &step)) {
        bool is_native = step.kind == SONDE__REPORT_STEP_PHYSICAL ||
                         step.kind == SONDE__REPORT_STEP_INLINED ||
                         step.kind == SONDE__REPORT_STEP_TAIL_CALL;
        int32_t phase =
            is_native ? find_phase(sonde__report_text(report, sonde__report_shown(&step).name))
                      : -1;
        found = phase >= 0 ? phase : found;
    }
    return found;
}

/* Names that are equal (of two versions of a function) come next to each other. */
static void put_phases(struct sonde__text *text, const uint64_t weights[PHASES], uint64_t total_ns)
{
    const struct phase *before = NULL;
    for (int32_t i = 0; i < PHASES; i++) {
        const struct phase *phase = &phases[i];
        bool is_small = weights[i] == 0 || weights[i] < total_ns / 100 * PERCENT_MIN;
        if (is_small || (before != NULL && strcmp(before->name, phase->name) == 0)) {
            continue;
        }
        sonde__base_text_str(text, before != NULL ? ", " : "");
        if (before == NULL || strcmp(before->loop, phase->loop) != 0) {
            sonde__base_text_str(text, phase->loop);
            sonde__base_text_str(text, ": ");
        }
        sonde__base_text_str(text, phase->name);
        before = phase;
    }
}

uint32_t sonde__report_loop_phase(struct sonde__report *report,
                                  const struct sonde__report_stall *stall)
{
    uint64_t weights[PHASES] = {0}, total_ns = 0;
    char names[256];
    struct sonde__text text;
    for (uint32_t i = 0; i < stall->sample_count; i++) {
        const struct sonde__report_sample *sample = &stall->samples[i];
        int32_t phase = phase_of_stack(report, sample->stack);
        total_ns += sample->weight_ns;
        if (phase >= 0) {
            weights[phase] += sample->weight_ns;
        }
    }
    sonde__base_text_init(&text, names, sizeof names);
    put_phases(&text, weights, total_ns);
    return text.length != 0 ? sonde__report_string(report, names) : 0;
}

void sonde__report_set_loop_phase(struct sonde__report *report, uint32_t index)
{
    struct sonde__report_stall *stall =
        sonde__report_list_at(&report->parts[SONDE__PART_STALLS], index);
    if (stall != NULL && stall->loop_phase == 0 && stall->kind == SONDE__REPORT_STALL_LOOP) {
        stall->loop_phase = sonde__report_loop_phase(report, stall);
    }
}
