// SPDX-License-Identifier: Apache-2.0
/* Evaluation of conditions, and what is refused before. */
#include "when.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

static struct sonde__when when;

/* One node that accepts or rejects. */
static enum sonde__when_result holds(uint8_t test, uint64_t mask, uint64_t value, uint64_t argument)
{
    const uint64_t arguments[SONDE__WHEN_ARGUMENTS] = {0, argument};
    when.node_count = 1;
    when.nodes[0] = (struct sonde__when_node){.test = test,
                                              .argument = 1,
                                              .yes = SONDE__WHEN_ACCEPT,
                                              .no = SONDE__WHEN_REJECT,
                                              .mask = mask,
                                              .value = value};
    CHECK(sonde__when_check(&when, 10));
    return sonde__when_holds(&when, 0, arguments);
}

TEST(numbers_are_compared)
{
    CHECK_EQ(holds(SONDE__WHEN_EQUAL, UINT32_MAX, 5, 0xff00000005), SONDE__WHEN_YES);
    CHECK_EQ(holds(SONDE__WHEN_EQUAL, UINT64_MAX, 5, 0xff00000005), SONDE__WHEN_NO);
    CHECK_EQ(holds(SONDE__WHEN_EQUAL, 3, 1, 0xfd), SONDE__WHEN_YES);
    CHECK_EQ(holds(SONDE__WHEN_LESS, UINT32_MAX, 0, 0xffffffff), SONDE__WHEN_YES);
    CHECK_EQ(holds(SONDE__WHEN_LESS, UINT64_MAX, 0, 0xffffffff), SONDE__WHEN_NO);
    CHECK_EQ(holds(SONDE__WHEN_BELOW, 0xff, 3, 0x102), SONDE__WHEN_YES);
    CHECK_EQ(holds(SONDE__WHEN_BELOW, 0xff, 3, 0x103), SONDE__WHEN_NO);
}

static enum sonde__when_result matches(const char *pattern, const void *text)
{
    strcpy(when.text, pattern);
    return holds(SONDE__WHEN_GLOB, 0, 0, (uint64_t)(uintptr_t)text);
}

TEST(texts_are_read_without_faults)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK_EQ(munmap(memory + page, page), 0);
    char *end = memory + page;
    memcpy(end - 6, "TOKEN", 6);
    CHECK_EQ(matches("*OKE*", end - 6), SONDE__WHEN_YES);
    CHECK_EQ(matches("*OKE", end - 6), SONDE__WHEN_NO);
    end[-1] = 'S'; /* no end before the page ends */
    CHECK_EQ(matches("*OKE*", end - 6), SONDE__WHEN_UNREAD);
    CHECK_EQ(matches("*", end), SONDE__WHEN_UNREAD);
    CHECK_EQ(matches("*", NULL), SONDE__WHEN_NO);
    CHECK_EQ(matches("*", (void *)8), SONDE__WHEN_UNREAD);
    CHECK_EQ(matches("*", (void *)(uintptr_t)0xdead000000000000), SONDE__WHEN_UNREAD);
    memset(memory, 'a', page - 1);
    end[-1] = '\0';
    CHECK_EQ(matches("a*", end - SONDE__WHEN_STRING), SONDE__WHEN_YES);
    CHECK_EQ(matches("a*", end - SONDE__WHEN_STRING - 1), SONDE__WHEN_UNREAD);
    CHECK_EQ(munmap(memory, page), 0);
}

/* Two nodes and an entry that are good. */
static void make_good(struct sonde__when *w)
{
    memset(w, 0, sizeof *w);
    w->node_count = 2;
    w->entry_count = 1;
    w->nodes[0] = (struct sonde__when_node){.yes = 1, .no = SONDE__WHEN_REJECT};
    w->nodes[1] = (struct sonde__when_node){.yes = SONDE__WHEN_ACCEPT, .no = SONDE__WHEN_REJECT};
    for (unsigned i = 1; i <= SONDE__WHEN_FUNCTIONS; i++) {
        w->first[i] = 1;
    }
}

TEST(what_is_not_safe_is_refused)
{
    static struct sonde__when w;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        make_good(&w);                                                                             \
        CHECK(sonde__when_check(&w, 1));                                                           \
        change;                                                                                    \
        CHECK(!sonde__when_check(&w, 1));                                                          \
    } while (0)
    REFUSED(w.entry_count = SONDE__WHEN_ENTRIES + 1);
    REFUSED(w.node_count = SONDE__WHEN_NODES + 1);
    REFUSED(w.text[SONDE__WHEN_TEXT - 1] = 'a');
    REFUSED(w.first[3] = 2);
    REFUSED(w.first[SONDE__WHEN_FUNCTIONS] = 0);
    REFUSED(w.entries[0].label = 1);
    REFUSED(w.entries[0].node = 2);
    REFUSED(w.entries[0].node = SONDE__WHEN_REJECT);
    REFUSED(w.entries[0].limit = 1);
    REFUSED(w.limit_count = SONDE__WHEN_LIMITS + 1);
    REFUSED(w.limit_count = 1); /* of no calls */
    REFUSED(w.limit_count = 1; w.limits[0].count = SONDE__WHEN_LIMIT_CALLS + 1);
    REFUSED(w.limit_count = 1; w.limits[0].count = 2; w.limits[0].first = SONDE__WHEN_TIMES - 1);
    REFUSED(w.limit_count = 1; w.limits[0].count = 2; w.entries[0].limit = 1); /* label 1 of 1 */
    REFUSED(w.nodes[0].yes = 0); /* a jump back never ends */
    REFUSED(w.nodes[1].yes = 0);
    REFUSED(w.nodes[1].no = 2);
    REFUSED(w.nodes[0].test = SONDE__WHEN_TESTS);
    REFUSED(w.nodes[0].argument = SONDE__WHEN_ARGUMENTS);
    REFUSED(w.nodes[0].other = SONDE__WHEN_ARGUMENTS);
    REFUSED(w.nodes[0].test = SONDE__WHEN_GLOB; w.nodes[0].value = SONDE__WHEN_TEXT);
    REFUSED(w.nodes[0].test = SONDE__WHEN_PATH; w.nodes[0].value = SONDE__WHEN_TEXT);
    REFUSED(w.nodes[0].test = SONDE__WHEN_NET;
            w.nodes[0].value = SONDE__WHEN_TEXT - SONDE__WHEN_NET_BYTES + 1);
#undef REFUSED
}

/* Random bytes: what is accepted ends, and reads only inside. A sanitizer sees the rest. */
TEST(random_conditions_end)
{
    static struct sonde__when w;
    unsigned accepted = 0;
    uint64_t seed = 88172645463325252u;
    for (unsigned i = 0; i < 2000; i++) {
        make_good(&w);
        for (unsigned k = 0; k < 12; k++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            uint8_t *bytes = (uint8_t *)w.nodes;
            bytes[seed % (2 * sizeof w.nodes[0])] = (uint8_t)(seed >> 32) % 8;
        }
        if (sonde__when_check(&w, 1)) {
            const uint64_t arguments[SONDE__WHEN_ARGUMENTS] = {0, 1, seed, (uint64_t)(uintptr_t)&w};
            CHECK(sonde__when_holds(&w, 0, arguments) <= SONDE__WHEN_UNREAD);
            accepted++;
        }
    }
    CHECK(accepted > 20);
}
