// SPDX-License-Identifier: Apache-2.0
#include "journals.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "test.h"

static char texts[JOURNALS_ENTRIES][32];

/* The log has the time: what the C library keeps for that is no leak of a test. */
static void __attribute__((constructor)) have_time_zone(void)
{
    tzset();
}

static struct journal_entry entry_of(unsigned i)
{
    struct journal_entry entry = {.project = i, .form = JOURNAL_REPORT, .received_ns = i};
    snprintf(texts[i], sizeof texts[i], "entry %u%.*s", i, (int)(i % 7), "......");
    entry.bytes = texts[i];
    entry.size = (uint32_t)strlen(texts[i]);
    entry.id.bytes[0] = (uint8_t)i;
    return entry;
}

struct journal *journals_open(struct journal_place stored)
{
    struct journal *journal;
    CHECK_EQ(journal_open(test_folder(), stored, &journal), 0);
    return journal;
}

void journals_add(struct journal *journal, unsigned first, unsigned last)
{
    struct journal_entry entries[JOURNALS_ENTRIES];
    for (unsigned i = first; i < last; i++) {
        entries[i - first] = entry_of(i);
    }
    CHECK_EQ(journal_write(journal, entries, last - first), 0);
}

void journals_check(const struct journal_entry *entry, unsigned number)
{
    struct journal_entry same = entry_of(number);
    CHECK_EQ(entry->project, number);
    CHECK_EQ(entry->received_ns, number);
    CHECK_EQ(entry->id.bytes[0], number);
    CHECK_EQ(entry->size, same.size);
    CHECK(memcmp(entry->bytes, same.bytes, same.size) == 0);
}

unsigned journals_read(struct journal *journal, struct journal_place *place, unsigned first)
{
    struct journal_entry entry;
    unsigned count = 0;
    while (journal_next(journal, place, false, &entry) == JOURNAL_ENTRY) {
        journals_check(&entry, first + count++);
    }
    return count;
}

const char *journals_path(unsigned segment)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%016x.journal", test_folder(), segment);
    return path;
}
