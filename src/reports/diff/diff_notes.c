// SPDX-License-Identifier: Apache-2.0
/* Notes that a reader needs to trust a comparison: differences between the recordings, and what was
 * not compared. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base_text.h"
#include "diff_parts.h"

static void add(struct sonde__diff_notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct sonde__diff_notes *notes, const char *format, ...)
{
    va_list list;
    if (notes->count < SONDE__DIFF_NOTES_MAX) {
        va_start(list, format);
        vsnprintf(notes->list[notes->count++], SONDE__DIFF_NOTE_BYTES, format, list);
        va_end(list);
    }
}

static const char *program_of(const struct sonde__report *report)
{
    return sonde__base_file_name(sonde__report_header(report)->executable);
}

/* Compare all reports with the first one of the old side. */
static void compare_headers(const struct sonde__diff *diff, struct sonde__diff_notes *notes)
{
    const struct sonde__report *first = diff->sides[SONDE__DIFF_OLD].reports[0];
    const struct sonde__report_header *a = sonde__report_header(first);
    bool program = false, threshold = false, arch = false;
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        for (uint32_t r = 0; r < diff->sides[s].count; r++) {
            const struct sonde__report *report = diff->sides[s].reports[r];
            const struct sonde__report_header *b = sonde__report_header(report);
            if (!program && strcmp(program_of(first), program_of(report)) != 0) {
                program = true;
                add(notes, "the programs differ: %.100s, %.100s", program_of(first),
                    program_of(report));
            }
            if (!threshold && diff->has_stalls && a->threshold_ns != b->threshold_ns) {
                threshold = true;
                add(notes,
                    "the thresholds differ, %" PRIu64 " ms and %" PRIu64
                    " ms: one side can have shorter stalls than the other",
                    a->threshold_ns / 1000000, b->threshold_ns / 1000000);
            }
            if (!arch && strcmp(a->arch, b->arch) != 0) {
                arch = true;
                add(notes, "the architectures differ: %.30s, %.30s", a->arch, b->arch);
            }
        }
    }
}

/* What is missing on one side looks new, or gone, on the other. */
static void find_losses(const struct sonde__diff *diff, struct sonde__diff_notes *notes)
{
    static const char *const sides[] = {"old", "new"};
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        uint32_t unfinished = 0;
        uint64_t lost = 0;
        for (uint32_t r = 0; r < diff->sides[s].count; r++) {
            const struct sonde__report *report = diff->sides[s].reports[r];
            const struct sonde__report_end *end = sonde__report_end(report);
            unfinished += end == NULL;
            lost += sonde__report_lost_records(report) + (end != NULL ? end->lost_records : 0);
        }
        if (unfinished != 0) {
            add(notes,
                "%" PRIu32 " of the %s reports %s not finished: it may lack stalls and calls",
                unfinished, sides[s], unfinished == 1 ? "was" : "were");
        }
        if (lost != 0) {
            add(notes, "%" PRIu64 " records of the %s reports were left out by a limit", lost,
                sides[s]);
        }
    }
}

static uint32_t count_missed(const struct sonde__diff *diff)
{
    uint32_t missed = 0;
    for (unsigned s = 0; s < SONDE__DIFF_SIDES; s++) {
        for (uint32_t r = 0; r < diff->sides[s].count; r++) {
            const struct sonde__report *report = diff->sides[s].reports[r];
            for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
                missed += sonde__report_call(report, i)->missed != 0;
            }
        }
    }
    return missed;
}

static uint32_t count_doubts(const struct sonde__diff *diff, enum sonde__diff_doubt doubt)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < diff->call_count; i++) {
        count += diff->calls[i].doubt == doubt;
    }
    return count;
}

/* Count what was not compared: stalls without a fingerprint (the entry without an id), and UNSURE
 * stalls and calls. */
static void find_unknown(const struct sonde__diff *diff, struct sonde__diff_notes *notes)
{
    uint32_t moved = 0, stalls = 0;
    for (uint32_t i = 0; i < diff->stall_count; i++) {
        const struct sonde__diff_stall *stall = &diff->stalls[i];
        if (stall->id[0] == '\0') {
            add(notes,
                "%" PRIu64 " old and %" PRIu64
                " new stalls have neither samples nor a fingerprint: they are not compared",
                stall->amounts[0].count, stall->amounts[1].count);
        } else if (stall->state == SONDE__DIFF_UNSURE) {
            stalls += strncmp(stall->id, "1:", 2) == 0;
            moved += strncmp(stall->id, "1:", 2) != 0;
        }
    }
    if (stalls != 0) {
        add(notes,
            "%" PRIu32 " cause%s of stalls cannot be compared: in a library or program of another "
            "build, functions have no names; --symbols DIR names them",
            stalls, sonde__base_plural(stalls));
    }
    if (moved != 0) {
        add(notes,
            "%" PRIu32 " cause%s of stalls cannot be compared: their fingerprints are of another "
            "version",
            moved, sonde__base_plural(moved));
    }
    for (unsigned doubt = SONDE__DIFF_SURE + 1; doubt < SONDE__DIFF_DOUBTS; doubt++) {
        uint32_t calls = count_doubts(diff, (enum sonde__diff_doubt)doubt);
        if (calls != 0) {
            add(notes, "%" PRIu32 " call%s cannot be compared: %s", calls,
                sonde__base_plural(calls), sonde__diff_doubt_text((enum sonde__diff_doubt)doubt));
        }
    }
    if (diff->has_calls && count_missed(diff) != 0) {
        add(notes, "some calls may be missing from the recordings (sonde show says which)");
    }
}

void sonde__diff_find_notes(const struct sonde__diff *diff, struct sonde__diff_notes *ret_notes)
{
    ret_notes->count = 0;
    compare_headers(diff, ret_notes);
    if (!diff->has_stalls && diff->watched[0] + diff->watched[1] != 0) {
        add(ret_notes, "stalls are not compared: only one side has reports of a watch");
    }
    if (!diff->has_calls && diff->recorded[0] + diff->recorded[1] != 0) {
        add(ret_notes, "recorded calls are not compared: only one side has recordings");
    }
    find_losses(diff, ret_notes);
    find_unknown(diff, ret_notes);
}
