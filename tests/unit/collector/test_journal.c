// SPDX-License-Identifier: Apache-2.0
/* The journal: what was acknowledged is read back in order, whatever a crash cut. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal.h"
#include "test.h"

static char texts[64][32];

static struct journal_entry entry_of(unsigned i)
{
    struct journal_entry entry = {.project = i, .form = JOURNAL_REPORT, .received_ns = i};
    snprintf(texts[i], sizeof texts[i], "entry %u%.*s", i, (int)(i % 7), "......");
    entry.bytes = texts[i];
    entry.size = (uint32_t)strlen(texts[i]);
    entry.id.bytes[0] = (uint8_t)i;
    return entry;
}

/* Write entries first to last - 1 by one sync. */
static void add(struct journal *journal, unsigned first, unsigned last)
{
    struct journal_entry entries[64];
    for (unsigned i = first; i < last; i++) {
        entries[i - first] = entry_of(i);
    }
    CHECK_EQ(journal_write(journal, entries, last - first), 0);
}

/* Read from a place to the end; they must be entries first, first + 1, … Returns how many. */
static unsigned read_all(struct journal *journal, struct journal_place *place, unsigned first)
{
    struct journal_entry entry;
    unsigned count = 0;
    while (journal_next(journal, place, false, &entry)) {
        unsigned i = first + count++;
        CHECK_EQ(entry.project, i);
        CHECK_EQ(entry.received_ns, i);
        CHECK_EQ(entry.id.bytes[0], i);
        CHECK_EQ(entry.size, strlen(texts[i]));
        CHECK(memcmp(entry.bytes, texts[i], entry.size) == 0);
    }
    return count;
}

static struct journal *open_journal(struct journal_place stored)
{
    struct journal *journal;
    CHECK_EQ(journal_open(test_folder(), stored, &journal), 0);
    return journal;
}

TEST(entries_are_read_in_order)
{
    struct journal_place place = {0}, middle;
    struct journal *journal = open_journal(place);
    add(journal, 0, 20);
    CHECK_EQ(read_all(journal, &place, 0), 20);
    CHECK_EQ(journal_behind(journal, place), 0);
    middle = place;
    add(journal, 20, 30);
    CHECK(journal_behind(journal, place) > 0);
    CHECK_EQ(read_all(journal, &place, 20), 10);
    journal_close(journal);
    journal = open_journal(middle); /* the store has the first twenty */
    place = middle;
    CHECK_EQ(read_all(journal, &place, 20), 10);
    journal_close(journal);
}

enum { WRITERS = 3, EACH = 40 };

/* Entries of a writer: its number, and which of its entries it is. */
static void *write_each(void *ctx)
{
    static atomic_uint next_writer;
    unsigned writer = next_writer++;
    for (unsigned i = 0; i < EACH; i += 2) {
        struct journal_entry entries[2];
        for (unsigned k = 0; k < 2; k++) {
            entries[k] = (struct journal_entry){
                .project = writer, .received_ns = i + k, .bytes = "x", .size = 1};
        }
        CHECK_EQ(journal_write(ctx, entries, 2), 0);
    }
    return NULL;
}

/* A reader that waits beside several writers gets the entries of each in order. */
TEST_TIMEOUT(several_threads_write_while_one_reads, 60)
{
    pthread_t writers[WRITERS];
    unsigned next[WRITERS] = {0};
    struct journal_entry entry;
    struct journal_place place = {0};
    struct journal *journal = open_journal(place);
    for (unsigned i = 0; i < WRITERS; i++) {
        CHECK_EQ(pthread_create(&writers[i], NULL, write_each, journal), 0);
    }
    for (unsigned i = 0; i < WRITERS * EACH; i++) {
        CHECK(journal_next(journal, &place, true, &entry));
        CHECK(entry.project < WRITERS);
        CHECK_EQ(entry.received_ns, next[entry.project]++);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(writers[i], NULL);
    }
    CHECK(!journal_next(journal, &place, false, &entry));
    journal_close(journal);
}

/* Cut the file at each byte: all whole entries before the cut are there, and new ones follow. */
TEST_TIMEOUT(cut_at_every_byte_keeps_every_whole_entry, 60)
{
    enum { ENTRIES = 6 };
    char path[512];
    size_t size;
    struct journal_place place = {0};
    struct journal *journal = open_journal(place);
    size_t ends[ENTRIES + 1] = {0};
    for (unsigned i = 0; i < ENTRIES; i++) {
        add(journal, i, i + 1);
        CHECK_EQ(read_all(journal, &place, i), 1);
        ends[i + 1] = place.offset;
    }
    journal_close(journal);
    snprintf(path, sizeof path, "%s/%016x.journal", test_folder(), 1);
    char *bytes = test_read_file(path, &size);
    CHECK_EQ(size, ends[ENTRIES]);
    for (size_t cut = 0; cut <= size; cut++) {
        unsigned whole = 0;
        while (whole < ENTRIES && ends[whole + 1] <= cut) {
            whole++;
        }
        test_write_file(path, bytes, cut);
        place = (struct journal_place){0};
        journal = open_journal(place);
        CHECK_EQ(read_all(journal, &place, 0), whole);
        if (cut % 16 == 0) {
            add(journal, whole, whole + 1);
            CHECK_EQ(read_all(journal, &place, whole), 1);
        }
        journal_close(journal);
    }
    free(bytes);
}

/* A flipped bit ends the entries of the file; none is wrong. */
TEST(damage_is_never_read_as_an_entry)
{
    char path[512];
    size_t size;
    struct journal_place place = {0};
    struct journal *journal = open_journal(place);
    add(journal, 0, 3);
    journal_close(journal);
    snprintf(path, sizeof path, "%s/%016x.journal", test_folder(), 1);
    char *bytes = test_read_file(path, &size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 4;
        test_write_file(path, bytes, size);
        bytes[i] ^= 4;
        place = (struct journal_place){0};
        journal = open_journal(place);
        CHECK(read_all(journal, &place, 0) < 3);
        journal_close(journal);
    }
    free(bytes);
}

/* Files of 64 MiB; those before the store's place are removed. */
TEST_TIMEOUT(files_follow_each_other_and_are_removed, 60)
{
    enum { SIZE = 48 << 20 };
    char path[512];
    struct stat file;
    char *bytes = calloc(1, SIZE);
    struct journal_place place = {0};
    struct journal_entry entry = {.bytes = bytes, .size = SIZE};
    struct journal *journal = open_journal(place);
    for (unsigned i = 0; i < 5; i++) {
        entry.project = i;
        CHECK_EQ(journal_write(journal, &entry, 1), 0);
    }
    for (unsigned i = 0; i < 5; i++) {
        CHECK(journal_next(journal, &place, false, &entry));
        CHECK_EQ(entry.project, i);
        CHECK_EQ(entry.size, SIZE);
    }
    CHECK(!journal_next(journal, &place, false, &entry));
    CHECK_EQ(place.segment, 3);
    journal_forget(journal, place);
    for (unsigned i = 1; i <= 3; i++) {
        snprintf(path, sizeof path, "%s/%016x.journal", test_folder(), i);
        CHECK_EQ(stat(path, &file) == 0, i == 3);
    }
    journal_close(journal);
    free(bytes);
}

/* A full disk: the entry is refused, and what is there stays readable. */
TEST(full_disk_refuses_and_loses_nothing)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", test_folder(), "tmpfs", 0, "size=64k") != 0) {
        SKIP("no tmpfs can be mounted here");
    }
    struct journal_place place = {0};
    struct journal *journal = open_journal(place);
    char *bytes = calloc(1, 100000);
    struct journal_entry entry = {.bytes = bytes, .size = 100000};
    add(journal, 0, 3);
    CHECK_EQ(journal_write(journal, &entry, 1), ENOSPC);
    add(journal, 3, 5);
    CHECK_EQ(read_all(journal, &place, 0), 5);
    journal_close(journal);
    CHECK_EQ(umount(test_folder()), 0);
    free(bytes);
}
