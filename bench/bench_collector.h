// SPDX-License-Identifier: Apache-2.0
/* Parts of the collector's bench: a report, a load of requests, and the bare server beside it. */
#ifndef SONDE_BENCH_COLLECTOR_H
#define SONDE_BENCH_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "image_elf.h"

/* A report of one stall of about 4 KiB: eight stacks of sixteen frames with names. cause: a number;
 * reports of other causes have other functions. device: the number of a machine, and of the
 * report's time. Ownership: free(). */
void *bench_report(unsigned cause, unsigned device, size_t *ret_size);

/* A program whose functions have no names in a report: its build-id, and where its code is. */
struct bench_stripped {
    struct sonde__build_id id;
    uint64_t start, size; /* addresses in the file */
};
/* The same report of such a program: the app's frames are at addresses of its code. */
void *bench_report_stripped(unsigned cause, const struct bench_stripped *program, size_t *ret_size);

struct bench_load {
    int port;
    const char *key;     /* an ingest key */
    unsigned clients;    /* connections, each with one request at a time */
    uint64_t requests;   /* in all */
    double rate;         /* requests a second; 0: as fast as they are answered */
    void *const *bodies; /* used in turn */
    const size_t *sizes;
    unsigned body_count;
    /* The body of request n instead, until the next call; or null. */
    const void *(*body)(void *ctx, uint64_t n, size_t *ret_size);
    void *ctx;
    const char *coding; /* Content-Encoding; null: none */
};
struct bench_answers {
    uint64_t accepted, refused; /* 2xx, other */
    double seconds;
    double p50_ms, p99_ms; /* from when a request was due to its answer */
};
/* Send the requests, each with a new id. False: a connection failed. */
bool bench_load(const struct bench_load *load, struct bench_answers *ret_answers);

/* A collector with a data folder of its own below the current one. */
struct bench_server {
    pid_t pid;
    int port;
    char key[64], admin[64], folder[128];
};
/* options: more of `serve`, null-terminated, or null. False: it does not answer. */
bool bench_server_start(struct bench_server *server, const char *const options[]);
/* Wait until the worker has nothing to do. */
void bench_server_settle(const struct bench_server *server);
/* GET a path with the admin key. Returns the answer with its head (free it); null: it failed. */
char *bench_server_get(const struct bench_server *server, const char *path);
/* Wait until nothing is in the journal that is not in the store. False: the collector is gone. */
bool bench_server_wait(const struct bench_server *server);
/* SIGTERM, and remove the folder. */
void bench_server_end(const struct bench_server *server);

/* CPU seconds of the threads of a process: of the one with a name, or of all others. */
double bench_cpu_seconds(pid_t pid, const char *name, bool is_other);
/* The value after a word at the start of a line of a file, or 0. */
long bench_value_after(const char *path, const char *word);

/* Reports of a stripped program. Prints its figures. False: it could not be measured. */
bool bench_stripped(void);

/* libmicrohttpd alone, in a child: reads a body and answers 200. Returns its pid and port. */
pid_t bench_echo(unsigned threads, int *ret_port);

#endif
