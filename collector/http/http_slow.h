// SPDX-License-Identifier: Apache-2.0
/* Clients that are too slow: a request, with its answer, has a time, and more for each byte. A
 * client that sends a byte now and then would hold a connection for good otherwise. For this folder
 * only. */
#ifndef SONDE_COLLECTOR_HTTP_SLOW_H
#define SONDE_COLLECTOR_HTTP_SLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SLOW_BYTES_SECOND = 4096 };

struct slow_client {
    struct slow_client *next, **before; /* of the list */
    int fd;
    _Atomic uint64_t since_ns; /* the begin of the request, or of the time without one */
    _Atomic uint64_t bytes;    /* of it */
    atomic_bool is_asked;      /* the answer is being made: it is not the client's turn */
};

struct slow;

/* seconds: for a request without a body. idle_seconds: between two of them. Null: no memory. */
struct slow *slow_begin(uint32_t seconds, uint32_t idle_seconds);
void slow_end(struct slow *slow);
/* A connection begins. Null: no memory. Ownership: slow_remove(), before fd is closed. */
struct slow_client *slow_add(struct slow *slow, int fd);
void slow_remove(struct slow *slow, struct slow_client *client);
/* A request begins, or is over. */
void slow_restart(struct slow_client *client);
/* Shut the connections of slow clients down. Returns how many. now_ns: of slow_now_ns(). */
unsigned slow_look(struct slow *slow, uint64_t now_ns);
uint64_t slow_now_ns(void);

#endif
