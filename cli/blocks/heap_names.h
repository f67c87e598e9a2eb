// SPDX-License-Identifier: Apache-2.0
/* Names of captured variables of a process' blocks, from the debug information of its images, which
 * is opened on demand. */
#ifndef SONDE_HEAP_NAMES_H
#define SONDE_HEAP_NAMES_H

#include "blockheap_graph.h"
#include "symfile_cache.h"

struct heap_names;
struct sonde__target;

/* Provide names to `heap`, which must be closed before this. target, options: borrowed.
 * Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status heap_names_open(struct sonde__target *target,
                                                  const struct sonde__symfile_options *options,
                                                  struct sonde__blockheap *heap,
                                                  struct heap_names **ret_names);
void heap_names_close(struct heap_names *names);

#endif
