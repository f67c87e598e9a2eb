// SPDX-License-Identifier: Apache-2.0
/* Parts of the collector's bench: a report, a load of requests, and the bare server beside it. */
#ifndef SONDE_BENCH_COLLECTOR_H
#define SONDE_BENCH_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A report of one stall of about 4 KiB: eight stacks of sixteen frames with names. cause: a number;
 * reports of other causes have other functions. Ownership: free(). */
void *bench_report(unsigned cause, size_t *ret_size);

struct bench_load {
    int port;
    const char *key;     /* an ingest key */
    unsigned clients;    /* connections, each with one request at a time */
    uint64_t requests;   /* in all */
    double rate;         /* requests a second; 0: as fast as they are answered */
    void *const *bodies; /* used in turn */
    const size_t *sizes;
    unsigned body_count;
};
struct bench_answers {
    uint64_t accepted, refused; /* 2xx, other */
    double seconds;
    double p50_ms, p99_ms; /* from when a request was due to its answer */
};
/* Send the requests, each with a new id. False: a connection failed. */
bool bench_load(const struct bench_load *load, struct bench_answers *ret_answers);

/* libmicrohttpd alone, in a child: reads a body and answers 200. Returns its pid and port. */
pid_t bench_echo(unsigned threads, int *ret_port);

#endif
