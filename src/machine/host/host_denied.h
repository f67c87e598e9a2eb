// SPDX-License-Identifier: Apache-2.0
/* Explains why the kernel refuses to let us read or trace a process, and what to do.
 *
 * The kernel returns only EPERM. We repeat its checks, in its order (ptrace(2), "Ptrace access mode
 * checking"), on what anybody may read of a process: its user and group ids, its capabilities, and
 * the owner of its files in /proc. Context: any thread. */
#ifndef SONDE_HOST_DENIED_H
#define SONDE_HOST_DENIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__host_denial {
    SONDE__HOST_DENIED_ENDED,
    SONDE__HOST_DENIED_USER,
    SONDE__HOST_DENIED_SETUID,
    SONDE__HOST_DENIED_GROUP,
    SONDE__HOST_DENIED_NOT_DUMPABLE,
    SONDE__HOST_DENIED_CAPABILITIES,
    SONDE__HOST_DENIED_NAMESPACE,
    SONDE__HOST_DENIED_YAMA,
    SONDE__HOST_DENIED_POLICY, /* none of these */
};

struct sonde__host_denial_facts {
    uint32_t own_user, own_group;
    uint32_t users[3], groups[3]; /* of the process: real, effective, saved */
    uint32_t owner;               /* of its files in /proc */
    uint64_t own_capabilities;    /* effective */
    uint64_t capabilities;        /* of the process: permitted */
    bool is_readable;             /* reading is allowed: only tracing is refused */
    bool is_nested;               /* we are not in the machine's first user namespace */
    int yama;                     /* kernel.yama.ptrace_scope; 0: unrestricted, or no Yama */
};

/* The reason why a process may not be read or traced. Sans I/O. */
enum sonde__host_denial sonde__host_denial(const struct sonde__host_denial_facts *facts);

struct sonde__host_denied {
    char reason[160]; /* continues "it" or "process 7": "belongs to user 0" */
    char advice[128];
};

/* The texts for a reason. Sans I/O. */
void sonde__host_denial_text(const struct sonde__host_denial_facts *facts,
                             enum sonde__host_denial denial, struct sonde__host_denied *ret_denied);

/* The texts for a process that may not be read or traced. */
void sonde__host_denied(int32_t pid, struct sonde__host_denied *ret_denied);

/* Reason and advice in one line. */
void sonde__host_explain_denied(int32_t pid, char *ret_text, size_t capacity);

#endif
