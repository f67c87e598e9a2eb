// SPDX-License-Identifier: Apache-2.0
/* The search for words, each way against a plain loop; and loads that fault. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_apart.h"
#include "host_present.h"
#include "host_words.h"
#include "test.h"

enum { WORDS = 40000, HITS = WORDS }; /* more than are marked before they are looked at */

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static size_t find_plainly(const uint64_t *words, size_t count, const uint64_t *needles, unsigned n,
                           uint32_t *hits)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        for (unsigned k = 0; k < n; k++) {
            if (words[i] == needles[k]) {
                hits[found++] = (uint32_t)i;
                break;
            }
        }
    }
    return found;
}

static void compare(enum sonde__host_words_way way)
{
    static uint64_t words[WORDS];
    static uint32_t hits[HITS], plain[HITS];
    uint64_t needles[SONDE__HOST_NEEDLES_MAX];
    uint32_t seed = 7;
    for (unsigned round = 0; round < 60; round++) {
        unsigned n = round % SONDE__HOST_NEEDLES_MAX + 1;
        size_t from = next(&seed) % 50, count = next(&seed) % (WORDS - 50), done = 0, found = 0;
        for (unsigned k = 0; k < n; k++) { /* they differ in one half of the word only, some */
            needles[k] = (uint64_t)(k & 1 ? 0x5555 : next(&seed)) << 32 | next(&seed);
        }
        for (size_t i = 0; i < WORDS; i++) {
            uint64_t needle = needles[next(&seed) % n];
            unsigned kind = next(&seed) % (round < 30 ? 200 : 4);
            words[i] = kind == 0   ? needle
                       : kind == 1 ? needle ^ 1u << next(&seed) % 31
                       : kind == 2 ? needle ^ (uint64_t)1 << (32 + next(&seed) % 31)
                                   : next(&seed);
        }
        size_t expected = find_plainly(words + from, count, needles, n, plain);
        size_t capacity = round % 3 != 0 ? HITS : round < 30 ? 5 : 500;
        for (size_t at = 0; at < count;) { /* a full list is gone on from where it ended */
            size_t got = sonde__host_words_find(way, words + from + at, count - at, needles, n,
                                                hits, capacity, &done);
            CHECK(got <= capacity && (done == count - at || got == capacity));
            for (size_t i = 0; i < got; i++) {
                CHECK(found < expected);
                CHECK_EQ(hits[i] + at, plain[found]);
                found++;
            }
            at += done;
        }
        CHECK_EQ(found, expected);
    }
}

TEST(words_are_found_by_each_way)
{
    compare(SONDE__HOST_WORDS_SCALAR);
    compare(SONDE__HOST_WORDS_VECTOR);
    compare(SONDE__HOST_WORDS_BEST);
}

struct work {
    const volatile uint64_t *words;
    size_t count;
    uint64_t sum, reached;
};

static void add_up(void *ctx)
{
    struct work *work = ctx;
    for (; work->reached < work->count; work->reached++) {
        work->sum += work->words[work->reached];
    }
}

static volatile sig_atomic_t handled;
static void on_signal(int signal)
{
    handled = signal;
}

TEST(loads_apart_may_fault)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct work work = {.words = (void *)memory, .count = 2 * page / 8};
    uint64_t fault = 0;
    CHECK(memory != MAP_FAILED);
    for (size_t i = 0; i < 2 * page / 8; i++) {
        ((uint64_t *)(void *)memory)[i] = i;
    }
    enum sonde_status status = sonde__host_apart(add_up, &work, &fault);
    if (status == SONDE_UNSUPPORTED) {
        SKIP("an emulator or a sanitizer");
    }
    CHECK_OK(status);
    CHECK_EQ(work.sum, (2 * page / 8) * (2 * page / 8 - 1) / 2);
    /* the program's own handlers and children know nothing of it */
    signal(SIGSEGV, on_signal);
    signal(SIGCHLD, on_signal);
    CHECK_EQ(mprotect(memory + page, page, PROT_NONE), 0);
    work = (struct work){.words = (void *)memory, .count = 3 * page / 8};
    CHECK_EQ(sonde__host_apart(add_up, &work, &fault), SONDE_UNREADABLE);
    CHECK_EQ(fault, (uintptr_t)memory + page);
    CHECK_EQ(work.reached, page / 8);
    CHECK_EQ(handled, 0);
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    /* not mapped at all: a hole between pages of ours, too small for the helper's stack */
    munmap(memory + page, page);
    work.reached = 0;
    CHECK_EQ(sonde__host_apart(add_up, &work, &fault), SONDE_UNREADABLE);
    CHECK_EQ(fault, (uintptr_t)memory + page);
    CHECK_EQ(work.reached, page / 8);
    munmap(memory, page);
    munmap(memory + 2 * page, page);
}

TEST(memory_that_was_touched_is_there)
{
    struct sonde__host_range ranges[8];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)1 << 30;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t at = (uintptr_t)memory, end = at + size, next = 0, unasked = 0, seen = 0;
    int32_t fd = sonde__host_present_open(getpid());
    CHECK(memory != MAP_FAILED);
    madvise(memory, size, MADV_NOHUGEPAGE);
    if (fd < 0) {
        SKIP("no page map");
    }
    for (unsigned i = 0; i < 20; i++) { /* more ranges than are asked for at a time */
        memory[3 * i * page] = memory[(3 * i + 1) * page] = 1;
    }
    memory[size - 1] = 1;
    while (at < end) {
        size_t count = sonde__host_present(fd, at, end, ranges, 8, &next, &unasked);
        CHECK(count <= 8 && next > at && next <= end);
        for (size_t i = 0; i < count; i++) {
            CHECK(ranges[i].start >= at && ranges[i].end <= end);
            seen += ranges[i].end - ranges[i].start;
        }
        at = next;
    }
    CHECK_EQ(unasked, 0);
    CHECK(seen == 41 * page || seen == size); /* an emulator may not tell */
    CHECK_EQ(sonde__host_present(-1, 0, 8192, ranges, 8, &next, &unasked), 1);
    CHECK_EQ(ranges[0].end, 8192);
    munmap(memory, size);
    close(fd);
}
