// SPDX-License-Identifier: Apache-2.0
/* A private folder and the files in it, of whoever runs this: nobody else may write there, no link
 * is followed, and a lock (flock(2)) on a file shows that its writer lives. Context: any thread.
 *
 * All functions but _open() return 0 or an errno. Names have no slash. */
#ifndef SONDE_HOST_FOLDER_H
#define SONDE_HOST_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

/* Open a folder. make: with the missing folders of its path, readable by the owner only.
 * Returns OK | ABSENT | DENIED (it belongs to somebody else, others may write there, or it may not
 * be used) | UNSUPPORTED (no folder, or a symbolic link to one) | LIMIT (the disk is full) | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_folder_open(const char *path, bool make,
                                                          int32_t *ret_folder,
                                                          struct sonde_error *ret_error);

/* Make a file that was not there (else EEXIST), for the owner only (0600), for reading and writing,
 * and lock it. */
int sonde__host_folder_make(int32_t folder, const char *name, int32_t *ret_fd);
/* Open a file for reading. It must be a regular file of ours with one name, else EPERM. */
int sonde__host_folder_look(int32_t folder, const char *name, int32_t *ret_fd);
/* Lock it, without waiting: EWOULDBLOCK: its writer lives. ESTALE: the name is of another file, or
 * of none, by now. */
int sonde__host_folder_lock(int32_t folder, const char *name, int32_t fd);
/* Open and lock a file, if it is ours and no writer of it lives. */
bool sonde__host_folder_take(int32_t folder, const char *name, int32_t *ret_fd);
int sonde__host_folder_rename(int32_t folder, const char *from, const char *to);
/* End the making of a file: sync `part`, which is open as `fd`, and rename it to `name`. If that
 * fails, or `reason` is an error of the writing, remove it. Closes fd. */
int sonde__host_folder_place(int32_t folder, int32_t fd, const char *part, const char *name,
                             int reason);
int sonde__host_folder_remove(int32_t folder, const char *name);

/* What is known of an open file. */
struct sonde__host_folder_file {
    uint64_t size_bytes;
    uint64_t modified_ns; /* since 1970 */
};
int sonde__host_folder_stat(int32_t fd, struct sonde__host_folder_file *ret_file);
/* The first size_max bytes of a file. Ownership: sonde__mem_free(). */
int sonde__host_folder_read(int32_t fd, size_t size_max, void **ret_bytes, size_t *ret_size);
/* Until it is on the disk. */
int sonde__host_folder_sync(int32_t fd);

/* Only one may have the folder: true if it is us now, or was already. Ends with the descriptor. */
bool sonde__host_folder_claim(int32_t folder);
void sonde__host_folder_release(int32_t folder);

/* The name of each entry, in no order. `each` returns 0 to continue. */
int sonde__host_folder_each(int32_t folder, int (*each)(void *ctx, const char *name), void *ctx);

#endif
