// SPDX-License-Identifier: Apache-2.0
/* The content of a report as series of stacks, with weights in one unit.
 *
 * The samples of a stall add up to its duration: time that no sample covers becomes a sample "(not
 * sampled)" in the gap between samples. Samples follow each other without gaps from the start of
 * the stall, so a time line has the same sum. (Samples whose weights exceed the duration keep
 * them.) */
#ifndef SONDE_EXPORT_SERIES_H
#define SONDE_EXPORT_SERIES_H

#include "export_functions.h"

enum sonde__export_series_kind {
    SONDE__EXPORT_STALL,   /* weights: nanoseconds */
    SONDE__EXPORT_OTHERS,  /* the other threads of a stall, 1 each */
    SONDE__EXPORT_LOOSE,   /* samples outside stalls: nanoseconds */
    SONDE__EXPORT_THREADS, /* 1 each */
    SONDE__EXPORT_CALLS,   /* recorded calls: their number */
    SONDE__EXPORT_BLOCKS,  /* heap blocks alive at the end: number and bytes */
};

struct sonde__export_series {
    enum sonde__export_series_kind kind;
    uint32_t stall; /* index; for the first two kinds */
};

struct sonde__export_sample {
    uint32_t stack;  /* node id; 0: none */
    uint32_t leaf;   /* 1 + a function to add inside all frames; 0: none */
    uint32_t thread; /* string id of the thread's name */
    int64_t tid;     /* 0: not known */
    uint64_t at_ns;  /* since the watch began */
    uint64_t weight;
    uint64_t bytes;                            /* of blocks */
    const struct sonde__report_sample *sample; /* the report's sample, or null */
};

/* Blocks of one stack over all times. */
struct sonde__export_blocks {
    uint64_t key; /* the stack, and a number for a stable order */
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

/* Iterate over the series of the main unit: stalls and samples outside them, or else the first kind
 * of records that the report has. False: no more. Start with *series zeroed and *at = 0. */
bool sonde__export_next(const struct sonde__export_set *set, uint32_t *at,
                        struct sonde__export_series *ret_series);

/* Are the weights nanoseconds? */
static inline bool sonde__export_is_time(enum sonde__export_series_kind kind)
{
    return kind == SONDE__EXPORT_STALL || kind == SONDE__EXPORT_LOOSE;
}

/* Call fn with the samples of a series in order, until it returns false. */
typedef bool sonde__export_take(void *ctx, const struct sonde__export_sample *sample);
void sonde__export_each(const struct sonde__export_set *set,
                        const struct sonde__export_series *series, sonde__export_take *take,
                        void *ctx);
/* Number of samples, and sum of their weights. */
struct sonde__export_sum {
    uint64_t count, weight;
};
struct sonde__export_sum sonde__export_sum(const struct sonde__export_set *set,
                                           const struct sonde__export_series *series);
/* Print "stall 2: python3 [4711]", "threads", "calls". */
void sonde__export_put_title(struct sonde__report_out *out, const struct sonde__export_set *set,
                             const struct sonde__export_series *series);

#endif
