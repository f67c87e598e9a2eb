// SPDX-License-Identifier: Apache-2.0
/* Finds out by harmless tests what sonde can do on this machine and with a process. Gives reason
 * and remedy for what it cannot do.
 *
 * Context: any thread of a program that does nothing else: it forks a child, starts a thread and
 * waits for both (some 100 ms). */
#ifndef SONDE_HOST_DOCTOR_H
#define SONDE_HOST_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

enum sonde__finding_state {
    SONDE__FINDING_OK,
    SONDE__FINDING_LIMITED, /* works in part, or by a workaround */
    SONDE__FINDING_NO,
};

struct sonde__finding {
    const char *name; /* what was tested, in a few words: "perf events" */
    uint8_t state;    /* enum sonde__finding_state */
    bool needed;      /* without it `sonde stacks` cannot work */
    char reason[256]; /* the result; one line */
    char advice[256]; /* what to do; or "" */
};

/* More than there are; a further one would replace the last. */
#define SONDE__FINDINGS_MAX 24

struct sonde__findings {
    struct sonde__finding list[SONDE__FINDINGS_MAX];
    uint32_t count;
};

/* Add a finding with `state` OK and this name, for the caller to fill. Never null. */
struct sonde__finding *sonde__host_finding_add(struct sonde__findings *findings, const char *name);
/* Set only state and reason (printf format). */
void sonde__host_finding_set(struct sonde__finding *finding, enum sonde__finding_state state,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Append findings about the machine. */
void sonde__host_doctor_machine(struct sonde__findings *findings);

/* Append findings about one process. False: no such process. */
bool sonde__host_doctor_process(int32_t pid, struct sonde__findings *findings);

#endif
