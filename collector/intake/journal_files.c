// SPDX-License-Identifier: Apache-2.0
#include "journal_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { NAME_TEXT = 32, MAGIC = 0x314a4e53 }; /* "SNJ1" */

/* --- one entry --- */

static uint64_t check_of(const struct journal_head *head, const void *bytes)
{
    const size_t from = offsetof(struct journal_head, magic);
    uint64_t rest = XXH3_64bits((const char *)head + from, sizeof *head - from);
    return XXH3_64bits_withSeed(bytes, head->size, rest);
}

void journal_head_fill(struct journal_head *ret_head, const struct journal_entry *entry)
{
    *ret_head = (struct journal_head){.magic = MAGIC,
                                      .size = entry->size,
                                      .form = entry->form,
                                      .project = entry->project,
                                      .received_ns = entry->received_ns,
                                      .id = entry->id};
    ret_head->check = check_of(ret_head, entry->bytes);
}

bool journal_head_is_sane(const struct journal_head *head)
{
    return head->magic == MAGIC && head->size <= JOURNAL_ENTRY_MAX;
}

bool journal_head_matches(const struct journal_head *head, const void *bytes)
{
    return head->check == check_of(head, bytes);
}

void journal_head_entry(const struct journal_head *head, const void *bytes,
                        struct journal_entry *ret_entry)
{
    *ret_entry = (struct journal_entry){.id = head->id,
                                        .project = head->project,
                                        .form = head->form,
                                        .received_ns = head->received_ns,
                                        .bytes = bytes,
                                        .size = head->size};
}

/* --- files --- */

static void name_of(uint64_t segment, char ret_name[NAME_TEXT])
{
    snprintf(ret_name, NAME_TEXT, "%016llx.journal", (unsigned long long)segment);
}

/* False: no name of a journal file. */
static bool segment_of(const char *name, uint64_t *ret_segment)
{
    char same[NAME_TEXT];
    *ret_segment = strtoull(name, NULL, 16);
    name_of(*ret_segment, same);
    return strcmp(name, same) == 0;
}

/* Call for each file: once for a removal, once for the newest. */
static int look_through(int folder, uint64_t remove_before, uint64_t *ret_newest)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = fd >= 0 ? fdopendir(fd) : NULL;
    uint64_t segment;
    *ret_newest = 0;
    if (files == NULL) {
        int os_error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return os_error;
    }
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
        if (!segment_of(file->d_name, &segment)) {
            continue;
        }
        if (segment < remove_before) {
            (void)unlinkat(folder, file->d_name, 0);
        } else if (segment > *ret_newest) {
            *ret_newest = segment;
        }
    }
    closedir(files);
    return 0;
}

int journal_files_open(const struct journal_files *files, uint64_t segment)
{
    char name[NAME_TEXT];
    name_of(segment, name);
    return openat(files->folder, name, O_RDONLY | O_CLOEXEC);
}

void journal_files_remove_before(const struct journal_files *files, uint64_t segment)
{
    uint64_t newest;
    (void)look_through(files->folder, segment, &newest);
}

/* Begin a file, and have its name on the disk. Returns 0 or an errno. */
static int begin_file(struct journal_files *files, uint64_t segment)
{
    char name[NAME_TEXT];
    name_of(segment, name);
    int fd = openat(files->folder, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || fsync(files->folder) != 0) {
        int os_error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return os_error;
    }
    if (files->fd >= 0) {
        close(files->fd);
    }
    files->fd = fd;
    files->end = (struct journal_place){segment, 0};
    return 0;
}

/* The number of bytes of whole entries that a file begins with, from `from` on. */
static uint64_t whole_bytes(int fd, uint64_t from)
{
    struct journal_head head;
    uint64_t at = from;
    char *bytes = NULL;
    for (;;) {
        if (pread(fd, &head, sizeof head, (off_t)at) != (ssize_t)sizeof head ||
            !journal_head_is_sane(&head)) {
            break;
        }
        char *room = realloc(bytes, head.size + 1u);
        if (room == NULL) {
            break;
        }
        bytes = room;
        if (pread(fd, bytes, head.size, (off_t)(at + sizeof head)) != (ssize_t)head.size ||
            !journal_head_matches(&head, bytes)) {
            break;
        }
        at += sizeof head + head.size;
    }
    free(bytes);
    return at;
}

int journal_files_begin(struct journal_files *files, const char *folder,
                        struct journal_place stored)
{
    uint64_t newest;
    *files = (struct journal_files){.fd = -1};
    files->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files->folder < 0) {
        return errno;
    }
    int os_error = look_through(files->folder, stored.segment, &newest);
    if (os_error == 0) {
        newest = newest > stored.segment ? newest : stored.segment;
        os_error = begin_file(files, newest != 0 ? newest : 1);
    }
    if (os_error == 0) {
        files->end.offset =
            whole_bytes(files->fd, files->end.segment == stored.segment ? stored.offset : 0);
        if (ftruncate(files->fd, (off_t)files->end.offset) != 0 || fsync(files->fd) != 0) {
            os_error = errno;
        }
    }
    if (os_error != 0) {
        journal_files_end(files);
    }
    return os_error;
}

void journal_files_end(struct journal_files *files)
{
    if (files->fd >= 0) {
        close(files->fd);
    }
    close(files->folder);
}

static int write_parts(int fd, struct iovec *parts, unsigned count, uint64_t *ret_end)
{
    while (count > 0) {
        ssize_t done =
            pwritev(fd, parts, (int)(count < IOV_MAX ? count : IOV_MAX), (off_t)*ret_end);
        if (done < 0 && errno != EINTR) {
            return errno;
        }
        *ret_end += done > 0 ? (uint64_t)done : 0;
        for (size_t left = done > 0 ? (size_t)done : 0; count > 0;) {
            size_t part = left < parts->iov_len ? left : parts->iov_len;
            parts->iov_base = (char *)parts->iov_base + part;
            parts->iov_len -= part;
            left -= part;
            if (parts->iov_len != 0) {
                break;
            }
            parts++;
            count--;
        }
    }
    return 0;
}

int journal_files_append(struct journal_files *files, struct iovec *parts, unsigned count)
{
    if (files->end.offset >= JOURNAL_SEGMENT_BYTES) {
        int os_error = begin_file(files, files->end.segment + 1);
        if (os_error != 0) {
            return os_error;
        }
    }
    uint64_t end = files->end.offset;
    int os_error = write_parts(files->fd, parts, count, &end);
    if (os_error == 0 && fdatasync(files->fd) != 0) {
        os_error = errno;
    }
    if (os_error == 0) {
        files->end.offset = end;
    } else if (ftruncate(files->fd, (off_t)files->end.offset) != 0 || os_error == EIO) {
        /* what the disk has of it is not known: never write behind it */
        (void)begin_file(files, files->end.segment + 1);
    }
    return os_error;
}

uint64_t journal_files_between(const struct journal_files *files, struct journal_place from,
                               struct journal_place to)
{
    uint64_t sum = 0;
    struct stat file;
    char name[NAME_TEXT];
    for (uint64_t segment = from.segment; segment < to.segment; segment++) {
        name_of(segment, name);
        sum += fstatat(files->folder, name, &file, 0) == 0 ? (uint64_t)file.st_size : 0;
    }
    sum += to.offset;
    return sum > from.offset ? sum - from.offset : 0;
}
