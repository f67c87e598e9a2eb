// SPDX-License-Identifier: Apache-2.0
/* The samples of all series, grouped by stack as in OTLP: each stack once, and equal samples of a
 * profile together. */
#ifndef SONDE_EXPORT_OTLP_SAMPLES_H
#define SONDE_EXPORT_OTLP_SAMPLES_H

#include "export_series.h"
#include "export_tracks.h"

struct sonde__export_otlp_stack {
    uint32_t node, leaf; /* as of a sample */
};

struct sonde__export_otlp_entry {
    uint64_t key; /* the stack, and a number for a stable order */
    uint64_t at_ns, weight;
    int64_t tid;
};

struct sonde__export_otlp_series {
    struct sonde__export_series series;
    uint32_t first, count; /* range of entries, which are sorted by key */
};

struct sonde__export_otlp_samples {
    const struct sonde__export_set *set;
    struct sonde__export_otlp_stack *stacks; /* [0] is none */
    uint32_t stack_count;
    size_t stack_capacity;
    struct sonde__mem_table table;
    struct sonde__export_otlp_entry *entries;
    uint32_t entry_count;
    size_t entry_capacity;
    struct sonde__export_otlp_series *series;
    uint32_t series_count;
    size_t series_capacity;
    bool failed;
};

/* Returns OK | MEMORY; done() frees in both cases. */
SONDE_NODISCARD enum sonde_status
sonde__export_otlp_gather(struct sonde__export_otlp_samples *samples,
                          const struct sonde__export_set *set);
void sonde__export_otlp_done(struct sonde__export_otlp_samples *samples);

#endif
