// SPDX-License-Identifier: Apache-2.0
/* sonde blocks --pid, --core: blocks on the heap of a process or core. */
#ifndef SONDE_BLOCKS_PROCESS_H
#define SONDE_BLOCKS_PROCESS_H

#include "cli_symbols.h"
#include "heap_view.h"

/* addresses: blocks to show with their current content; count 0: all blocks, grouped by kind.
 * Returns an exit code. */
int blocks_process(const struct sonde__cli_command *command, const struct heap_place *place,
                   char *const *addresses, unsigned count, struct sonde__cli_symbols *symbols,
                   bool json);

#endif
