// SPDX-License-Identifier: Apache-2.0
/* Parts of a Firefox profile: what threads share, and the threads. For this folder only. */
#ifndef SONDE_EXPORT_FIREFOX_H
#define SONDE_EXPORT_FIREFOX_H

#include "export_json.h"
#include "export_series.h"
#include "export_tracks.h"

/* Words in the string table, after the functions (export_strings.h). */
enum sonde__export_firefox_word {
    SONDE__FIREFOX_STALL,
    SONDE__FIREFOX_STACK,
    SONDE__FIREFOX_WORDS,
};

struct sonde__export_firefox {
    struct sonde__report_out out;
    const struct sonde__export_set *set;
    struct sonde__export_tracks tracks;
    uint64_t *first_frame_row; /* by frame id */
    uint64_t *first_stack_row; /* by node id; last: the first row of recorded calls */
    uint32_t *sources;         /* by string id: 1 + number of the source file */
    uint32_t source_count;
    bool filled; /* the current column has an element */
};

/* Number rows and sources. False: no memory. The caller frees the arrays. */
SONDE_NODISCARD bool sonde__export_firefox_number(struct sonde__export_firefox *f);
/* The row of a sample's stack. call: number of the recorded call. */
uint64_t sonde__export_firefox_row(const struct sonde__export_firefox *f,
                                   const struct sonde__export_sample *sample, uint64_t call);
/* Write the last member of a table, ,"length":3}. */
void sonde__export_firefox_end_table(struct sonde__export_firefox *f, uint64_t rows);
/* Write "shared", "libs" and "meta" as members of the current object. */
void sonde__export_firefox_shared(struct sonde__export_firefox *f);
void sonde__export_firefox_libs(struct sonde__export_firefox *f);
void sonde__export_firefox_meta(struct sonde__export_firefox *f);
/* Write the elements of "threads". */
void sonde__export_firefox_threads(struct sonde__export_firefox *f);

#endif
