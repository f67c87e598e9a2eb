// SPDX-License-Identifier: Apache-2.0
/* Converts a stall that has ended to a message of a report: stacks with names, causes, fingerprint.
 * Context: any thread, one at a time. */
#ifndef SONDE_ENTRY_RECORD_H
#define SONDE_ENTRY_RECORD_H

#include "entry_names.h"
#include "probe_page.h"
#include "sampler_note.h"
#include "sampler_stall.h"

/* Longest label of a program that is shown. */
#define SONDE__ENTRY_LABEL_BYTES 64u
/* The name of a scope, with the scopes around it. */
#define SONDE__ENTRY_SCOPE_BYTES 320u

struct sonde__entry_ended {
    const struct sonde__sampler_stall *stall;
    struct sonde__target *images; /* for the look-up of names; null: the program was not read */
    struct sonde__probe_candidate loop; /* as it was when the stall ended */
    uint8_t way;                        /* sonde__sampler_way() */
    uint64_t tid;
    bool main, open;
    bool killed;       /* it was open when a signal ended the program */
    uint32_t kind;     /* enum sonde__report_stall_kind */
    uint64_t watch_ns; /* when the watch began */
    uint64_t begin_ns; /* since watch_ns */
    uint64_t duration_ns;
    uint64_t turns;                       /* turns of its loop before this stall */
    char scope[SONDE__ENTRY_SCOPE_BYTES]; /* "": not a scope */
};

/* The message and the arrays that it points to. */
struct sonde__entry_record {
    struct sonde__report_stall stall;
    struct sonde__report_sample *samples;
    struct sonde__report_thread *threads;
    struct sonde__report_wait *waits;
    struct sonde__report_uncovered uncovered[SONDE__SAMPLER_UNCOVERED_MAX];
    struct sonde__report_annotation annotations[SONDE__SAMPLER_NOTES_MAX];
};

/* Adds what the message refers to (strings, images, frames, stacks, processes) to the report, but
 * not the message. If memory runs out, parts are missing. Ownership: sonde__entry_record_done(). */
void sonde__entry_record_make(struct sonde__entry_names *names,
                              const struct sonde__entry_ended *ended, struct sonde__report *report,
                              struct sonde__entry_record *ret_record);
void sonde__entry_record_done(struct sonde__entry_record *record);

/* Add the threads of the program, or of a process that descends from it, to a report. images: of
 * the same time. */
void sonde__entry_record_threads(struct sonde__entry_names *names,
                                 const struct sonde__sampler_stall *all,
                                 struct sonde__target *images, struct sonde__report *report);

#endif
