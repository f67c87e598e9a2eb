// SPDX-License-Identifier: Apache-2.0
/* Parts of a comparison, for the files of this folder. */
#ifndef SONDE_DIFF_PARTS_H
#define SONDE_DIFF_PARTS_H

#include "diff.h"

/* Return OK | MEMORY. sonde__diff_done() frees what they make. */
SONDE_NODISCARD enum sonde_status sonde__diff_compare_stalls(struct sonde__diff *diff);
SONDE_NODISCARD enum sonde_status sonde__diff_compare_calls(struct sonde__diff *diff);

/* Set the doubts of calls that are NEW or GONE only because the sides were made or recorded
 * otherwise. path: memory for frames. Return OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__diff_doubt_inlined(struct sonde__diff *diff,
                                                            struct sonde__report_path *path);
SONDE_NODISCARD enum sonde_status sonde__diff_doubt_unlisted(struct sonde__diff *diff);

/* Is there nothing to compare with? */
bool sonde__diff_is_list(const struct sonde__diff *diff);

/* The state for the amounts of both sides. reports: their numbers of reports. */
enum sonde__diff_state sonde__diff_judge(const struct sonde__diff *diff, const uint32_t *reports,
                                         const struct sonde__diff_amount *amounts);

/* Do the sides have different builds of a library or program (name as of report_canonical.h)? Then
 * places in it cannot be compared. A program that only one side has may be another build under
 * another name; such a library is new or gone. */
bool sonde__diff_has_moved(const struct sonde__diff *diff, const char *name, size_t size);

/* "new", "worse", … */
extern const char *const sonde__diff_words[SONDE__DIFF_STATES];

/* Notes about the comparison as a whole. */
#define SONDE__DIFF_NOTE_BYTES 512u
#define SONDE__DIFF_NOTES_MAX  16u
struct sonde__diff_notes {
    char list[SONDE__DIFF_NOTES_MAX][SONDE__DIFF_NOTE_BYTES];
    uint32_t count;
};
void sonde__diff_find_notes(const struct sonde__diff *diff, struct sonde__diff_notes *ret_notes);

#endif
