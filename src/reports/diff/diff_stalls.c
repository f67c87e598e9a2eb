// SPDX-License-Identifier: Apache-2.0
/* Groups both sides by fingerprint and merges the two lists. */
#include <stdlib.h>
#include <string.h>

#include "diff_parts.h"
#include "mem_heap.h"
#include "mem_sort.h"

static int by_id(const void *left, const void *right)
{
    const struct sonde__report_group *a = left, *b = right;
    return strcmp(a->id, b->id);
}

static int by_state(const void *left, const void *right)
{
    const struct sonde__diff_stall *a = left, *b = right;
    uint64_t a_ns = a->amounts[0].total_ns + a->amounts[1].total_ns;
    uint64_t b_ns = b->amounts[0].total_ns + b->amounts[1].total_ns;
    if (a->state != b->state) {
        return SONDE__ORDER(a, b, state);
    }
    return a_ns != b_ns ? (a_ns < b_ns) - (a_ns > b_ns) : strcmp(a->id, b->id);
}

/* Add one side's group to the entry. The newer side comes last and provides the stall that is
 * shown. */
static void take(struct sonde__diff *diff, unsigned side, const struct sonde__report_group *group,
                 struct sonde__diff_stall *entry)
{
    struct sonde__diff_amount *amount = &entry->amounts[side];
    memcpy(entry->id, group->id, sizeof entry->id);
    amount->count += group->count;
    amount->total_ns += group->total_ns;
    amount->longest_ns =
        group->longest_ns > amount->longest_ns ? group->longest_ns : amount->longest_ns;
    if (group->longest != UINT32_MAX) {
        entry->report = diff->sides[side].reports[group->source];
        entry->index = group->longest;
    }
}

/* Does the fingerprint use the start of a function without a name, in a library with different
 * builds on the two sides? Lines of its text are "function NAME" or "function LIBRARY+0x1200". */
static bool rests_on_offsets(const struct sonde__diff *diff, const char *text)
{
    static const char *const words[] = {"function ", "calls "};
    while (text != NULL && *text != '\0') {
        size_t size = strcspn(text, "\n");
        for (unsigned i = 0; i < 2; i++) {
            size_t skip = strlen(words[i]);
            const char *plus = size > skip ? memmem(text, size, "+0x", 3) : NULL;
            if (plus != NULL && strncmp(text, words[i], skip) == 0 &&
                sonde__diff_has_moved(diff, text + skip, (size_t)(plus - text) - skip)) {
                return true;
            }
        }
        text += size + (text[size] == '\n');
    }
    return false;
}

/* Make a stall of one side UNSURE if the other side may have it under another fingerprint. */
static enum sonde_status doubt(const struct sonde__diff *diff, struct sonde__diff_stall *entry)
{
    struct sonde__report_fingerprint fingerprint;
    if (entry->state != SONDE__DIFF_NEW && entry->state != SONDE__DIFF_GONE) {
        return SONDE_OK;
    }
    if (strncmp(entry->id, "1:", 2) != 0) {
        entry->state = SONDE__DIFF_UNSURE;
        return SONDE_OK;
    }
    if (entry->report == NULL) {
        return SONDE_OK;
    }
    enum sonde_status status = sonde__report_fingerprint(
        entry->report, sonde__report_stall(entry->report, entry->index), &fingerprint);
    if (status == SONDE_OK) {
        entry->state = rests_on_offsets(diff, fingerprint.text) ? SONDE__DIFF_UNSURE : entry->state;
        sonde__report_fingerprint_done(&fingerprint);
    }
    return status;
}

/* Null: end of the list. */
static const char *id_at(const struct sonde__report_groups *side, uint32_t at)
{
    return at < side->count ? side->list[at].id : NULL;
}

/* Both lists are sorted by fingerprint. */
static void merge(struct sonde__diff *diff, const struct sonde__report_groups *sides)
{
    uint32_t at[SONDE__DIFF_SIDES] = {0};
    for (;;) {
        const char *ids[SONDE__DIFF_SIDES] = {0}, *least;
        for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
            ids[s] = id_at(&sides[s], at[s]);
        }
        least = ids[0] == NULL || (ids[1] != NULL && strcmp(ids[1], ids[0]) < 0) ? ids[1] : ids[0];
        if (least == NULL) {
            return;
        }
        struct sonde__diff_stall *entry = &diff->stalls[diff->stall_count++];
        *entry = (struct sonde__diff_stall){.state = SONDE__DIFF_SAME};
        for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
            while (ids[s] != NULL && strcmp(ids[s], least) == 0) {
                take(diff, s, &sides[s].list[at[s]++], entry);
                ids[s] = id_at(&sides[s], at[s]);
            }
        }
        entry->state = *least == '\0' ? SONDE__DIFF_UNSURE
                                      : sonde__diff_judge(diff, diff->watched, entry->amounts);
    }
}

enum sonde_status sonde__diff_compare_stalls(struct sonde__diff *diff)
{
    struct sonde__report_groups sides[SONDE__DIFF_SIDES] = {{0}};
    enum sonde_status status = SONDE_OK;
    size_t count = 1;
    for (unsigned s = 0; s < SONDE__DIFF_SIDES && status == SONDE_OK; s++) {
        status =
            sonde__report_group_stalls(diff->sides[s].reports, diff->sides[s].count, &sides[s]);
        if (status == SONDE_OK) {
            qsort(sides[s].list, sides[s].count, sizeof *sides[s].list, by_id);
            count += sides[s].count;
        }
    }
    diff->stalls = status == SONDE_OK ? sonde__mem_alloc_array(count, sizeof *diff->stalls) : NULL;
    status = status == SONDE_OK && diff->stalls == NULL ? SONDE_MEMORY : status;
    if (status == SONDE_OK) {
        merge(diff, sides);
    }
    for (uint32_t i = 0; i < diff->stall_count && status == SONDE_OK; i++) {
        status = doubt(diff, &diff->stalls[i]);
    }
    if (status == SONDE_OK) {
        qsort(diff->stalls, diff->stall_count, sizeof *diff->stalls, by_state);
    }
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        sonde__report_groups_done(&sides[s]);
    }
    return status;
}
