// SPDX-License-Identifier: Apache-2.0
/* A client of gdb's remote serial protocol, as far as stepping needs it (qemu's stub).
 * Source: GDB manual, appendix E, "Remote Serial Protocol". */
#ifndef TEST_ORACLE_REMOTE_H
#define TEST_ORACLE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote {
    int fd;
    char in[16384]; /* received, not yet taken */
    size_t in_size;
    bool answered; /* there was an answer to acknowledge */
};

/* Connect to a Unix socket; waits until it exists, or fails the test. */
void remote_open(struct remote *remote, const char *path);
void remote_close(struct remote *remote);

/* Send a packet and read the answer, NUL-terminated. False: the other end is gone. */
bool remote_ask(struct remote *remote, const char *packet, char *ret_answer, size_t size);

/* Read memory; returns how many bytes from `address` on could be read. */
size_t remote_read(struct remote *remote, uint64_t address, void *ret_bytes, size_t size);

/* The two hexadecimal digits of each byte. Returns bytes. */
size_t remote_bytes(const char *text, void *ret_bytes, size_t size);

#endif
