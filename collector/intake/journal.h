// SPDX-License-Identifier: Apache-2.0
/* The journal: what was received, in order, on the disk before it is acknowledged.
 *
 * Files of up to JOURNAL_SEGMENT_BYTES. Each HTTP thread writes what it received in one round and
 * syncs once (group commit). One reader follows; when the store has what it read, for good, whole
 * files are removed. An entry has a checksum of its head and its bytes. Bytes that are no whole
 * entry (a crash cut them, or they are damaged) are said, counted and kept: whole entries behind
 * them are read, and the file gets a second name, NAME.damaged, which the journal does not remove.
 */
#ifndef SONDE_COLLECTOR_JOURNAL_H
#define SONDE_COLLECTOR_JOURNAL_H

#include "ids.h"

#define JOURNAL_SEGMENT_BYTES ((uint64_t)64 << 20)
#define JOURNAL_ENTRY_MAX     ((uint32_t)64 << 20) /* bytes of one entry */

/* How an entry's bytes are to be read. The numbers are stored. */
enum journal_form {
    JOURNAL_REPORT = 1, /* a sonde report, unchanged */
    JOURNAL_REPORT_ZSTD = 2,
    JOURNAL_REPORT_GZIP = 3,
    /* Of other tools: these, plus an enum coding. */
    JOURNAL_ENVELOPE = 0x10,
    JOURNAL_IPS = 0x20,
    JOURNAL_CRASH = 0x30,
    JOURNAL_METRICS = 0x40,
};
#define JOURNAL_CODING_MASK 0xfu

/* A place between two entries. Zero: the begin of all. */
struct journal_place {
    uint64_t segment, offset;
};

struct journal_entry {
    struct report_id id;
    uint32_t project;
    uint32_t form;        /* enum journal_form */
    uint64_t received_ns; /* since 1970 */
    const void *bytes;
    uint32_t size;
    struct journal_place begin; /* of what was read */
};

struct journal;

/* Open the journal in a folder. stored: where the store is; files before it are removed. Returns 0
 * or an errno. */
int journal_open(const char *folder, struct journal_place stored, struct journal **ret_journal);
void journal_close(struct journal *journal);

/* Append 1 to JOURNAL_BATCH_MAX entries and sync: all or none of them. Returns 0 when they are on
 * the disk, or an errno. Any thread; blocks for a sync of the disk. */
enum { JOURNAL_BATCH_MAX = 256 };
int journal_write(struct journal *journal, const struct journal_entry *entries, unsigned count);

/* Wait until the write of another thread is on the disk. */
void journal_let_write(struct journal *journal);

enum journal_next {
    JOURNAL_NONE,       /* there is none, or the journal ends (journal_wake()) */
    JOURNAL_ENTRY,      /* *place is behind it */
    JOURNAL_PASSED,     /* *place is behind bytes that are no report; they were said and counted */
    JOURNAL_UNREADABLE, /* it cannot be read now: journal_failure() */
};

/* The next entry after *place. The bytes are the journal's, until the next call. wait: for one, if
 * there is none yet. One thread. */
enum journal_next journal_next(struct journal *journal, struct journal_place *place, bool wait,
                               struct journal_entry *ret_entry);
/* Why and where it could not be read. Of the thread that reads. */
struct journal_failure {
    struct journal_place place;
    int os_error;
};
struct journal_failure journal_failure(const struct journal *journal);
/* What was found damaged since the start. Any thread. */
struct journal_damage {
    uint64_t places, bytes;
};
struct journal_damage journal_damage(struct journal *journal);
/* Let a reader that waits go. */
void journal_wake(struct journal *journal);
/* All before this place is in the store, for good. */
void journal_forget(struct journal *journal, struct journal_place place);

/* Bytes on the disk that `place` has not read. */
uint64_t journal_behind(struct journal *journal, struct journal_place place);

#endif
