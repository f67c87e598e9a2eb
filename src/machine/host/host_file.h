// SPDX-License-Identifier: Apache-2.0
/* Whole files, read-only. Context: any thread.
 *
 * A mapped file is not copied: if another program truncates it, a read past the new end raises
 * SIGBUS. Package managers replace files by renaming, which is harmless. */
#ifndef SONDE_HOST_FILE_H
#define SONDE_HOST_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

struct sonde__host_file {
    const void *data; /* null: empty file */
    size_t size;
    uint64_t device, inode;
    int64_t modified_ns; /* since 1970 */
};

/* Map a regular file.
 *
 * root      folder in which `path` is resolved as if it were "/" (symbolic links too, if the kernel
 *           supports that); null, "" or "/": the real root
 * size_max  bytes; larger files are LIMIT
 *
 * Returns OK | ABSENT (no such file) | DENIED | LIMIT | UNSUPPORTED (not a regular file) | OS.
 * Ownership: unmap it. */
SONDE_NODISCARD enum sonde_status sonde__host_file_map(const char *root, const char *path,
                                                       uint64_t size_max,
                                                       struct sonde__host_file *ret_file,
                                                       struct sonde_error *ret_error);
/* As sonde__host_file_map(), for a folder where others may write: the file must belong to `uid` or
 * root (else DENIED), and the last part of the path must not be a symbolic link (else ABSENT). */
SONDE_NODISCARD enum sonde_status sonde__host_file_map_owned(const char *root, const char *path,
                                                             uint32_t uid, uint64_t size_max,
                                                             struct sonde__host_file *ret_file,
                                                             struct sonde_error *ret_error);
void sonde__host_file_unmap(struct sonde__host_file *file);

/* Read a small file (also of /proc, where sizes are 0) into the caller's buffer, with a NUL after
 * ret_size bytes. Returns OK | ABSENT | DENIED | LIMIT (more than capacity - 1 bytes: the first are
 * stored, and ret_size is set) | UNREADABLE | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_file_read(const char *path, char *buffer,
                                                        size_t capacity, size_t *ret_size,
                                                        struct sonde_error *ret_error);

/* A small file that stays open from one reading to the next. All zero: not opened yet. */
struct sonde__host_file_kept {
    bool is_known;
    int32_t fd; /* -1: it cannot be opened, and no reading tries again */
};
/* Read its first capacity - 1 bytes as they are now, with a NUL after them. path: opened by the
 * first reading only. Returns how many bytes; 0: it cannot be read. Ownership: drop it. */
size_t sonde__host_file_read_kept(struct sonde__host_file_kept *kept, const char *path,
                                  char *buffer, size_t capacity);
void sonde__host_file_drop(struct sonde__host_file_kept *kept);

#endif
