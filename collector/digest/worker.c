// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blob.h"
#include "clock.h"
#include "coding.h"
#include "guard.h"
#include "import.h"
#include "mem_heap.h"
#include "names.h"
#include "say.h"

/* Reports of one transaction; and a sync after so many bytes of the journal, which then loses
 * them. */
enum { BATCH_MAX = 128 };
#define SYNC_BYTES  JOURNAL_SEGMENT_BYTES
#define RETRY_FIRST 1u
#define RETRY_MOST  30u

struct worker {
    struct store *store;
    struct journal *journal;
    struct blobs blobs;
    pthread_t thread;
    struct coding_bytes bytes;
    struct guard guard;
    struct names *names; /* or null */
    struct worker_counts counts;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t ends;
    bool is_ending;
    struct journal_place place; /* published, as the counts are */
    struct worker_counts told;
};

static bool is_of_another_tool(const struct journal_entry *entry)
{
    return entry->form > JOURNAL_CODING_MASK;
}

static enum coding coding_of(const struct journal_entry *entry)
{
    if (is_of_another_tool(entry)) {
        return (enum coding)(entry->form & JOURNAL_CODING_MASK);
    }
    return entry->form == JOURNAL_REPORT_ZSTD   ? CODING_ZSTD
           : entry->form == JOURNAL_REPORT_GZIP ? CODING_GZIP
                                                : CODING_NONE;
}

/* --- one report --- */

/* What was read of w->bytes. */
struct reading {
    enum sonde_status status;
    struct sonde_error error;
    struct digest digest; /* if OK */
};

/* Make a report of sonde of what another tool sent; what cannot be read stays as it is. */
static enum sonde_status convert(struct worker *w, const struct journal_entry *entry,
                                 struct sonde_error *ret_error)
{
    char id[IDS_REPORT_TEXT];
    void *bytes;
    size_t size;
    ids_report_text(&entry->id, id);
    enum sonde_status status =
        import_read((enum import_form)(entry->form & ~JOURNAL_CODING_MASK), w->bytes.bytes,
                    w->bytes.size, id, &bytes, &size, ret_error);
    if (status != SONDE_OK) {
        return status;
    }
    int os_error = coding_unpack(CODING_NONE, bytes, size, &w->bytes);
    sonde__mem_free(bytes);
    return os_error == 0 ? SONDE_OK : SONDE_MEMORY;
}

/* Read what is in w->bytes, unless the program ended twice when it did. */
static void read_bytes(struct worker *w, const struct journal_entry *entry,
                       struct reading *ret_reading)
{
    *ret_reading = (struct reading){.status = SONDE_CORRUPT};
    if (!guard_enter(&w->guard, entry->begin)) {
        snprintf(ret_reading->error.what, sizeof ret_reading->error.what,
                 "the collector ended twice while it read this report");
        return;
    }
    ret_reading->status =
        is_of_another_tool(entry) ? convert(w, entry, &ret_reading->error) : SONDE_OK;
    if (ret_reading->status == SONDE_OK) {
        ret_reading->status =
            digest_read(w->bytes.bytes, w->bytes.size,
                        w->names != NULL ? names_of(w->names, entry->project) : NULL,
                        &ret_reading->digest, &ret_reading->error);
    }
    guard_leave(&w->guard);
}

static enum store_status add_file(struct worker *w, const struct journal_entry *entry,
                                  bool is_decoded, const struct reading *reading)
{
    struct store_report report = {.id = entry->id,
                                  .project = entry->project,
                                  .received_ns = entry->received_ns,
                                  .size_bytes = w->bytes.size,
                                  .digest = reading->status == SONDE_OK ? &reading->digest : NULL,
                                  .why = reading->error.what};
    bool is_packed = is_decoded && entry->form == JOURNAL_REPORT_ZSTD;
    const struct blob blob = {.bytes = w->bytes.bytes,
                              .size = w->bytes.size,
                              .packed = is_packed ? entry->bytes : NULL,
                              .packed_size = entry->size};
    int os_error = blob_put(&w->blobs, &blob, &report.blob);
    if (os_error != 0) {
        say_error("a report's file cannot be written: %s",
                  w->blobs.store != NULL ? store_error() : strerror(os_error));
        return STORE_FAILED;
    }
    enum store_status result = store_add_report(w->store, &report);
    w->counts.unread += result == STORE_OK && report.digest == NULL;
    return result;
}

static enum store_status add_report(struct worker *w, const struct journal_entry *entry)
{
    struct reading reading;
    enum store_status status = store_knows(w->store, entry->project, &entry->id);
    if (status != STORE_ABSENT) {
        return status;
    }
    int os_error = coding_unpack(coding_of(entry), entry->bytes, entry->size, &w->bytes);
    if (os_error == ENOMEM) {
        return STORE_FAILED;
    }
    if (os_error != 0) { /* it could be decoded when it came */
        w->bytes.size = 0;
    }
    read_bytes(w, entry, &reading);
    if (reading.status == SONDE_MEMORY) {
        say_error("no memory to read a report of %zu bytes", w->bytes.size);
        return STORE_FAILED;
    }
    status = add_file(w, entry, os_error == 0, &reading);
    if (reading.status == SONDE_OK) {
        digest_done(&reading.digest);
    }
    return status;
}

/* --- batches --- */

/* Put what waits into the store, at most BATCH_MAX. has_first: of *first on; else only that the
 * place was read. False: nothing of it could be stored. */
static bool store_batch(struct worker *w, bool has_first, const struct journal_entry *first,
                        struct journal_place *place)
{
    struct worker_counts before = w->counts;
    struct journal_entry entry = *first;
    enum store_status status = store_begin(w->store);
    bool has_begun = status == STORE_OK, is_full = !has_first;
    for (unsigned i = 1; status == STORE_OK && !is_full; i++) {
        status = add_report(w, &entry);
        w->counts.stored += status == STORE_OK;
        w->counts.known += status == STORE_KNOWN;
        status = status == STORE_KNOWN ? STORE_OK : status;
        is_full = i == BATCH_MAX || status != STORE_OK ||
                  journal_next(w->journal, place, false, &entry) != JOURNAL_ENTRY;
    }
    if (status == STORE_OK) {
        status = store_commit(w->store, *place);
    } else if (has_begun) {
        store_rollback(w->store);
    }
    if (status != STORE_OK) {
        w->counts = before;
        w->counts.failed++;
    }
    return status == STORE_OK;
}

/* Have all that was stored on the disk, and remove what the journal has of it. */
static void sync_all(struct worker *w, struct journal_place place)
{
    if (w->blobs.store == NULL && syncfs(w->blobs.folder) != 0) {
        say_error("the data folder cannot be synced: %s", strerror(errno));
    } else if (store_sync(w->store) != STORE_OK) {
        say_error("the database cannot be synced: %s", store_error());
    } else {
        journal_forget(w->journal, place);
    }
}

/* Wait after a failure, longer each time. False: the worker ends. */
static bool wait_a_while(struct worker *w, unsigned seconds)
{
    struct timespec until = collector_after_ms(seconds * (uint64_t)1000);
    pthread_mutex_lock(&w->mutex);
    while (!w->is_ending &&
           pthread_cond_clockwait(&w->ends, &w->mutex, CLOCK_MONOTONIC, &until) == 0) {
    }
    bool goes_on = !w->is_ending;
    pthread_mutex_unlock(&w->mutex);
    return goes_on;
}

static void publish(struct worker *w, struct journal_place place)
{
    pthread_mutex_lock(&w->mutex);
    w->place = place;
    w->told = w->counts;
    pthread_mutex_unlock(&w->mutex);
}

/* Say why there is no entry now, and wait. False: the worker ends. */
static bool wait_for_journal(struct worker *w, struct journal_place place, unsigned seconds)
{
    struct journal_failure failure = journal_failure(w->journal);
    w->counts.journal_failed++;
    w->counts.is_journal_unreadable = true;
    publish(w, place);
    say_error("journal file %016llx.journal cannot be read at %llu, or not be kept; next try in %u "
              "s: %s",
              (unsigned long long)failure.place.segment, (unsigned long long)failure.place.offset,
              seconds, strerror(failure.os_error));
    return wait_a_while(w, seconds);
}

/* Store what is next, or wait. *place: up to where all is stored. False: the worker ends. */
static bool work_on(struct worker *w, struct journal_place *place, unsigned *retry_seconds)
{
    struct journal_entry entry = {0};
    struct journal_place next = *place;
    unsigned seconds = *retry_seconds;
    *retry_seconds = 2 * seconds < RETRY_MOST ? 2 * seconds : RETRY_MOST;
    enum journal_next is_next = journal_next(w->journal, &next, true, &entry);
    if (is_next == JOURNAL_NONE) {
        return false;
    }
    if (is_next == JOURNAL_UNREADABLE) {
        return wait_for_journal(w, *place, seconds);
    }
    w->counts.is_journal_unreadable = false;
    if (!store_batch(w, is_next == JOURNAL_ENTRY, &entry, &next)) { /* *place is read again */
        publish(w, *place);
        say_error("reports cannot be stored, next try in %u s: %s", seconds, store_error());
        return wait_a_while(w, seconds);
    }
    *place = next;
    *retry_seconds = RETRY_FIRST;
    publish(w, next);
    return true;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct journal_place place = w->place, synced = place;
    unsigned retry_seconds = RETRY_FIRST;
    pthread_setname_np(pthread_self(), "worker");
    if (store_learn(w->store) != STORE_OK) { /* then the database is asked about each report */
        say_error("the ids of the reports cannot be read: %s", store_error());
    }
    while (work_on(w, &place, &retry_seconds)) {
        if (place.segment != synced.segment) {
            sync_all(w, place);
            synced = place;
        }
    }
    sync_all(w, place);
    return NULL;
}

int worker_start(struct store *store, struct journal *journal, const struct blobs *blobs,
                 struct symbols *symbols, const char *guard, struct worker **ret_worker)
{
    struct worker *w = calloc(1, sizeof *w);
    struct names *names = symbols != NULL ? names_begin(symbols) : NULL;
    if (w == NULL || (symbols != NULL && names == NULL)) {
        free(w);
        return ENOMEM;
    }
    w->names = names;
    w->store = store;
    w->journal = journal;
    w->blobs = *blobs;
    w->place = store_place(store);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->ends, NULL);
    int os_error = guard_begin(&w->guard, guard);
    if (os_error == 0 && (os_error = pthread_create(&w->thread, NULL, work, w)) != 0) {
        guard_end(&w->guard);
    }
    if (os_error != 0) {
        names_end(names);
        free(w);
        return os_error;
    }
    *ret_worker = w;
    return 0;
}

void worker_stop(struct worker *w)
{
    pthread_mutex_lock(&w->mutex);
    w->is_ending = true;
    pthread_cond_broadcast(&w->ends);
    pthread_mutex_unlock(&w->mutex);
    journal_wake(w->journal);
    pthread_join(w->thread, NULL);
    guard_end(&w->guard);
    pthread_cond_destroy(&w->ends);
    pthread_mutex_destroy(&w->mutex);
    free(w->bytes.bytes);
    names_end(w->names);
    free(w);
}

struct worker_counts worker_counts(struct worker *w)
{
    pthread_mutex_lock(&w->mutex);
    struct worker_counts counts = w->told;
    pthread_mutex_unlock(&w->mutex);
    return counts;
}

struct journal_place worker_place(struct worker *w)
{
    pthread_mutex_lock(&w->mutex);
    struct journal_place place = w->place;
    pthread_mutex_unlock(&w->mutex);
    return place;
}
