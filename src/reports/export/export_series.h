// SPDX-License-Identifier: Apache-2.0
/* What a report has to export: series of stacks with weights of one unit.
 *
 * The samples of a stall add up to its whole duration: time that no sample stands for is a sample
 * of its own, "(not sampled)", where the gaps between the samples are. They lie one after another
 * from the stall's begin on, so a time line of them has the same sum. (Samples that claim more than
 * the duration keep their weights.) */
#ifndef SONDE_EXPORT_SERIES_H
#define SONDE_EXPORT_SERIES_H

#include "export_functions.h"

enum sonde__export_series_kind {
    SONDE__EXPORT_STALL,   /* weights: nanoseconds */
    SONDE__EXPORT_OTHERS,  /* the other threads of a stall, 1 each */
    SONDE__EXPORT_LOOSE,   /* samples outside stalls: nanoseconds */
    SONDE__EXPORT_THREADS, /* 1 each */
    SONDE__EXPORT_CALLS,   /* recorded calls: their number */
    SONDE__EXPORT_BLOCKS,  /* heap blocks that live at the end: number and bytes */
};

struct sonde__export_series {
    enum sonde__export_series_kind kind;
    uint32_t stall; /* index, of the first two kinds */
};

struct sonde__export_sample {
    uint32_t stack;  /* node id; 0: none */
    uint32_t leaf;   /* a function inside of all frames, + 1; 0: none */
    uint32_t thread; /* string id of the thread's name */
    int64_t tid;     /* 0: not known */
    uint64_t at_ns;  /* since the watch began */
    uint64_t weight;
    uint64_t bytes;                            /* of blocks */
    const struct sonde__report_sample *sample; /* what it is made of; or null */
};

/* Blocks of one stack over all times. */
struct sonde__export_blocks {
    uint64_t key; /* the stack, and a number for the order */
    int64_t count, bytes;
};

struct sonde__export_set {
    const struct sonde__report *report;
    struct sonde__export_functions functions;
    struct sonde__export_blocks *blocks;
    uint32_t block_count;
};

/* Returns OK | MEMORY; done() frees in both cases. */
SONDE_NODISCARD enum sonde_status sonde__export_set_make(struct sonde__export_set *set,
                                                         const struct sonde__report *report,
                                                         bool raw_names);
void sonde__export_set_done(struct sonde__export_set *set);

/* The series of the main unit: stalls and samples outside them, or else what there is. Sets *series
 * to the next one; false: no more. Begin with all zero and *at = 0. */
bool sonde__export_next(const struct sonde__export_set *set, uint32_t *at,
                        struct sonde__export_series *ret_series);

/* Are its weights nanoseconds? */
static inline bool sonde__export_is_time(enum sonde__export_series_kind kind)
{
    return kind == SONDE__EXPORT_STALL || kind == SONDE__EXPORT_LOOSE;
}

/* The samples of a series, in order, until fn returns false. */
typedef bool sonde__export_take(void *ctx, const struct sonde__export_sample *sample);
void sonde__export_each(const struct sonde__export_set *set,
                        const struct sonde__export_series *series, sonde__export_take *take,
                        void *ctx);
/* The number of its samples, and the sum of their weights. */
struct sonde__export_sum {
    uint64_t count, weight;
};
struct sonde__export_sum sonde__export_sum(const struct sonde__export_set *set,
                                           const struct sonde__export_series *series);
/* "stall 2: python3 [4711]", "threads", "calls": printed. */
void sonde__export_put_title(struct sonde__report_out *out, const struct sonde__export_set *set,
                             const struct sonde__export_series *series);

#endif
