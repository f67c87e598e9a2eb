// SPDX-License-Identifier: Apache-2.0
/* Decides how an entry changed, and whether it can be compared. */
#include <string.h>

#include "diff_parts.h"

bool sonde__diff_is_list(const struct sonde__diff *diff)
{
    return diff->sides[SONDE__DIFF_OLD].count == 0;
}

/* Is `more` at least `percent` of `less`, both divided by their reports? */
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

struct build {
    uint64_t hash; /* 0: several builds */
    bool is_there, is_main;
};

/* The build of a library or program, if all reports of a side have the same. */
static struct build build_of(const struct sonde__diff_side *side, const char *name, size_t size)
{
    struct build build = {0};
    for (uint32_t r = 0; r < side->count; r++) {
        uint32_t main_image = sonde__report_main_image(side->reports[r]);
        for (uint32_t i = 1; i <= sonde__report_image_count(side->reports[r]); i++) {
            const struct sonde__report_image *image = sonde__report_image(side->reports[r], i);
            const char *image_name = sonde__report_image_name(side->reports[r], i);
            struct sonde__report_hash hash;
            if (sonde__report_canonical_library(image_name) != size ||
                memcmp(image_name, name, size) != 0) {
                continue;
            }
            sonde__report_hash_init(&hash);
            sonde__report_hash_add(&hash, image->build_id.bytes, image->build_id.size);
            sonde__report_hash_add(&hash, &image->code_id, sizeof image->code_id);
            build.hash = !build.is_there || build.hash == (hash.low | 1) ? hash.low | 1 : 0;
            build.is_there = true;
            build.is_main |= i == main_image;
        }
    }
    return build;
}

bool sonde__diff_has_moved(const struct sonde__diff *diff, const char *name, size_t size)
{
    struct build of_old = build_of(&diff->sides[SONDE__DIFF_OLD], name, size);
    struct build of_new = build_of(&diff->sides[SONDE__DIFF_NEW_SIDE], name, size);
    if (of_old.is_there && of_new.is_there) {
        return of_old.hash != of_new.hash || of_old.hash == 0;
    }
    return of_old.is_main || of_new.is_main;
}
