// SPDX-License-Identifier: Apache-2.0
#include "diff.h"

#include "base_status.h"
#include "diff_parts.h"
#include "mem_heap.h"

const char *const sonde__diff_words[SONDE__DIFF_STATES] = {"new",    "worse", "not comparable",
                                                           "better", "gone",  "same"};

const char *sonde__diff_doubt_text(enum sonde__diff_doubt doubt)
{
    static const char *const texts[SONDE__DIFF_DOUBTS] = {
        "",
        "the stack was not kept, or is cut",
        "in a library or program of another build, functions have no names; --symbols DIR names "
        "them",
        "the other build may have inlined a function of the stack, and has no debug information; "
        "--symbols DIR adds it",
        "the other side did not record the function",
    };
    return texts[doubt];
}

/* A watch can have no stalls, and a recording no calls. */
static void count_kinds(struct sonde__diff *diff)
{
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        for (uint32_t i = 0; i < diff->sides[s].count; i++) {
            const struct sonde__report *report = diff->sides[s].reports[i];
            uint32_t kind = sonde__report_header(report)->kind;
            diff->watched[s] += kind == SONDE__REPORT_WATCH ||
                                sonde__report_stall_count(report) != 0 ||
                                sonde__report_stall_count_count(report) != 0;
            diff->recorded[s] += kind == SONDE__REPORT_CALLS || kind == SONDE__REPORT_AUDIT;
        }
    }
    diff->has_stalls = diff->watched[0] != 0 && diff->watched[1] != 0;
    diff->has_calls = (diff->recorded[SONDE__DIFF_OLD] != 0 || sonde__diff_is_list(diff)) &&
                      diff->recorded[SONDE__DIFF_NEW_SIDE] != 0;
}

static void count_states(struct sonde__diff *diff)
{
    for (uint32_t i = 0; i < diff->stall_count; i++) {
        diff->stall_states[diff->stalls[i].state]++;
    }
    for (uint32_t i = 0; i < diff->call_count; i++) {
        diff->call_states[diff->calls[i].state]++;
    }
}

enum sonde_status sonde__diff_make(const struct sonde__diff_side *old_side,
                                   const struct sonde__diff_side *new_side, uint32_t percent,
                                   struct sonde__diff *ret_diff)
{
    enum sonde_status status;
    *ret_diff = (struct sonde__diff){.sides = {*old_side, *new_side}, .percent = percent};
    count_kinds(ret_diff);
    status = ret_diff->has_stalls ? sonde__diff_compare_stalls(ret_diff) : SONDE_OK;
    if (status == SONDE_OK && ret_diff->has_calls) {
        status = sonde__diff_compare_calls(ret_diff);
    }
    if (status != SONDE_OK) {
        sonde__diff_done(ret_diff);
        return status;
    }
    count_states(ret_diff);
    return SONDE_OK;
}

void sonde__diff_done(struct sonde__diff *diff)
{
    sonde__mem_free(diff->stalls);
    sonde__mem_free(diff->calls);
    *diff = (struct sonde__diff){0};
}

uint32_t sonde__diff_number(const struct sonde__diff *diff, enum sonde__diff_state state)
{
    return diff->stall_states[state] + diff->call_states[state];
}

bool sonde__diff_has_any(const struct sonde__diff *diff)
{
    return diff->has_stalls || diff->has_calls;
}
