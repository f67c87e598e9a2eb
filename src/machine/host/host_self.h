// SPDX-License-Identifier: Apache-2.0
/* Information about this process. Context: any thread. */
#ifndef SONDE_HOST_SELF_H
#define SONDE_HOST_SELF_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

/* Set the calling thread's name; at most 15 bytes. */
void sonde__host_name_thread(const char *name);
/* Start a thread that receives no signal of the program. Returns 0 or an errno. */
int sonde__host_start_thread(pthread_t *ret_thread, void *(*run)(void *ctx), void *ctx);

/* Get the tid of a thread. Returns OK | ABSENT (it has ended) | UNSUPPORTED. */
SONDE_NODISCARD enum sonde_status sonde__host_thread_number(pthread_t thread, uint64_t *ret_tid);

/* An environment variable; null: not set, or this program has more rights than its user. */
const char *sonde__host_environment(const char *name);
/* A user folder by the XDG specification: the path in variable `name`, with *below set to ""; else
 * the home folder, to which the caller appends *below. Null: neither is known. */
const char *sonde__host_own_folder(const char *name, const char **below);
/* The user's folder for what programs keep: the path is the result and *below. Null: as above. */
const char *sonde__host_state_folder(const char **below);

/* Is this descriptor connected to the journal (JOURNAL_STREAM, sd-daemon(3))? Then lines may begin
 * with their priority, "<4>". */
bool sonde__host_is_journal(int32_t fd);
/* Columns of the terminal that this descriptor is, or what COLUMNS says of it; 0: it is none, or
 * its width is not known. */
uint32_t sonde__host_terminal_columns(int32_t fd);

/* Has this program more rights than its user (setuid, capabilities)? */
bool sonde__host_is_secure(void);

/* The whole environment, as for execve(). */
char *const *sonde__host_environ(void);

/* Is SONDE__HOST_SAMPLE_SIGNAL pending for the whole process? */
bool sonde__host_signal_waits_here(void);

/* The loader's own answer for an address (glibc). The strings are the loader's. */
struct sonde__host_symbol {
    const char *path; /* of the image */
    uint64_t bias;
    const char *name; /* "": no symbol in the dynamic table */
    uint64_t start;   /* of the symbol */
};
/* False: no image, or one without a path. */
bool sonde__host_loader_symbol(uint64_t pc, struct sonde__host_symbol *ret_symbol);

#endif
