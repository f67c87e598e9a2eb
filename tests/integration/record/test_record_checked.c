// SPDX-License-Identifier: Apache-2.0
/* Stock programs under a recorder that also logs each recorded call, with the frames of a walk
 * without memo and depot (checked.c). The test sorts these stacks: the recorder must have
 * distinguished exactly those that differ, and counted each as often as it occurred. The same
 * programs have traps in the allocator, in locks and in the loader's list (traps.c). */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checked.h"
#include "depot.h"
#include "programs.h"

enum { LOG_BYTES = 1 << 30, THREADS = 4 };

static struct checked_log *records;
static const struct checked_entry **calls;
static size_t call_count;

static const uint64_t *pcs_of(const struct checked_entry *entry)
{
    return (const uint64_t *)(const void *)(entry + 1);
}

static int compare_stacks(const struct checked_entry *a, const struct checked_entry *b)
{
    if (a->count != b->count || a->lost != b->lost || a->end != b->end) {
        return a->count != b->count ? a->count - b->count
               : a->lost != b->lost ? a->lost - b->lost
                                    : (int)a->end - (int)b->end;
    }
    return memcmp(pcs_of(a), pcs_of(b), a->count * sizeof(uint64_t));
}

static int by_stack(const void *left, const void *right)
{
    const struct checked_entry *a = *(const struct checked_entry *const *)left;
    const struct checked_entry *b = *(const struct checked_entry *const *)right;
    int order = compare_stacks(a, b);
    return order != 0 ? order : (a->label > b->label) - (a->label < b->label);
}

static int by_id(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void open_log(char *ret_path, size_t size)
{
    snprintf(ret_path, size, "%s/log", test_folder());
    int fd = open(ret_path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && ftruncate(fd, LOG_BYTES) == 0);
    records = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(records != MAP_FAILED);
    CHECK_OK(close(fd));
}

static void sort_calls(void)
{
    const char *at = (const char *)records->entries;
    const char *end = at + records->used;
    CHECK_EQ(records->missing, 0);
    calls = malloc(records->used / sizeof(struct checked_entry) * sizeof(void *) + 8);
    for (call_count = 0; at < end; call_count++) {
        const struct checked_entry *entry = (const struct checked_entry *)(const void *)at;
        calls[call_count] = entry;
        at += sizeof *entry + entry->count * sizeof(uint64_t);
    }
    qsort(calls, call_count, sizeof(void *), by_stack);
}

struct outcome {
    size_t stacks; /* distinct stacks */
    size_t pairs;  /* distinct pairs of stack and label */
    size_t split;  /* ids beyond one per stack */
    size_t merged; /* stacks beyond one per id */
};

/* In sorted calls a stack's ids are adjacent. */
static struct outcome compare_ids(const uint32_t *ids)
{
    struct outcome outcome = {0};
    uint32_t *firsts = malloc((call_count + 1) * sizeof *firsts);
    for (size_t i = 0; i < call_count; i++) {
        bool is_new = i == 0 || compare_stacks(calls[i - 1], calls[i]) != 0;
        CHECK(ids[i] != 0);
        outcome.pairs += is_new || calls[i - 1]->label != calls[i]->label;
        if (is_new) {
            firsts[outcome.stacks++] = ids[i];
        } else {
            outcome.split += ids[i] != firsts[outcome.stacks - 1];
        }
    }
    qsort(firsts, outcome.stacks, sizeof *firsts, by_id);
    for (size_t i = 1; i < outcome.stacks; i++) {
        outcome.merged += firsts[i] == firsts[i - 1];
    }
    free(firsts);
    return outcome;
}

/* --- the same stacks once more, in one depot, by several threads --- */

static struct sonde__depot *replayed;
static uint32_t *replayed_ids;

static void *replay(void *arg)
{
    static uint8_t how[UINT16_MAX];
    size_t which = (size_t)(uintptr_t)arg;
    for (size_t i = 0; i < call_count; i++) { /* each thread starts at another place */
        size_t at = (i + which * call_count / THREADS) % call_count;
        struct sonde_stack stack = {
            .pcs = (uint64_t *)(uintptr_t)pcs_of(calls[at]),
            .how = how,
            .count = calls[at]->count,
            .capacity = calls[at]->count,
            .lost_at = calls[at]->lost != 0 ? calls[at]->count - 64u : calls[at]->count,
            .lost_count = calls[at]->lost,
            .end = (uint8_t)calls[at]->end,
        };
        uint32_t id = sonde__depot_put(replayed, &stack);
        uint32_t before = __atomic_exchange_n(&replayed_ids[at], id, __ATOMIC_RELAXED);
        if (before != 0 && before != id) {
            abort();
        }
    }
    return NULL;
}

static struct outcome check_replay(void)
{
    enum { NODES = 1 << 22 };
    pthread_t threads[THREADS];
    uint64_t size = (sonde__depot_size(NODES) + 4095) & ~(uint64_t)4095;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    replayed = sonde__depot_init(memory, NODES);
    replayed_ids = calloc(call_count + 1, sizeof *replayed_ids);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, replay, (void *)(uintptr_t)i));
    }
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_join(threads[i], NULL));
    }
    struct outcome outcome = compare_ids(replayed_ids);
    CHECK_EQ(sonde__depot_stat(replayed).dropped, 0);
    free(replayed_ids);
    CHECK_OK(munmap(memory, size));
    return outcome;
}

/* --- */

/* runs_python: a native stack is several if functions of scripts called it */
static void check_program(const char *const argv[], const char *list_text, size_t stacks_min,
                          bool runs_python)
{
    const char *recorded[40] = {program_built("record/checked/sonde"), "run", "--record", NULL,
                                "--"};
    char log[512], list[512], log_variable[600], traps[600];
    unsigned long long said_calls = 0, said_pairs = 0;
    size_t n = 5;
    if (argv[0][0] == '/' ? access(argv[0], X_OK) != 0 : !program_on_path(argv[0])) {
        SKIP("%s is not installed", argv[0]);
    }
    open_log(log, sizeof log);
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, list_text, strlen(list_text));
    recorded[3] = list;
    for (size_t i = 0; argv[i] != NULL; i++) {
        recorded[n++] = argv[i];
    }
    snprintf(log_variable, sizeof log_variable, CHECKED_LOG_VARIABLE "=%s", log);
    snprintf(traps, sizeof traps, "LD_PRELOAD=%s", program_built("record/libchecked_traps.so"));
    const char *env[] = {log_variable, traps, "LD_BIND_NOW=1", NULL};
    struct test_run run = test_run(recorded, env, NULL, 200);
    if (run.status != 0) {
        FAIL("status %d: %s", run.status, run.err);
    }
    const char *said = strstr(run.err, " functions recorded, ");
    while (said != NULL && said > run.err && said[-1] != '\n') {
        said--;
    }
    CHECK(said != NULL);
    CHECK_EQ(sscanf(said, "sonde run: %llu calls of %*u functions recorded, %llu different stacks",
                    &said_calls, &said_pairs),
             2);
    sort_calls();
    uint32_t *ids = malloc((call_count + 1) * sizeof *ids);
    for (size_t i = 0; i < call_count; i++) {
        ids[i] = calls[i]->id;
    }
    struct outcome live = compare_ids(ids), again = check_replay();
    dprintf(STDOUT_FILENO,
            "    %zu calls, %zu different stacks: %zu merged, %zu split; replayed by %d threads: "
            "%zu merged, %zu split\n",
            call_count, live.stacks, live.merged, live.split, THREADS, again.merged, again.split);
    CHECK_EQ(call_count, said_calls);
    CHECK(runs_python ? live.pairs <= said_pairs : live.pairs == said_pairs);
    CHECK(live.stacks >= stacks_min);
    CHECK_EQ(live.merged + live.split, 0);
    CHECK_EQ(again.merged + again.split, 0);
    free(ids);
    free(calls);
    CHECK_OK(munmap(records, LOG_BYTES));
    test_run_done(&run);
}

/* The functions that programs of all kinds call most. */
static const char often[] = "malloc\nrealloc\ncalloc\nfree\nstrlen\nmemcpy\nread\nwrite\nopen64\n";

TEST_TIMEOUT(perl, 250)
{
    const char *argv[] = {"perl", "-MPOSIX", "-e",
                          "sub f { my $n = shift; return $n < 2 ? 'x' : f($n - 1) . f($n - 2); } "
                          "for (1..9) { my $s = f($_); $h{$_} = join ',', sort split //, $s; }",
                          NULL};
    check_program(argv, often, 300, false);
}

TEST_TIMEOUT(python, 250)
{
    const char *argv[] = {"/usr/bin/python3", "-c", "import json; json.loads('[1, [2, [3]]]')",
                          NULL};
    check_program(argv, often, 1000, true);
}

TEST_TIMEOUT(git, 250)
{
    const char *argv[] = {"git", "-C", test_source_dir(), "--no-pager", "log", "-3", NULL};
    check_program(argv, often, 50, false);
}

TEST_TIMEOUT(gdb, 250)
{
    const char *argv[] = {
        "gdb", "-nx", "-batch", "-ex", "info line main", program_built("record/forms_now"), NULL};
    check_program(argv, "realloc\nopen64\nread\n", 100, true);
}

TEST_TIMEOUT(clang, 250)
{
    const char *argv[] = {"clang", "-c", "-O1", "-o", "/dev/null", program_source("record/api.c"),
                          NULL};
    check_program(argv, "realloc\nread\nopen64\nstat64\nmemcpy\n", 50, false);
}
