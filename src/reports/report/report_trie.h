// SPDX-License-Identifier: Apache-2.0
/* The stacks of one stall, merged by function, with their weights. Node 0 is above all entry
 * functions. Parents have smaller indexes than their children. */
#ifndef SONDE_REPORT_TRIE_H
#define SONDE_REPORT_TRIE_H

#include "mem_table.h"
#include "report_model.h"

struct sonde__trie_node {
    uint32_t parent;
    uint32_t frame; /* a frame of the function */
    uint32_t depth;
    uint64_t weight_ns; /* including its descendants */
    uint64_t self_ns;   /* of samples whose innermost function it is */
    bool in_call;       /* one of these was in a system call */
};

struct sonde__trie_stack {
    uint32_t stack, node;
};

struct sonde__trie {
    const struct sonde__report *report;
    struct sonde__trie_node *nodes;
    size_t count, capacity;
    struct sonde__trie_stack *stacks;
    size_t stack_count, stack_capacity;
    struct sonde__mem_table by_place; /* nodes, by parent and function */
    struct sonde__mem_table by_stack; /* stacks */
};

/* Returns OK | MEMORY; done() frees in both cases. */
SONDE_NODISCARD enum sonde_status sonde__trie_init(struct sonde__trie *trie,
                                                   const struct sonde__report *report);
void sonde__trie_done(struct sonde__trie *trie);

/* Find or add the node of a stack, given by its node id in the report. */
SONDE_NODISCARD enum sonde_status sonde__trie_add(struct sonde__trie *trie, uint32_t stack,
                                                  uint32_t *ret_node);
/* Compute weight_ns of all nodes from their self_ns. */
void sonde__trie_sum(struct sonde__trie *trie);

/* Are the frames in the same function? */
bool sonde__trie_same_function(const struct sonde__report *report, uint32_t frame_a,
                               uint32_t frame_b);
uint64_t sonde__trie_function(const struct sonde__report *report, uint32_t frame);

#endif
