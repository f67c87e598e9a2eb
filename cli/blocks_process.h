// SPDX-License-Identifier: Apache-2.0
/* sonde blocks --pid: the blocks on the heap of a process. */
#ifndef SONDE_BLOCKS_PROCESS_H
#define SONDE_BLOCKS_PROCESS_H

#include "cli_symbols.h"

/* addresses: of the blocks to show with what they hold now; count 0: all, by kind. Returns an exit
 * code. */
int blocks_process(const struct sonde__cli_command *command, int32_t pid,
                   const char *const *addresses, unsigned count, struct sonde__cli_symbols *symbols,
                   bool json);

#endif
