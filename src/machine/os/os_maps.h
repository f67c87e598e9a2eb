// SPDX-License-Identifier: Apache-2.0
/* Finds executable memory around an address in /proc/PID/maps (proc(5)), fed in pieces of any size.
 * Pure. Context: handler. */
#ifndef SONDE_OS_MAPS_H
#define SONDE_OS_MAPS_H

#include "os.h"

struct sonde__os_maps {
    uint64_t address;
    uint64_t start, end; /* of the current line */
    uint64_t hole;       /* end of the executable memory before the address */
    unsigned field, column;
    bool is_executable, is_done;
    struct sonde__os_code answer; /* valid if is_done */
};

void sonde__os_maps_init(struct sonde__os_maps *maps, uint64_t address);
/* Feed the next piece. True: the rest is not needed. */
bool sonde__os_maps_feed(struct sonde__os_maps *maps, const char *text, size_t size);
/* End the input. False: it was not a map. */
bool sonde__os_maps_finish(struct sonde__os_maps *maps, struct sonde__os_code *ret_code);

#endif
