// SPDX-License-Identifier: Apache-2.0
/* This process, as its own system knows it. Context: any thread. */
#ifndef SONDE_HOST_SELF_H
#define SONDE_HOST_SELF_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

/* The name of the calling thread, as lists of threads show it; at most 15 bytes. */
void sonde__host_name_thread(const char *name);

/* The number of a thread. Returns OK | ABSENT (it has ended) | UNSUPPORTED. */
SONDE_NODISCARD enum sonde_status sonde__host_thread_number(pthread_t thread, uint64_t *ret_tid);

/* A variable of the environment; null: it is not set, or this program has more rights than whoever
 * set it. */
const char *sonde__host_environment(const char *name);
/* The user's folder of a kind, by the XDG specification: the path in variable `name`, with *below
 * set to ""; else the home folder, of which it is the folder *below. Null: neither is known. */
const char *sonde__host_own_folder(const char *name, const char **below);

/* Is this descriptor the journal's stream (JOURNAL_STREAM of sd-daemon(3))? Then lines may begin
 * with their priority, "<4>". */
bool sonde__host_is_journal(int32_t fd);

/* Has this program more rights than whoever started it (setuid, capabilities)? */
bool sonde__host_is_secure(void);

/* All of them, as for execve(). */
char *const *sonde__host_environ(void);

/* Does the signal SONDE__HOST_SAMPLE_SIGNAL wait for this process as a whole? */
bool sonde__host_signal_waits_here(void);

/* What the loader itself says of an address: glibc's own answer. The strings are the loader's. */
struct sonde__host_symbol {
    const char *path; /* of the image */
    uint64_t bias;
    const char *name; /* "": no symbol of its dynamic table */
    uint64_t start;   /* of the symbol */
};
/* False: no image, or one without a path. */
bool sonde__host_loader_symbol(uint64_t pc, struct sonde__host_symbol *ret_symbol);

#endif
