// SPDX-License-Identifier: Apache-2.0
/* Converts a stall that has ended to a message of a report: stacks with names, causes, fingerprint.
 * Context: any thread, one at a time. */
#ifndef SONDE_WATCH_RECORD_H
#define SONDE_WATCH_RECORD_H

#include "probe_page.h"
#include "watch_names.h"
#include "watch_note.h"
#include "watch_stall.h"

/* Longest label of a program that is shown. */
#define SONDE__WATCH_LABEL_BYTES 64u
/* The name of a scope, with the scopes around it. */
#define SONDE__WATCH_SCOPE_BYTES 320u

struct sonde__watch_ended {
    const struct sonde__watch_stall *stall;
    struct sonde__target *images; /* for the look-up of names; null: the program was not read */
    struct sonde__probe_candidate loop; /* as it was when the stall ended */
    uint8_t way;                        /* sonde__watch_sampler_way() */
    uint64_t tid;
    bool main, open;
    bool killed;       /* it was open when a signal ended the program */
    uint32_t kind;     /* enum sonde__report_stall_kind */
    uint64_t watch_ns; /* when the watch began */
    uint64_t begin_ns; /* since watch_ns */
    uint64_t duration_ns;
    uint64_t turns;                       /* turns of its loop before this stall */
    char scope[SONDE__WATCH_SCOPE_BYTES]; /* "": not a scope */
};

/* The message and the arrays that it points to. */
struct sonde__watch_record {
    struct sonde__report_stall stall;
    struct sonde__report_sample *samples;
    struct sonde__report_thread *threads;
    struct sonde__report_wait *waits;
    struct sonde__report_uncovered uncovered[SONDE__WATCH_UNCOVERED_MAX];
    struct sonde__report_annotation annotations[SONDE__WATCH_NOTES_MAX];
};

/* Adds what the message refers to (strings, images, frames, stacks, processes) to the report, but
 * not the message. If memory runs out, parts are missing. Ownership: sonde__watch_record_done(). */
void sonde__watch_record_make(struct sonde__watch_names *names,
                              const struct sonde__watch_ended *ended, struct sonde__report *report,
                              struct sonde__watch_record *ret_record);
void sonde__watch_record_done(struct sonde__watch_record *record);

/* Add the threads of the program, or of a process that descends from it, to a report. images: of
 * the same time. */
void sonde__watch_record_threads(struct sonde__watch_names *names,
                                 const struct sonde__watch_stall *all, struct sonde__target *images,
                                 struct sonde__report *report);

#endif
