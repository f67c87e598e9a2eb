// SPDX-License-Identifier: Apache-2.0
/* What the parts of a running collector share. */
#ifndef SONDE_COLLECTOR_H
#define SONDE_COLLECTOR_H

#include <stdatomic.h>

#include "blob.h"
#include "clock.h"
#include "http.h"

#define COLLECTOR_WIRE_MAX   ((size_t)20 << 20)    /* bytes of one body (docs/protocol.md) */
#define COLLECTOR_BODIES_MAX ((uint64_t)256 << 20) /* of all bodies at one time */
/* of all answers that clients read now, but for small ones */
#define COLLECTOR_ANSWERS_MAX ((uint64_t)256 << 20)

struct collector {
    struct store *store;
    struct journal *journal;
    struct worker *worker;
    struct keeper *keeper;
    struct limits *limits;
    struct symbols *symbols;
    struct completer *completer;
    struct sender *sender;   /* null: without libcurl */
    struct fetcher *fetcher; /* null: no server is to be asked */
    struct blobs blobs;      /* reports' files */
    uint64_t behind_max;     /* bytes of the journal that wait for the worker; more are refused */
    _Atomic uint64_t behind_bytes; /* those that waited when this was counted */
    _Atomic uint64_t accepted, refused, answered, limited, dropped; /* dropped: slow clients */
    _Atomic uint64_t eventless;    /* envelopes of which nothing is kept */
    _Atomic uint64_t body_bytes;   /* memory of bodies now */
    _Atomic uint64_t answer_bytes; /* and of large answers */
};

#endif
