// SPDX-License-Identifier: Apache-2.0
/* Files by the SHA-256 of their content: FOLDER/ab/cdef…. Equal contents are one file. A file is a
 * zstd frame (RFC 8878), and is written whole or not at all. Context: any thread. */
#ifndef SONDE_COLLECTOR_BLOB_H
#define SONDE_COLLECTOR_BLOB_H

#include "ids.h"

struct blob {
    const void *bytes;
    size_t size;
    const void *packed; /* the same as one zstd frame; null: it is made here */
    size_t packed_size;
};

/* Store a content; it is on the disk after the next syncfs() of the folder. Returns 0 or an
 * errno. */
int blob_put(int folder, const struct blob *blob, struct hash *ret_hash);
/* Returns 0, ENOENT, EBADMSG (it is damaged) or another errno. Ownership: free(). */
int blob_get(int folder, const struct hash *hash, void **ret_bytes, size_t *ret_size);

/* Returns 0, ENOENT or another errno. */
int blob_remove(int folder, const struct hash *hash);

#endif
