// SPDX-License-Identifier: Apache-2.0
/* A process that is to become a program, recorded as a part of a run (record_family.h). Context: a
 * process with one thread. */
#ifndef SONDE_AUDIT_JOIN_H
#define SONDE_AUDIT_JOIN_H

#include <stdbool.h>
#include <stdint.h>

struct sonde__audit_join {
    int32_t supervisor, fd; /* which of its descriptors is the memory of the first process */
    const char *path;       /* of the program */
    const char *unfit;      /* why it cannot load the recorder; null: it can */
};
/* Take a place. Returns the descriptor of its memory, which stays open after exec; -1: there is
 * none, which the supervisor says. */
int32_t sonde__audit_join(const struct sonde__audit_join *join);
/* "SUPERVISOR:FD" */
bool sonde__audit_parse_join(const char *text, struct sonde__audit_join *ret_join);

#endif
