// SPDX-License-Identifier: Apache-2.0
/* Content codings of a body: none, zstd (RFC 8878), gzip (RFC 1952), deflate (RFC 1950). A decoded
 * content is bounded, whatever its coding claims. Context: any thread. */
#ifndef SONDE_COLLECTOR_CODING_H
#define SONDE_COLLECTOR_CODING_H

#include <stddef.h>

/* The numbers are stored (journal.h). */
enum coding { CODING_NONE, CODING_ZSTD, CODING_GZIP, CODING_DEFLATE };

#define CODING_DECODED_MAX ((size_t)64 << 20)

struct coding_bytes {
    void *bytes;
    size_t size, capacity;
};

/* Decode all of a body into *ret_bytes, whose memory is used again. Returns 0, EBADMSG (not this
 * coding, damaged, or cut), EFBIG (more than CODING_DECODED_MAX) or ENOMEM. Ownership: free() of
 * its bytes. CODING_NONE copies. */
int coding_unpack(enum coding coding, const void *bytes, size_t size,
                  struct coding_bytes *ret_bytes);
/* As one zstd frame with a checksum. Returns 0 or ENOMEM. Ownership: as above. */
int coding_pack(const void *bytes, size_t size, int level, struct coding_bytes *ret_bytes);

#endif
