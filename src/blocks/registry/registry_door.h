// SPDX-License-Identifier: Apache-2.0
/* Lets another process find the registry that a program keeps itself: a page in a file, whose name
 * is in the program's memory map. (`sonde run --blocks` keeps its registry in shared memory.)
 * Readers trust nothing in it. The layout is private to one build. */
#ifndef SONDE_REGISTRY_DOOR_H
#define SONDE_REGISTRY_DOOR_H

#include <stdint.h>

#define SONDE__REGISTRY_DOOR_NAME    "sonde-registry"
#define SONDE__REGISTRY_DOOR_VERSION 1u

struct sonde__registry_door {
    uint32_t version;
    uint32_t lines;           /* of the table */
    uint32_t nodes, reserved; /* of the depot */
    uint64_t table, depot;    /* addresses */
};

#endif
