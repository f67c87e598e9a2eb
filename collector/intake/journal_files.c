// SPDX-License-Identifier: Apache-2.0
#include "journal_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { MARK_OF_OLD = 0x314a4e53 };                /* "SNJ1" */
static const uint64_t magic = 0x324c4e4a45444e53; /* "SNDEJNL2" */

/* --- heads --- */

static uint64_t check_of_file(const struct journal_file_head *head)
{
    return XXH3_64bits(head, offsetof(struct journal_file_head, check));
}

void journal_file_head_fill(struct journal_file_head *ret_head, uint64_t segment, uint64_t salt)
{
    *ret_head = (struct journal_file_head){.magic = magic, .segment = segment, .salt = salt};
    ret_head->check = check_of_file(ret_head);
}

bool journal_file_head_matches(const struct journal_file_head *head, uint64_t segment)
{
    return head->magic == magic && head->segment == segment && head->check == check_of_file(head);
}

static uint64_t hash_from(const struct journal_head *head, size_t from, uint64_t salt)
{
    return XXH3_64bits_withSeed((const char *)head + from, sizeof *head - from, salt);
}

static uint32_t mark_of(const struct journal_head *head, uint64_t salt)
{
    return salt == 0 ? MARK_OF_OLD
                     : (uint32_t)hash_from(head, offsetof(struct journal_head, size), salt);
}

static uint64_t check_of(const struct journal_head *head, const void *bytes, uint64_t salt)
{
    return XXH3_64bits_withSeed(bytes, head->size,
                                hash_from(head, offsetof(struct journal_head, mark), salt));
}

void journal_head_fill(struct journal_head *ret_head, const struct journal_entry *entry,
                       uint64_t salt)
{
    *ret_head = (struct journal_head){.size = entry->size,
                                      .form = entry->form,
                                      .project = entry->project,
                                      .received_ns = entry->received_ns,
                                      .id = entry->id};
    ret_head->mark = mark_of(ret_head, salt);
    ret_head->check = check_of(ret_head, entry->bytes, salt);
}

bool journal_head_is_sane(const struct journal_head *head, uint64_t salt)
{
    return head->size <= JOURNAL_ENTRY_MAX && head->mark == mark_of(head, salt);
}

bool journal_head_matches(const struct journal_head *head, const void *bytes, uint64_t salt)
{
    return head->check == check_of(head, bytes, salt);
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

void journal_files_name(uint64_t segment, char ret_name[JOURNAL_NAME_TEXT])
{
    snprintf(ret_name, JOURNAL_NAME_TEXT, "%016llx.journal", (unsigned long long)segment);
}

/* False: no name of a journal file. */
static bool segment_of(const char *name, uint64_t *ret_segment)
{
    char same[JOURNAL_NAME_TEXT];
    *ret_segment = strtoull(name, NULL, 16);
    journal_files_name(*ret_segment, same);
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
    char name[JOURNAL_NAME_TEXT];
    journal_files_name(segment, name);
    return openat(files->folder, name, O_RDONLY | O_CLOEXEC);
}

/* Are two names of one file? False: errno as before. */
static bool is_same(int folder, const char *one, const char *other)
{
    struct stat a, b;
    int os_error = errno;
    bool is_found = fstatat(folder, one, &a, 0) == 0 && fstatat(folder, other, &b, 0) == 0;
    errno = os_error;
    return is_found && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int journal_files_keep(const struct journal_files *files, uint64_t segment)
{
    char name[JOURNAL_NAME_TEXT], kept[JOURNAL_NAME_TEXT + 16];
    journal_files_name(segment, name);
    snprintf(kept, sizeof kept, "%s.damaged", name);
    bool is_kept = linkat(files->folder, name, files->folder, kept, 0) == 0 ||
                   (errno == EEXIST && is_same(files->folder, name, kept));
    return is_kept && fsync(files->folder) == 0 ? 0 : errno;
}

void journal_files_remove_before(const struct journal_files *files, uint64_t segment)
{
    uint64_t newest;
    (void)look_through(files->folder, segment, &newest);
}

int journal_files_go_on(struct journal_files *files, struct journal_place end, uint64_t salt)
{
    char name[JOURNAL_NAME_TEXT];
    journal_files_name(end.segment, name);
    int fd = openat(files->folder, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    /* the name, and what an end without a power cut left in memory, are on the disk */
    if (fd < 0 || fsync(files->folder) != 0 || (end.offset != 0 && fsync(fd) != 0)) {
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
    files->salt = salt;
    files->end = end;
    return 0;
}

int journal_files_begin_file(struct journal_files *files, uint64_t segment)
{
    uint64_t salt = 0;
    while (salt == 0) {
        if (getrandom(&salt, sizeof salt, 0) != (ssize_t)sizeof salt && errno != EINTR) {
            return errno;
        }
    }
    return journal_files_go_on(files, (struct journal_place){segment, 0}, salt);
}

int journal_files_begin(struct journal_files *files, const char *folder,
                        struct journal_place stored, uint64_t *ret_newest)
{
    *files = (struct journal_files){.fd = -1};
    files->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files->folder < 0) {
        return errno;
    }
    int os_error = look_through(files->folder, stored.segment, ret_newest);
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

/* The same from the end on. */
static int write_all(struct journal_files *files, struct iovec *parts, unsigned count,
                     uint64_t *ret_end)
{
    struct journal_file_head head;
    struct iovec part = {&head, sizeof head};
    *ret_end = files->end.offset;
    if (*ret_end == 0) {
        journal_file_head_fill(&head, files->end.segment, files->salt);
        int os_error = write_parts(files->fd, &part, 1, ret_end);
        if (os_error != 0) {
            return os_error;
        }
    }
    return write_parts(files->fd, parts, count, ret_end);
}

int journal_files_append(struct journal_files *files, struct iovec *parts, unsigned count)
{
    uint64_t end;
    int os_error = write_all(files, parts, count, &end);
    if (os_error == 0 && fdatasync(files->fd) != 0) {
        os_error = errno;
    }
    if (os_error == 0) {
        files->end.offset = end;
    } else if (ftruncate(files->fd, (off_t)files->end.offset) != 0 || os_error == EIO) {
        /* what the disk has of it is not known: never write behind it */
        (void)journal_files_begin_file(files, files->end.segment + 1);
    }
    return os_error;
}

uint64_t journal_files_between(const struct journal_files *files, struct journal_place from,
                               struct journal_place to)
{
    uint64_t sum = 0;
    struct stat file;
    char name[JOURNAL_NAME_TEXT];
    for (uint64_t segment = from.segment; segment < to.segment; segment++) {
        journal_files_name(segment, name);
        sum += fstatat(files->folder, name, &file, 0) == 0 ? (uint64_t)file.st_size : 0;
    }
    sum += to.offset;
    return sum > from.offset ? sum - from.offset : 0;
}
