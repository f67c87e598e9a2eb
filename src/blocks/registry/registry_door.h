// SPDX-License-Identifier: Apache-2.0
/* By what another process finds a registry that a program keeps by itself: a page of its own, whose
 * file has a name in the program's map. (That of `sonde run --blocks` is found by what it shares.)
 * Whoever reads it trusts nothing. The layout is private to one build. */
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
