// SPDX-License-Identifier: Apache-2.0
/* The distinct threads of a report, in order of appearance, and where each appears: in its own
 * stalls, in stalls of other threads, and among the report's threads. */
#ifndef SONDE_EXPORT_TRACKS_H
#define SONDE_EXPORT_TRACKS_H

#include "mem_table.h"
#include "report_model.h"

struct sonde__export_appearance {
    uint64_t key;    /* the track, and a number for a stable order */
    uint32_t stall;  /* index + 1; 0: among the report's threads */
    uint32_t thread; /* index + 1 in the stall's or the report's threads; 0: it stalled */
};

struct sonde__export_track {
    int64_t tid;
    uint32_t name; /* string id */
    bool main;
    bool stalls;
    uint32_t first, count; /* of its appearances */
};

struct sonde__export_tracks {
    const struct sonde__report *report;
    struct sonde__export_track *list;
    uint32_t count;
    size_t capacity;
    struct sonde__mem_table table;
    struct sonde__export_appearance *appearances;
    uint32_t appearance_count;
    size_t appearance_capacity;
};

/* Returns OK | MEMORY; done() frees in both cases. */
SONDE_NODISCARD enum sonde_status sonde__export_tracks_make(struct sonde__export_tracks *tracks,
                                                            const struct sonde__report *report);
void sonde__export_tracks_done(struct sonde__export_tracks *tracks);
/* Track number of a thread; SONDE__TABLE_NONE: none. */
uint32_t sonde__export_track_of(const struct sonde__export_tracks *tracks, int64_t tid);
/* The thread of an appearance; null: it is the one that stalled. */
const struct sonde__report_thread *
sonde__export_thread_of(const struct sonde__report *report,
                        const struct sonde__export_appearance *appearance);

#endif
