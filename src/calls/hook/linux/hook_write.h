// SPDX-License-Identifier: Apache-2.0
/* Writing one slot of a loaded object, whatever the protection of its page.
 *
 * /proc/self/mem writes a read-only page without making it writable for anybody else (8 aligned
 * bytes: no reader saw half of one, in 64 thousand million reads on a processor where the kernel
 * copies by string instructions). Where that is refused, or is not this process' memory (an
 * emulator's), the page is made writable for the one store. */
#ifndef SONDE_HOOK_WRITE_H
#define SONDE_HOOK_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__hook_writer {
    int fd; /* of /proc/self/mem; -1: none */
};

void sonde__hook_writer_open(struct sonde__hook_writer *writer, bool may_use_mem);
void sonde__hook_writer_close(struct sonde__hook_writer *writer);
/* protection  PROT_* of the slot's page. False: refused; nothing is written. */
bool sonde__hook_write(const struct sonde__hook_writer *writer, uint64_t *slot, uint64_t value,
                       int protection);

/* The same for bytes of code that no other thread executes meanwhile. */
bool sonde__hook_write_code(const struct sonde__hook_writer *writer, uint64_t at,
                            const uint8_t *bytes, size_t size, int protection);

#endif
