// SPDX-License-Identifier: Apache-2.0
/* What sonde can do on this machine and to one process, found out by harmless tries, with the
 * reason and the remedy for what it cannot.
 *
 * Context: any thread of a program with no other business: it forks a child, starts a thread and
 * waits for both (some 100 ms). */
#ifndef SONDE_HOST_DOCTOR_H
#define SONDE_HOST_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

enum sonde__finding_state {
    SONDE__FINDING_OK,
    SONDE__FINDING_LIMITED, /* works in part, or by a way around */
    SONDE__FINDING_NO,
};

struct sonde__finding {
    const char *name; /* what was looked at, a few words: "perf events" */
    uint8_t state;    /* enum sonde__finding_state */
    bool needed;      /* without it `sonde stacks` cannot work */
    char reason[256]; /* what was found; one line */
    char advice[256]; /* what to do; "" when there is nothing to do */
};

/* More than are ever made; what does not fit is left out. */
#define SONDE__FINDINGS_MAX 24

struct sonde__findings {
    struct sonde__finding list[SONDE__FINDINGS_MAX];
    uint32_t count;
};

/* The next finding, with `state` OK and the given name, to be filled. Never null. */
struct sonde__finding *sonde__host_finding_add(struct sonde__findings *findings, const char *name);
/* Set state, reason (a format of printf) and nothing else. */
void sonde__host_finding_set(struct sonde__finding *finding, enum sonde__finding_state state,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Appends the findings about the machine. */
void sonde__host_doctor_machine(struct sonde__findings *findings);

/* Appends the findings about one process. False: there is no such process. */
bool sonde__host_doctor_process(int32_t pid, struct sonde__findings *findings);

#endif
