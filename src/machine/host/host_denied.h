// SPDX-License-Identifier: Apache-2.0
/* Why the kernel does not let us read or trace a process, and what to do.
 *
 * The kernel says EPERM and no more. The reason follows from what it checks, in its order
 * (ptrace(2), "Ptrace access mode checking"), and from what everybody may read of a process: its
 * user and group ids, its capabilities, and who owns its files in /proc. Context: any thread. */
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
    int yama;                     /* kernel.yama.ptrace_scope; 0: everybody, or there is no Yama */
};

/* Sans I/O. Of a process that may not be read or traced. */
enum sonde__host_denial sonde__host_denial(const struct sonde__host_denial_facts *facts);

struct sonde__host_denied {
    char reason[160]; /* what follows "it" or "process 7": "belongs to user 0" */
    char advice[128];
};

/* Sans I/O: the texts of a reason. */
void sonde__host_denial_text(const struct sonde__host_denial_facts *facts,
                             enum sonde__host_denial denial, struct sonde__host_denied *ret_denied);

/* The same of a process. */
void sonde__host_denied(int32_t pid, struct sonde__host_denied *ret_denied);

/* Both in one line. */
void sonde__host_explain_denied(int32_t pid, char *ret_text, size_t capacity);

#endif
