// SPDX-License-Identifier: Apache-2.0
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "journal_files.h"

struct journal {
    pthread_mutex_t writing; /* of the files; taken before `mutex` */
    struct journal_files files;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_waking, is_awaited; /* is_awaited: the reader waits */
    struct journal_place end;   /* of what is on the disk */
    /* the reader's */
    int fd;
    uint64_t segment; /* of fd */
    void *bytes;
    size_t capacity;
};

/* --- write --- */

static void publish_end(struct journal *j)
{
    pthread_mutex_lock(&j->mutex);
    j->end = j->files.end;
    if (j->is_awaited) {
        pthread_cond_broadcast(&j->changed);
    }
    pthread_mutex_unlock(&j->mutex);
}

int journal_write(struct journal *j, const struct journal_entry *entries, unsigned count)
{
    struct journal_head heads[JOURNAL_BATCH_MAX];
    struct iovec parts[2 * JOURNAL_BATCH_MAX];
    if (count > JOURNAL_BATCH_MAX) {
        return EINVAL;
    }
    for (size_t i = 0; i < count; i++) {
        journal_head_fill(&heads[i], &entries[i]);
        parts[2 * i] = (struct iovec){&heads[i], sizeof heads[i]};
        parts[2 * i + 1] = (struct iovec){(void *)(uintptr_t)entries[i].bytes, entries[i].size};
    }
    pthread_mutex_lock(&j->writing);
    int os_error = journal_files_append(&j->files, parts, 2 * count);
    publish_end(j);
    pthread_mutex_unlock(&j->writing);
    return os_error;
}

/* --- read --- */

static bool is_before(struct journal_place a, struct journal_place b)
{
    return a.segment < b.segment || (a.segment == b.segment && a.offset < b.offset);
}

/* Wait until the disk has more than `place`. False: the wait ends without. */
static bool wait_for_more(struct journal *j, struct journal_place place, bool wait)
{
    pthread_mutex_lock(&j->mutex);
    while (wait && !j->is_waking && !is_before(place, j->end)) {
        j->is_awaited = true;
        pthread_cond_wait(&j->changed, &j->mutex);
        j->is_awaited = false;
    }
    bool has_more = is_before(place, j->end) && !(wait && j->is_waking);
    pthread_mutex_unlock(&j->mutex);
    return has_more;
}

static bool open_segment(struct journal *j, uint64_t segment)
{
    if (j->fd >= 0 && j->segment == segment) {
        return true;
    }
    if (j->fd >= 0) {
        close(j->fd);
    }
    j->fd = journal_files_open(&j->files, segment);
    j->segment = segment;
    return j->fd >= 0;
}

static bool read_whole(int fd, void *bytes, size_t size, uint64_t offset)
{
    char *to = bytes;
    while (size > 0) {
        ssize_t got = pread(fd, to, size, (off_t)offset);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return false;
        }
        if (got > 0) {
            to += got;
            offset += (uint64_t)got;
            size -= (size_t)got;
        }
    }
    return true;
}

static bool reserve(struct journal *j, size_t size)
{
    if (size > j->capacity) {
        void *bytes = realloc(j->bytes, size);
        if (bytes == NULL) {
            return false;
        }
        j->bytes = bytes;
        j->capacity = size;
    }
    return true;
}

/* Read the entry at a place of one file. */
static bool read_entry(struct journal *j, struct journal_place place, struct journal_head *ret_head)
{
    return open_segment(j, place.segment) &&
           read_whole(j->fd, ret_head, sizeof *ret_head, place.offset) &&
           journal_head_is_sane(ret_head) && reserve(j, ret_head->size) &&
           read_whole(j->fd, j->bytes, ret_head->size, place.offset + sizeof *ret_head) &&
           journal_head_matches(ret_head, j->bytes);
}

/* There is no entry at a place before the end: the file ends there, or its rest is damaged. */
static struct journal_place after_gap(struct journal *j, struct journal_place place)
{
    pthread_mutex_lock(&j->mutex);
    struct journal_place end = j->end;
    pthread_mutex_unlock(&j->mutex);
    return place.segment < end.segment ? (struct journal_place){place.segment + 1, 0} : end;
}

bool journal_next(struct journal *j, struct journal_place *place, bool wait,
                  struct journal_entry *ret_entry)
{
    struct journal_head head;
    while (wait_for_more(j, *place, wait)) {
        if (read_entry(j, *place, &head)) {
            journal_head_entry(&head, j->bytes, ret_entry);
            ret_entry->begin = *place;
            place->offset += sizeof head + head.size;
            return true;
        }
        *place = after_gap(j, *place);
    }
    return false;
}

void journal_wake(struct journal *j)
{
    pthread_mutex_lock(&j->mutex);
    j->is_waking = true;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->mutex);
}

void journal_forget(struct journal *j, struct journal_place place)
{
    journal_files_remove_before(&j->files, place.segment);
}

uint64_t journal_behind(struct journal *j, struct journal_place place)
{
    pthread_mutex_lock(&j->mutex);
    struct journal_place end = j->end;
    pthread_mutex_unlock(&j->mutex);
    return journal_files_between(&j->files, place, end);
}

/* --- open and close --- */

int journal_open(const char *folder, struct journal_place stored, struct journal **ret_journal)
{
    struct journal *j = calloc(1, sizeof *j);
    if (j == NULL) {
        return ENOMEM;
    }
    int os_error = journal_files_begin(&j->files, folder, stored);
    if (os_error != 0) {
        free(j);
        return os_error;
    }
    j->fd = -1;
    j->end = j->files.end;
    pthread_mutex_init(&j->writing, NULL);
    pthread_mutex_init(&j->mutex, NULL);
    pthread_cond_init(&j->changed, NULL);
    *ret_journal = j;
    return 0;
}

void journal_close(struct journal *j)
{
    if (j->fd >= 0) {
        close(j->fd);
    }
    journal_files_end(&j->files);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->mutex);
    pthread_mutex_destroy(&j->writing);
    free(j->bytes);
    free(j);
}
