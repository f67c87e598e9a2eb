// SPDX-License-Identifier: Apache-2.0
/* Rules of an audit as bytes: the form in which they are handed over, in a file or in the memory of
 * an app. `sonde run --audit` goes through it, too, so there is one reader of rules.
 *
 * All numbers are little-endian; texts end with NUL. The header has 28 bytes: "SONDEAUD", the
 * version, the architecture (0: any; others are not written yet), the size of all, the CRC-32C of
 * what is behind the header, and the number of rules; SONDE__AUDIT_BLOB_HEADER. Functions are
 * names and conditions are texts that were checked, so a blob fits every machine: names, constants
 * of the system and the home directory become addresses and numbers where the audit starts.
 *
 * A reader takes bytes from anywhere: it accepts what a file of rules could have said, and nothing
 * else. Context: any thread; sans I/O. */
#ifndef SONDE_AUDIT_BLOB_H
#define SONDE_AUDIT_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "audit_rules.h"
#include "mem_arena.h"

#define SONDE__AUDIT_BLOB_VERSION 1u
enum {
    SONDE__AUDIT_BLOB_HEADER = 28,
    SONDE__AUDIT_BLOB_MAX = 1 << 20, /* bytes; 512 rules of a usual size are 64 KiB */
    SONDE__AUDIT_BLOB_RULES = 512,
    SONDE__AUDIT_BLOB_SDKS = 512,
    SONDE__AUDIT_BLOB_ITEMS = 4096, /* functions or patterns of one rule */
};

/* Does a file that begins like this hold rules as bytes? */
bool sonde__audit_blob_is(const void *bytes, size_t size);

/* Returns OK | LIMIT (too large) | MEMORY. Ownership: sonde__mem_free(*ret_bytes). */
SONDE_NODISCARD enum sonde_status sonde__audit_blob_write(const struct sonde__audit_rules *rules,
                                                          uint8_t **ret_bytes, size_t *ret_size,
                                                          struct sonde_error *ret_error);

struct sonde__audit_blob {
    struct sonde__audit_rules rules; /* in `memory`; the bytes need not stay */
    struct sonde__arena memory;
};

/* Returns OK | CORRUPT (also: cut, or of another kind) | UNSUPPORTED (of another version or
 * architecture) | LIMIT | MEMORY; ret_error->at is an offset. Ownership: sonde__audit_blob_done(),
 * if OK. */
SONDE_NODISCARD enum sonde_status sonde__audit_blob_read(const void *bytes, size_t size,
                                                         struct sonde__audit_blob *ret_blob,
                                                         struct sonde_error *ret_error);
void sonde__audit_blob_done(struct sonde__audit_blob *blob);

#endif
