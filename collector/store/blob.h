// SPDX-License-Identifier: Apache-2.0
/* Files by the SHA-256 of their content: FOLDER/ab/cdef…, or rows of the database that collectors
 * share. Equal contents are one file. A file is a zstd frame (RFC 8878), and is written whole or
 * not at all. Context: any thread. */
#ifndef SONDE_COLLECTOR_BLOB_H
#define SONDE_COLLECTOR_BLOB_H

#include "store.h"

struct blobs {
    int folder;          /* -1: none is open */
    struct store *store; /* that has the files; null: the folder has them */
};

struct blob {
    const void *bytes;
    size_t size;
    const void *packed; /* the same as one zstd frame; null: it is made here */
    size_t packed_size;
};

/* Store a content; it is on the disk after the next syncfs() of the folder, or with the next
 * store_commit(), before which it must be called then. Returns 0 or an errno; EIO: the database,
 * store_error(). */
int blob_put(const struct blobs *blobs, const struct blob *blob, struct hash *ret_hash);
/* Returns 0, ENOENT, EBADMSG (it is damaged), EIO or another errno. Ownership: free(). */
int blob_get(const struct blobs *blobs, const struct hash *hash, void **ret_bytes,
             size_t *ret_size);

/* Is there such a file in a folder of blobs? */
bool blob_is_there(int folder, const struct hash *hash);
/* store_keep() does it in a database. Returns 0, ENOENT or another errno. */
int blob_remove(const struct blobs *blobs, const struct hash *hash);

#endif
