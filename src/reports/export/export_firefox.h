// SPDX-License-Identifier: Apache-2.0
/* The parts of a Firefox profile, for the files of this folder: what threads share, and the
 * threads. */
#ifndef SONDE_EXPORT_FIREFOX_H
#define SONDE_EXPORT_FIREFOX_H

#include "export_json.h"
#include "export_series.h"
#include "export_tracks.h"

/* Words of the string table, behind the functions (export_strings.h). */
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
    uint64_t *first_stack_row; /* by node id; and behind the last, the first of the calls */
    uint32_t *sources;         /* by string id: number + 1 as a source file */
    uint32_t source_count;
    bool filled; /* the column at hand has an element */
};

/* Number rows and sources. False: memory ran out. The arrays are the caller's to free. */
SONDE_NODISCARD bool sonde__export_firefox_number(struct sonde__export_firefox *f);
/* The row of a sample's stack; `call`: the number of the call, of recorded calls. */
uint64_t sonde__export_firefox_row(const struct sonde__export_firefox *f,
                                   const struct sonde__export_sample *sample, uint64_t call);
/* ,"length":3}: the last member of a table, and its end. */
void sonde__export_firefox_end_table(struct sonde__export_firefox *f, uint64_t rows);
/* "shared", "libs" and "meta", as members of the object at hand. */
void sonde__export_firefox_shared(struct sonde__export_firefox *f);
void sonde__export_firefox_libs(struct sonde__export_firefox *f);
void sonde__export_firefox_meta(struct sonde__export_firefox *f);
/* The elements of "threads". */
void sonde__export_firefox_threads(struct sonde__export_firefox *f);

#endif
