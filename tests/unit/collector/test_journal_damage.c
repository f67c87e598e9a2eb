// SPDX-License-Identifier: Apache-2.0
/* Damage of the journal's files, and files that cannot be read now: what was acknowledged is read
 * when it can be read, and what is damaged is counted and kept. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal_files.h"
#include "journals.h"
#include "test.h"

enum { ENTRIES = 4 };

/* Write ENTRIES, and close. Returns the file; ret_ends: where each entry ends in it. */
static char *make(size_t ret_ends[ENTRIES + 1], size_t *ret_size)
{
    struct journal_place place = {0};
    struct journal *journal = journals_open(place);
    ret_ends[0] = 0;
    for (unsigned i = 0; i < ENTRIES; i++) {
        journals_add(journal, i, i + 1);
        CHECK_EQ(journals_read(journal, &place, i), 1);
        ret_ends[i + 1] = place.offset;
    }
    journal_close(journal);
    char *bytes = test_read_file(journals_path(1), ret_size);
    CHECK_EQ(*ret_size, ret_ends[ENTRIES]);
    return bytes;
}

/* Read all from a place on: entries as they are, without those that are missing. Returns a bit for
 * each. */
static unsigned read_any(struct journal *journal, struct journal_place *place)
{
    struct journal_entry entry;
    enum journal_next next;
    unsigned bits = 0;
    while ((next = journal_next(journal, place, false, &entry)) != JOURNAL_NONE) {
        CHECK(next != JOURNAL_UNREADABLE);
        if (next == JOURNAL_ENTRY) {
            CHECK(entry.project < JOURNALS_ENTRIES / 2);
            journals_check(&entry, entry.project);
            CHECK_EQ(bits & 1u << entry.project, 0);
            bits |= 1u << entry.project;
        }
    }
    return bits;
}

static bool is_kept(unsigned segment, const char *bytes, size_t size)
{
    char path[600];
    size_t kept_size;
    snprintf(path, sizeof path, "%s.damaged", journals_path(segment));
    if (access(path, F_OK) != 0) {
        return false;
    }
    char *kept = test_read_file(path, &kept_size);
    bool is_same = kept_size >= size && memcmp(kept, bytes, size) == 0;
    free(kept);
    return is_same;
}

static void forget_kept(unsigned segment)
{
    char path[600];
    snprintf(path, sizeof path, "%s.damaged", journals_path(segment));
    (void)unlink(path);
}

static void clear(unsigned segments)
{
    for (unsigned i = 1; i <= segments; i++) {
        (void)unlink(journals_path(i));
        forget_kept(i);
    }
}

/* Cut the file at each byte: all whole entries before the cut are there, and new ones follow. The
 * rest of an entry that was cut is kept. */
TEST_TIMEOUT(cut_at_every_byte_keeps_every_whole_entry, 60)
{
    size_t size, ends[ENTRIES + 1];
    char *bytes = make(ends, &size);
    for (size_t cut = 0; cut <= size; cut++) {
        unsigned whole = 0;
        while (whole < ENTRIES && ends[whole + 1] <= cut) {
            whole++;
        }
        clear(2);
        test_write_file(journals_path(1), bytes, cut);
        struct journal_place place = {0};
        struct journal *journal = journals_open(place);
        journals_add(journal, whole, whole + 1);
        bool is_cut = cut != ends[whole] && cut != sizeof(struct journal_file_head);
        CHECK_EQ(read_any(journal, &place), (2u << whole) - 1);
        CHECK_EQ(journal_behind(journal, place), 0);
        CHECK_EQ(place.segment, is_cut ? 2 : 1);
        CHECK_EQ(journal_damage(journal).places, is_cut);
        CHECK_EQ(journal_damage(journal).bytes, is_cut ? cut - ends[whole] : 0);
        journal_forget(journal, place);
        CHECK_EQ(is_kept(1, bytes, cut), is_cut);
        journal_close(journal);
    }
    free(bytes);
}

/* A flipped bit costs one entry: those behind it are read, before and after a start. None is wrong.
 * The file is kept. */
TEST_TIMEOUT(damage_costs_the_entry_that_has_it, 60)
{
    size_t size, ends[ENTRIES + 1];
    char *bytes = make(ends, &size);
    for (size_t i = sizeof(struct journal_file_head); i < size; i++) {
        unsigned lost = 0;
        while (ends[lost + 1] <= i) {
            lost++;
        }
        clear(2);
        bytes[i] ^= 4;
        test_write_file(journals_path(1), bytes, size);
        struct journal_place place = {0};
        struct journal *journal = journals_open(place);
        journals_add(journal, ENTRIES, ENTRIES + 1);
        CHECK_EQ(read_any(journal, &place), ((2u << ENTRIES) - 1) & ~(1u << lost));
        CHECK_EQ(journal_damage(journal).places, 1);
        CHECK_EQ(journal_damage(journal).bytes, ends[lost + 1] - ends[lost]);
        place = (struct journal_place){0}; /* a batch that the store refused is read again */
        CHECK_EQ(read_any(journal, &place), ((2u << ENTRIES) - 1) & ~(1u << lost));
        CHECK_EQ(journal_damage(journal).places, 1);
        journal_forget(journal, place);
        CHECK(is_kept(1, bytes, size));
        journal_close(journal);
        bytes[i] ^= 4;
    }
    free(bytes);
}

/* The head of a file: nothing in it can be told from other bytes, and it is kept. */
TEST(damaged_head_of_a_file_costs_the_file)
{
    size_t size, ends[ENTRIES + 1];
    char *bytes = make(ends, &size);
    for (size_t i = 0; i < sizeof(struct journal_file_head); i++) {
        clear(2);
        bytes[i] ^= 4;
        test_write_file(journals_path(1), bytes, size);
        struct journal_place place = {0};
        struct journal *journal = journals_open(place);
        journals_add(journal, 9, 10);
        CHECK_EQ(read_any(journal, &place), 1u << 9);
        CHECK_EQ(journal_damage(journal).bytes, size);
        journal_forget(journal, place);
        CHECK(is_kept(1, bytes, size));
        journal_close(journal);
        bytes[i] ^= 4;
    }
    free(bytes);
}

/* The disk damages an entry that is in the last file, while the journal is open. */
TEST(damage_in_the_last_file_is_passed)
{
    struct journal_place place = {0}, second;
    struct journal *journal = journals_open(place);
    journals_add(journal, 0, 1);
    CHECK_EQ(journals_read(journal, &place, 0), 1);
    second = place;
    journals_add(journal, 1, 3);
    int fd = open(journals_path(1), O_WRONLY | O_CLOEXEC);
    CHECK_EQ(pwrite(fd, "?", 1, (off_t)second.offset + 50), 1);
    CHECK_EQ(read_any(journal, &place), 1u << 2);
    journals_add(journal, 3, 4);
    CHECK_EQ(pwrite(fd, "?", 1, (off_t)place.offset + 50), 1); /* nothing follows it */
    CHECK_EQ(read_any(journal, &place), 0);
    CHECK_EQ(journal_damage(journal).places, 2);
    journals_add(journal, 4, 5);
    CHECK_EQ(journals_read(journal, &place, 4), 1);
    CHECK_EQ(ftruncate(fd, 100), 0); /* shorter than what was acknowledged */
    close(fd);
    place = second;
    CHECK_EQ(read_any(journal, &place), 0);
    CHECK_EQ(journal_damage(journal).places, 2); /* it is said of what was not yet read only */
    journal_close(journal);
}

/* A file between others was removed by someone. */
TEST(file_that_is_gone_is_said)
{
    struct journal_place place = {0};
    size_t size, ends[ENTRIES + 1];
    free(make(ends, &size));
    char third[512];
    snprintf(third, sizeof third, "%s", journals_path(3));
    CHECK_EQ(rename(journals_path(1), third), 0); /* only its number is wrong */
    test_write_file(journals_path(1), "", 0);
    struct journal *journal = journals_open(place);
    CHECK_EQ(read_any(journal, &place), 0);
    CHECK_EQ(journal_damage(journal).places, 2); /* 2 is not there, and the head is not that of 3 */
    journal_close(journal);
    journal = journals_open((struct journal_place){7, 10}); /* as of a backup: nothing is known */
    place = (struct journal_place){7, 10};
    journals_add(journal, 0, 1);
    CHECK_EQ(journals_read(journal, &place, 0), 0);
    CHECK_EQ(journals_read(journal, &place, 0), 1);
    CHECK_EQ(journal_damage(journal).places, 0);
    journal_close(journal);
}

/* The bytes of a report are what a sender likes: also heads of entries. Behind damage none of them
 * is found as one. */
TEST(entry_within_a_report_is_never_found)
{
    struct {
        struct journal_head head;
        char text[8];
    } inner = {.text = "intruder"};
    struct journal_place place = {0};
    const struct journal_entry within = {.project = 13, .bytes = inner.text, .size = 8};
    journal_head_fill(&inner.head, &within, 0);
    const struct journal_entry outer = {.bytes = &inner, .size = sizeof inner};
    struct journal *journal = journals_open(place);
    CHECK_EQ(journal_write(journal, &outer, 1), 0);
    journals_add(journal, 1, 2);
    int fd = open(journals_path(1), O_WRONLY | O_CLOEXEC);
    CHECK_EQ(pwrite(fd, "?", 1, sizeof(struct journal_file_head)), 1);
    CHECK_EQ(read_any(journal, &place), 1u << 1);
    /* without the head of the file, as of an earlier version, nothing is looked for */
    CHECK_EQ(pwrite(fd, "?", 1, 0), 1);
    journal_close(journal);
    place = (struct journal_place){0};
    journal = journals_open(place);
    CHECK_EQ(read_any(journal, &place), 0);
    journal_close(journal);
    close(fd);
}

/* A file of an earlier version has no head, and no salt in its entries. */
TEST(file_of_an_earlier_version_is_read)
{
    struct journal_head heads[3];
    struct journal_place place = {0};
    FILE *file = fopen(journals_path(1), "we");
    for (unsigned i = 0; i < 3; i++) {
        const struct journal_entry entry = {.project = i, .bytes = "old", .size = 3};
        journal_head_fill(&heads[i], &entry, 0);
        fwrite(&heads[i], sizeof heads[i], 1, file);
        fputs("old", file);
    }
    fclose(file);
    struct journal *journal = journals_open(place);
    struct journal_entry entry;
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(journal_next(journal, &place, false, &entry), JOURNAL_ENTRY);
        CHECK_EQ(entry.project, i);
        CHECK(memcmp(entry.bytes, "old", 3) == 0);
    }
    journals_add(journal, 0, 1);
    CHECK_EQ(journals_read(journal, &place, 0), 1);
    CHECK_EQ(place.segment, 2);
    CHECK_EQ(journal_damage(journal).places, 0);
    journal_close(journal);
}

/* --- not now --- */

/* It cannot be read for a reason, and is read when that is gone. */
static void check_failure(struct journal *journal, struct journal_place *place, int os_error)
{
    struct journal_entry entry;
    struct journal_place before = *place;
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(journal_next(journal, place, true, &entry), JOURNAL_UNREADABLE);
        CHECK_EQ(journal_failure(journal).os_error, os_error);
        CHECK(journal_failure(journal).place.segment >= before.segment);
    }
    CHECK_EQ(journal_damage(journal).places, 0);
}

TEST(without_descriptors_it_is_read_later)
{
    struct journal_place place = {1, 0};
    size_t size, ends[ENTRIES + 1];
    free(make(ends, &size));
    struct journal *journal = journals_open(place);
    struct rlimit before, none;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    check_failure(journal, &place, EMFILE);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_EQ(journals_read(journal, &place, 0), ENTRIES);
    journal_close(journal);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0); /* nor is it opened, and anything begun */
    CHECK_EQ(journal_open(test_folder(), (struct journal_place){0}, &journal), EMFILE);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* An error while a file is read: a folder has its name meanwhile. */
TEST(file_with_an_error_is_read_later)
{
    char other[512];
    struct journal_place place = {1, 0};
    size_t size, ends[ENTRIES + 1];
    free(make(ends, &size));
    struct journal *journal = journals_open(place);
    snprintf(other, sizeof other, "%s/other", test_folder());
    CHECK_EQ(rename(journals_path(1), other), 0);
    CHECK_EQ(mkdir(journals_path(1), 0700), 0);
    check_failure(journal, &place, EISDIR);
    CHECK_EQ(rmdir(journals_path(1)), 0);
    CHECK_EQ(rename(other, journals_path(1)), 0);
    CHECK_EQ(journals_read(journal, &place, 0), ENTRIES);
    journal_close(journal);
}

/* A damaged file that gets no second name is not passed, lest it be removed. */
TEST(damaged_file_is_not_passed_unless_it_is_kept)
{
    char kept[600];
    struct journal_place place = {1, 0};
    struct journal_entry entry;
    size_t size, ends[ENTRIES + 1];
    char *bytes = make(ends, &size);
    bytes[ends[1] + 3] ^= 4;
    test_write_file(journals_path(1), bytes, size);
    snprintf(kept, sizeof kept, "%s.damaged", journals_path(1));
    test_write_file(kept, "another", 7); /* of an earlier journal */
    struct journal *journal = journals_open(place);
    CHECK_EQ(journal_next(journal, &place, false, &entry), JOURNAL_ENTRY);
    check_failure(journal, &place, EEXIST);
    CHECK_EQ(unlink(kept), 0);
    CHECK_EQ(read_any(journal, &place), ((1u << ENTRIES) - 1) & ~3u);
    CHECK(is_kept(1, bytes, size));
    journal_close(journal);
    free(bytes);
}

/* Of this process. */
static long pages_mapped(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    CHECK(statm != NULL && fscanf(statm, "%ld", &pages) == 1);
    fclose(statm);
    return pages;
}

/* No memory for an entry of 48 MB. */
TEST_TIMEOUT(without_memory_it_is_read_later, 60)
{
    enum { SIZE = 48 << 20 };
    struct rlimit before, little;
    long pages = pages_mapped();
    if (pages > 1 << 28) {
        SKIP("memory cannot be limited under a sanitizer");
    }
    char *bytes = calloc(1, SIZE);
    struct journal_place place = {0};
    struct journal_entry entry = {.bytes = bytes, .size = SIZE};
    struct journal *journal = journals_open(place);
    journals_add(journal, 0, 1);
    CHECK_EQ(journal_write(journal, &entry, 1), 0);
    journals_add(journal, 1, 2);
    free(bytes);
    CHECK_EQ(journal_next(journal, &place, false, &entry), JOURNAL_ENTRY);
    CHECK_EQ(getrlimit(RLIMIT_AS, &before), 0);
    little = (struct rlimit){(rlim_t)pages * 4096 + (16 << 20), before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_AS, &little), 0);
    check_failure(journal, &place, ENOMEM);
    CHECK_EQ(setrlimit(RLIMIT_AS, &before), 0);
    CHECK_EQ(journal_next(journal, &place, false, &entry), JOURNAL_ENTRY);
    CHECK_EQ(entry.size, SIZE);
    CHECK_EQ(journals_read(journal, &place, 1), 1);
    journal_close(journal);
}
