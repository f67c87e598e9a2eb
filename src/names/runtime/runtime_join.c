// SPDX-License-Identifier: Apache-2.0
/* Finds the native frames that run script frames.
 *
 * Each call of the interpreter's loop runs one run of script frames, and both are stacks: the n-th
 * native frame in the loop runs the n-th run. This needs equal numbers of both or, if native frames
 * were left out of the middle, no more native frames than runs. A greenlet's calls are the
 * innermost ones of the native stack; what lies beyond is another greenlet's. */
#include "runtime_private.h"

bool sonde__runtime_is_loop(const struct sonde__runtime *runtime, uint64_t pc)
{
    for (uint32_t i = 0; i < runtime->loop_count; i++) {
        if (pc >= runtime->loops[i].start && pc < runtime->loops[i].end) {
            return true;
        }
    }
    return false;
}

/* Count the loop's frames in [begin, end). */
static uint32_t count_loops(const struct sonde__runtime *runtime, const struct sonde_stack *stack,
                            uint32_t begin, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t i = begin; i < end; i++) {
        count += sonde__runtime_is_loop(runtime, sonde_stack_lookup_pc(stack, i));
    }
    return count;
}

/* Set the flag of the innermost `count` of them. */
static void mark_loops(const struct sonde__runtime *runtime, struct sonde_stack *stack,
                       uint32_t count)
{
    for (uint32_t i = 0; i < stack->count && count > 0; i++) {
        if (sonde__runtime_is_loop(runtime, sonde_stack_lookup_pc(stack, i))) {
            stack->how[i] |= SONDE__HOW_RUNS_SCRIPT;
            count--;
        }
    }
}

/* Keep the frames of the `inner` innermost and `outer` outermost runs. */
static uint32_t cut_runs(struct sonde__script_frame *frames, uint32_t count, uint32_t runs,
                         uint32_t inner, uint32_t outer)
{
    uint32_t kept = 0, cut = runs - inner - outer;
    for (uint32_t i = 0; i < count; i++) {
        if (frames[i].run < inner) {
            frames[kept++] = frames[i];
        } else if (frames[i].run >= inner + cut) {
            frames[kept] = frames[i];
            frames[kept++].run -= cut;
        }
    }
    return kept;
}

bool sonde__runtime_join(const struct sonde__runtime *runtime, struct sonde_stack *stack,
                         struct sonde__script *script, struct sonde__script_frame *frames,
                         const char **ret_why)
{
    uint32_t run_count = script->run_count;
    for (uint32_t i = 0; runtime->v8 != NULL && i < run_count; i++) {
        stack->how[runtime->natives[i]] |= SONDE__HOW_RUNS_SCRIPT;
    }
    if (runtime->v8 != NULL) {
        return true;
    }
    bool has_gap = stack->lost_count != 0;
    uint32_t gap = has_gap && stack->lost_at < stack->count ? stack->lost_at : stack->count;
    uint32_t inner = count_loops(runtime, stack, 0, gap);
    uint32_t outer = count_loops(runtime, stack, gap, stack->count);
    if (runtime->loop_count == 0) {
        *ret_why = "the interpreter's loop has no symbol";
        return false;
    }
    if (script->is_switched && inner >= run_count) {
        mark_loops(runtime, stack, run_count);
        return true;
    }
    if (inner + outer > run_count) {
        *ret_why = "more native calls of the interpreter than script frames show";
        return false;
    }
    if (!has_gap && inner + outer < run_count) {
        *ret_why = stack->end == SONDE_END_ROOT
                       ? "fewer native calls of the interpreter than script frames show"
                       : "the native stack ends before the script does";
        return false;
    }
    script->count = cut_runs(frames, script->count, run_count, inner, outer);
    mark_loops(runtime, stack, inner + outer);
    return true;
}
