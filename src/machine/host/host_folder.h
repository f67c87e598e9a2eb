// SPDX-License-Identifier: Apache-2.0
/* A private folder of the user, and its files: nobody else may write there, no link is followed,
 * and a lock on a file shows that its writer lives (host_folder_port.h). A locked file is closed by
 * sonde__host_close(). Context: any thread.
 *
 * Functions that return int return 0 or an errno. Names have no slash. */
#ifndef SONDE_HOST_FOLDER_H
#define SONDE_HOST_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

/* Open a folder. make: create missing folders of its path, readable by the owner only. Returns OK |
 * ABSENT | DENIED (it belongs to somebody else, others may write there, or no access) | UNSUPPORTED
 * (not a folder, or a symbolic link to one) | LIMIT (the disk is full) | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_folder_open(const char *path, bool make,
                                                          int32_t *ret_folder,
                                                          struct sonde_error *ret_error);

/* Create the missing folders above a file, for the owner only. If that fails, creating the file
 * will fail, too. */
void sonde__host_folders_above(const char *path);

/* Create a file (EEXIST if it exists), for the owner only (0600), open it for reading and writing,
 * and lock it. */
int sonde__host_folder_make(int32_t folder, const char *name, int32_t *ret_fd);
/* Open a file for reading and writing. It must be a regular file of ours with one name, else
 * EPERM. */
int sonde__host_folder_look(int32_t folder, const char *name, int32_t *ret_fd);
/* Lock an open file without waiting. EWOULDBLOCK: its writer lives. ESTALE: the name now refers to
 * another file, or to none. */
int sonde__host_folder_lock(int32_t folder, const char *name, int32_t fd);
/* Open and lock a file if it is ours and its writer does not live. */
bool sonde__host_folder_take(int32_t folder, const char *name, int32_t *ret_fd);
int sonde__host_folder_rename(int32_t folder, const char *from, const char *to);
/* Finish a file: sync `part`, which is open as `fd`, and rename it to `name`. If that fails, or if
 * `reason` is an error of an earlier write, remove it. Closes fd. */
int sonde__host_folder_place(int32_t folder, int32_t fd, const char *part, const char *name,
                             int reason);
int sonde__host_folder_remove(int32_t folder, const char *name);

/* Attributes of an open file. */
struct sonde__host_folder_file {
    uint64_t size_bytes;
    uint64_t modified_ns; /* since 1970 */
};
int sonde__host_folder_stat(int32_t fd, struct sonde__host_folder_file *ret_file);
/* Read the first size_max bytes of a file. Ownership: sonde__mem_free(). */
int sonde__host_folder_read(int32_t fd, size_t size_max, void **ret_bytes, size_t *ret_size);
/* Wait until the file is on the disk. */
int sonde__host_folder_sync(int32_t fd);

/* Claim the folder; only one owner at a time. True: we own it now, or did already. The claim ends
 * with the descriptor. */
bool sonde__host_folder_claim(int32_t folder);
void sonde__host_folder_release(int32_t folder);

/* Call `each` with the name of each entry, in no order. `each` returns 0 to continue. */
int sonde__host_folder_each(int32_t folder, int (*each)(void *ctx, const char *name), void *ctx);

#endif
