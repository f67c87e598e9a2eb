// SPDX-License-Identifier: Apache-2.0
#include "diff.h"

#include <string.h>

#include "base_status.h"
#include "diff_parts.h"
#include "mem_heap.h"

const char *const sonde__diff_words[SONDE__DIFF_STATES] = {"new",    "worse", "not comparable",
                                                           "better", "gone",  "same"};

/* Is `more` at least `percent` of `less`, each per report? */
static bool is_more(uint64_t more, uint32_t more_reports, uint64_t less, uint32_t less_reports,
                    uint32_t percent)
{
    double a = (double)more / (more_reports != 0 ? more_reports : 1);
    double b = (double)less / (less_reports != 0 ? less_reports : 1);
    return a > b && a * 100 >= b * percent;
}

enum sonde__diff_state sonde__diff_judge(const struct sonde__diff *diff, const uint32_t *reports,
                                         const struct sonde__diff_amount *amounts)
{
    const struct sonde__diff_amount *before = &amounts[SONDE__DIFF_OLD];
    const struct sonde__diff_amount *after = &amounts[SONDE__DIFF_NEW_SIDE];
    uint32_t old_reports = reports[SONDE__DIFF_OLD], new_reports = reports[SONDE__DIFF_NEW_SIDE];
    if (before->count == 0 || after->count == 0) {
        return before->count == after->count ? SONDE__DIFF_SAME
               : before->count == 0          ? SONDE__DIFF_NEW
                                             : SONDE__DIFF_GONE;
    }
    if (is_more(after->count, new_reports, before->count, old_reports, diff->percent) ||
        is_more(after->total_ns, new_reports, before->total_ns, old_reports, diff->percent)) {
        return SONDE__DIFF_WORSE;
    }
    return is_more(before->count, old_reports, after->count, new_reports, diff->percent) ||
                   is_more(before->total_ns, old_reports, after->total_ns, new_reports,
                           diff->percent)
               ? SONDE__DIFF_BETTER
               : SONDE__DIFF_SAME;
}

/* A number for the build of a library that all reports of a side have; 0: several builds. */
static uint64_t build_of(const struct sonde__diff_side *side, const char *name, size_t size,
                         bool *ret_is_there)
{
    uint64_t build = 0;
    *ret_is_there = false;
    for (uint32_t r = 0; r < side->count; r++) {
        for (uint32_t i = 1; i <= sonde__report_image_count(side->reports[r]); i++) {
            const struct sonde__report_image *image = sonde__report_image(side->reports[r], i);
            const char *module = sonde__report_image_name(side->reports[r], i);
            struct sonde__report_hash hash;
            if (sonde__report_canonical_library(module) != size ||
                memcmp(module, name, size) != 0) {
                continue;
            }
            sonde__report_hash_init(&hash);
            sonde__report_hash_add(&hash, image->build_id.bytes, image->build_id.size);
            sonde__report_hash_add(&hash, &image->code_id, sizeof image->code_id);
            if (*ret_is_there && build != (hash.low | 1)) {
                return 0;
            }
            *ret_is_there = true;
            build = hash.low | 1;
        }
    }
    return build;
}

bool sonde__diff_has_moved(const struct sonde__diff *diff, const char *name, size_t size)
{
    bool in_old, in_new;
    uint64_t old_build = build_of(&diff->sides[SONDE__DIFF_OLD], name, size, &in_old);
    uint64_t new_build = build_of(&diff->sides[SONDE__DIFF_NEW_SIDE], name, size, &in_new);
    return in_old && in_new && (old_build != new_build || old_build == 0);
}

/* A report of a watch may have no stall, one of a recording no call. */
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
    diff->has_calls = diff->recorded[0] != 0 && diff->recorded[1] != 0;
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
