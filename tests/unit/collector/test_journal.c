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

#include "journals.h"
#include "test.h"

TEST(entries_are_read_in_order)
{
    struct journal_place place = {0}, middle;
    struct journal *journal = journals_open(place);
    journals_add(journal, 0, 20);
    CHECK_EQ(journals_read(journal, &place, 0), 20);
    CHECK_EQ(journal_behind(journal, place), 0);
    middle = place;
    journals_add(journal, 20, 30);
    CHECK(journal_behind(journal, place) > 0);
    CHECK_EQ(journals_read(journal, &place, 20), 10);
    journal_close(journal);
    journal = journals_open(middle); /* the store has the first twenty */
    place = middle;
    CHECK_EQ(journals_read(journal, &place, 20), 10);
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
    struct journal *journal = journals_open(place);
    for (unsigned i = 0; i < WRITERS; i++) {
        CHECK_EQ(pthread_create(&writers[i], NULL, write_each, journal), 0);
    }
    for (unsigned i = 0; i < WRITERS * EACH; i++) {
        CHECK_EQ(journal_next(journal, &place, true, &entry), JOURNAL_ENTRY);
        CHECK(entry.project < WRITERS);
        CHECK_EQ(entry.received_ns, next[entry.project]++);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(writers[i], NULL);
    }
    CHECK_EQ(journal_next(journal, &place, false, &entry), JOURNAL_NONE);
    journal_close(journal);
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
    struct journal *journal = journals_open(place);
    for (unsigned i = 0; i < 5; i++) {
        entry.project = i;
        CHECK_EQ(journal_write(journal, &entry, 1), 0);
    }
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQ(journal_next(journal, &place, false, &entry), JOURNAL_ENTRY);
        CHECK_EQ(entry.project, i);
        CHECK_EQ(entry.size, SIZE);
    }
    CHECK_EQ(journal_next(journal, &place, false, &entry), JOURNAL_NONE);
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
    struct journal *journal = journals_open(place);
    char *bytes = calloc(1, 100000);
    struct journal_entry entry = {.bytes = bytes, .size = 100000};
    journals_add(journal, 0, 3);
    CHECK_EQ(journal_write(journal, &entry, 1), ENOSPC);
    journals_add(journal, 3, 5);
    CHECK_EQ(journals_read(journal, &place, 0), 5);
    journal_close(journal);
    CHECK_EQ(umount(test_folder()), 0);
    free(bytes);
}
