// SPDX-License-Identifier: Apache-2.0
#include "journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "journal_files.h"
#include "journal_read.h"
#include "say.h"

struct journal {
    pthread_mutex_t writing; /* of the files; taken before `mutex` */
    struct journal_files files;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_waking, is_awaited; /* is_awaited: the reader waits */
    struct journal_place end;   /* of what is on the disk */
    struct journal_damage damage;
    /* the reader's */
    struct journal_reader reader;
    struct journal_place counted; /* the last damage that was counted */
    struct journal_failure failure;
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
    int os_error = 0;
    if (count > JOURNAL_BATCH_MAX) {
        return EINVAL;
    }
    pthread_mutex_lock(&j->writing);
    if (j->files.end.offset >= JOURNAL_SEGMENT_BYTES) {
        os_error = journal_files_begin_file(&j->files, j->files.end.segment + 1);
    }
    for (size_t i = 0; i < count && os_error == 0; i++) {
        journal_head_fill(&heads[i], &entries[i], j->files.salt);
        parts[2 * i] = (struct iovec){&heads[i], sizeof heads[i]};
        parts[2 * i + 1] = (struct iovec){(void *)(uintptr_t)entries[i].bytes, entries[i].size};
    }
    if (os_error == 0) {
        os_error = journal_files_append(&j->files, parts, 2 * count);
    }
    publish_end(j);
    pthread_mutex_unlock(&j->writing);
    return os_error;
}

void journal_let_write(struct journal *j)
{
    pthread_mutex_lock(&j->writing);
    pthread_mutex_unlock(&j->writing);
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

static enum journal_next fail(struct journal *j, struct journal_place place, int os_error)
{
    j->failure = (struct journal_failure){place, os_error};
    return JOURNAL_UNREADABLE;
}

/* Say what is damaged, count it, and keep the file, once. Returns 0 or an errno. */
static int note_damage(struct journal *j, struct journal_place from, struct journal_place to,
                       uint64_t bytes)
{
    char name[JOURNAL_NAME_TEXT];
    if (j->counted.segment != 0 && !is_before(j->counted, from)) {
        return 0;
    }
    int os_error = journal_files_keep(&j->files, from.segment);
    if (os_error != 0 && os_error != ENOENT) {
        return os_error;
    }
    journal_files_name(from.segment, name);
    if (os_error == ENOENT) {
        say_error("journal file %s is not there: what it had from %llu on is lost", name,
                  (unsigned long long)from.offset);
    } else {
        say_error("journal file %s: %llu bytes from %llu on are no whole report (damaged, or cut "
                  "when they were written); %s; the file is kept as %s.damaged",
                  name, (unsigned long long)bytes, (unsigned long long)from.offset,
                  to.segment == from.segment ? "whole reports follow and are read"
                                             : "nothing that can be read follows in it",
                  name);
    }
    j->counted = from;
    pthread_mutex_lock(&j->mutex);
    j->damage.places++;
    j->damage.bytes += bytes;
    pthread_mutex_unlock(&j->mutex);
    return 0;
}

/* Pass what is damaged before the end. */
static enum journal_next pass_damage(struct journal *j, struct journal_place *place,
                                     struct journal_place end)
{
    struct journal_place next;
    bool is_last = place->segment == end.segment;
    int64_t size = journal_reader_size(&j->reader);
    if (size < 0) {
        return fail(j, *place, j->reader.os_error);
    }
    uint64_t limit = is_last ? end.offset : (uint64_t)size;
    enum journal_read found = journal_reader_search(&j->reader, *place, limit, &next);
    if (found == JOURNAL_READ_FAILED) {
        return fail(j, *place, j->reader.os_error);
    }
    uint64_t to = found == JOURNAL_READ_ENTRY ? next.offset : limit;
    if (found != JOURNAL_READ_ENTRY) {
        next = is_last ? end : (struct journal_place){place->segment + 1, 0};
    }
    int os_error = note_damage(j, *place, next, to - place->offset);
    if (os_error != 0) {
        return fail(j, *place, os_error);
    }
    *place = next;
    return JOURNAL_PASSED;
}

/* Pass the end of a file, or a file that is not there, before the end of all. Returns NONE if that
 * is no loss. */
static enum journal_next pass_file(struct journal *j, struct journal_place *place,
                                   struct journal_place end, bool is_missing)
{
    bool is_last = place->segment == end.segment;
    struct journal_place next = is_last ? end : (struct journal_place){place->segment + 1, 0};
    bool is_loss = place->segment != 0 && (is_missing || is_last);
    int os_error =
        is_loss ? note_damage(j, *place, next, is_last ? end.offset - place->offset : 0) : 0;
    if (os_error != 0) {
        return fail(j, *place, os_error);
    }
    *place = next;
    return is_loss ? JOURNAL_PASSED : JOURNAL_NONE;
}

/* Read what is at a place before the end. NONE: *place moved to the next file. */
static enum journal_next read_on(struct journal *j, struct journal_place *place,
                                 struct journal_entry *ret_entry)
{
    pthread_mutex_lock(&j->mutex);
    struct journal_place end = j->end;
    pthread_mutex_unlock(&j->mutex);
    const struct journal_place begin = *place;
    enum journal_read read = journal_reader_next(&j->reader, place);
    switch (read) {
    case JOURNAL_READ_ENTRY:
        journal_head_entry(&j->reader.head, j->reader.bytes, ret_entry);
        ret_entry->begin = begin;
        return JOURNAL_ENTRY;
    case JOURNAL_READ_FAILED:
        return fail(j, *place, j->reader.os_error);
    case JOURNAL_READ_DAMAGED:
        return pass_damage(j, place, end);
    case JOURNAL_READ_END:
    case JOURNAL_READ_MISSING:
        break;
    }
    return pass_file(j, place, end, read == JOURNAL_READ_MISSING);
}

enum journal_next journal_next(struct journal *j, struct journal_place *place, bool wait,
                               struct journal_entry *ret_entry)
{
    enum journal_next next = JOURNAL_NONE;
    while (next == JOURNAL_NONE && wait_for_more(j, *place, wait)) {
        next = read_on(j, place, ret_entry);
    }
    return next;
}

struct journal_failure journal_failure(const struct journal *j)
{
    return j->failure;
}

struct journal_damage journal_damage(struct journal *j)
{
    pthread_mutex_lock(&j->mutex);
    struct journal_damage damage = j->damage;
    pthread_mutex_unlock(&j->mutex);
    return damage;
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

/* Append behind the last whole entry of the newest file. A file that has anything else behind it,
 * or is of an earlier version, stays as it is for the reader, which says so: then a new one is
 * begun. Returns 0 or an errno. */
static int find_end(struct journal *j, struct journal_place stored, uint64_t newest)
{
    struct journal_place end = {newest, newest == stored.segment ? stored.offset : 0};
    enum journal_read read;
    if (newest < stored.segment || newest == 0) {
        if (stored.segment != 0) { /* no loss is known: nothing there is said to be damaged */
            say_error("the journal does not have the place up to which the database has read it (a "
                      "backup was restored, or files were removed): a new file is begun");
            j->counted = (struct journal_place){stored.segment, UINT64_MAX};
        }
        return journal_files_begin_file(&j->files, stored.segment + 1);
    }
    while ((read = journal_reader_next(&j->reader, &end)) == JOURNAL_READ_ENTRY) {
    }
    int64_t size = read == JOURNAL_READ_FAILED ? -1 : journal_reader_size(&j->reader);
    if (size < 0) {
        return j->reader.os_error;
    }
    if (size == 0 && end.offset == 0) {
        return journal_files_begin_file(&j->files, newest);
    }
    uint64_t whole_bytes = end.offset != 0 ? end.offset : j->reader.first;
    bool is_whole = read == JOURNAL_READ_END && (uint64_t)size == whole_bytes;
    return is_whole && j->reader.salt != 0 ? journal_files_go_on(&j->files, end, j->reader.salt)
                                           : journal_files_begin_file(&j->files, newest + 1);
}

int journal_open(const char *folder, struct journal_place stored, struct journal **ret_journal)
{
    uint64_t newest;
    struct journal *j = calloc(1, sizeof *j);
    if (j == NULL) {
        return ENOMEM;
    }
    int os_error = journal_files_begin(&j->files, folder, stored, &newest);
    if (os_error == 0) {
        journal_reader_begin(&j->reader, &j->files);
        os_error = find_end(j, stored, newest);
        journal_reader_end(&j->reader);
        if (os_error != 0) {
            journal_files_end(&j->files);
        }
    }
    if (os_error != 0) {
        free(j);
        return os_error;
    }
    journal_reader_begin(&j->reader, &j->files); /* anew: the last file may have a head since */
    j->end = j->files.end;
    pthread_mutex_init(&j->writing, NULL);
    pthread_mutex_init(&j->mutex, NULL);
    pthread_cond_init(&j->changed, NULL);
    *ret_journal = j;
    return 0;
}

void journal_close(struct journal *j)
{
    journal_reader_end(&j->reader);
    journal_files_end(&j->files);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->mutex);
    pthread_mutex_destroy(&j->writing);
    free(j);
}
