// SPDX-License-Identifier: Apache-2.0
/* What the system itself tells about this process' block runtime, where its files do not: Darwin's
 * libraries are in a cache, without files. Context: any thread; not handler. */
#ifndef SONDE_HOST_BLOCKS_H
#define SONDE_HOST_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct sonde__host_block_classes {
    uint64_t stack, malloc, global;
};

/* The classes of the system's runtime. False: the system has none, or symbols tell. */
bool sonde__host_block_classes(struct sonde__host_block_classes *ret_classes);

/* The exported symbol at exactly this address, without Mach-O's underscore; valid as long as its
 * image. Null: none, or symbols of files tell. Takes the loader's lock. */
const char *sonde__host_exported_name(uint64_t address);

#endif
