// SPDX-License-Identifier: Apache-2.0
/* The search of the heap finds all live blocks among many released ones, in this process and in
 * another one, in each runtime. The program that made them reports which are alive. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blockheap.h"
#include "corpus.h"
#include "symfile_cache.h"
#include "target.h"
#include "test.h"

struct look {
    struct sonde__target *target;
    struct sonde__symfile_cache *symbols;
    struct sonde__blockheap *heap;
    struct sonde__blockheap_found found;
};

static void look_at(struct look *look, int32_t pid)
{
    struct sonde_error error = {0};
    struct sonde__symfile_options options = {0};
    enum sonde_status status = sonde__target_open_process(pid, NULL, &look->target, &error);
    if (status == SONDE_UNSUPPORTED) {
        SKIP("%s", error.what);
    }
    CHECK_OK(status);
    CHECK_OK(sonde__symfile_cache_create(&options, &look->symbols));
    CHECK_OK(
        sonde__blockheap_open(look->target, look->symbols, pid == getpid(), &look->heap, &error));
    CHECK_OK(sonde__blockheap_scan(look->heap, 0, &look->found, &error));
}

static void look_done(struct look *look)
{
    sonde__blockheap_found_done(&look->found);
    sonde__blockheap_close(look->heap);
    sonde__symfile_cache_destroy(look->symbols);
    sonde__target_close(look->target);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The search found all of `live` and nothing else. */
static void compare(const struct sonde__blockheap_found *found, uint64_t *live, size_t count)
{
    size_t missing = 0, wrong = 0, i = 0;
    qsort(live, count, sizeof *live, by_value);
    for (size_t f = 0; f < found->count; f++) {
        while (i < count && live[i] < found->items[f].address) {
            missing++;
            i++;
        }
        if (i < count && live[i] == found->items[f].address) {
            i++;
        } else {
            wrong++;
        }
    }
    missing += count - i;
    dprintf(STDOUT_FILENO,
            "    %zu alive, %llu classes seen, %llu of no block; %zu missing, %zu wrong\n", count,
            (unsigned long long)found->hits, (unsigned long long)found->stale, missing, wrong);
    CHECK_EQ(missing, 0);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(found->count, count);
}

/* Make 200,000 blocks and release half of them; fewer on slow builds. */
static const char *made(void)
{
#ifdef SONDE_SANITIZED
    return "20000";
#else
    return "200000";
#endif
}

static void other_process(const char *level, const char *parts, const char *flavour,
                          const char *keep_one_of)
{
    char path[700];
    int in[2], out[2];
    uint64_t count;
    struct look look = {0};
    snprintf(path, sizeof path, "%s/churn-%s", corpus_built(level, parts), flavour);
    CHECK(pipe(in) == 0 && pipe(out) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl(path, path, made(), keep_one_of, (char *)NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    FILE *file = fdopen(out[0], "r");
    CHECK(file != NULL);
    CHECK_EQ(fread(&count, 8, 1, file), 1);
    CHECK(count > 1000 && count < 1000000);
    uint64_t *live = malloc(count * 8);
    CHECK_EQ(fread(live, 8, count, file), count);
    look_at(&look, pid);
    compare(&look.found, live, count);
    CHECK(!look.found.in_place && look.found.bytes > count * 40);
    look_done(&look);
    free(live);
    fclose(file);
    close(in[1]);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST_TIMEOUT(searches_another_process_in_each_runtime, 200)
{
    other_process("-O2", CORPUS_ALL, "apple", "2");
    other_process("-O2", CORPUS_ALL, "debian", "5");
    other_process("-O2", CORPUS_ALL, "libobjc2", "10");
}

TEST_TIMEOUT(searches_another_process_with_debians_runtime, 200)
{
    other_process("-O1", "debian", "apple", "2");
}

/* In a child: its blocks are never freed. */
static void search_itself(void)
{
    char path[700];
    struct look look = {0};
    size_t count = strtoul(made(), NULL, 10);
    snprintf(path, sizeof path, "%s/libchurn-apple.so", corpus_built("-O2", CORPUS_ALL));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    size_t (*churn)(size_t, unsigned, void **);
    *(void **)&churn = dlsym(library, "churn");
    CHECK(churn != NULL);
    void **live = calloc(count + 32, sizeof *live);
    size_t kept = churn(count, 2, live);
    /* reserved memory, and an unreadable page in a large map */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *large = mmap(NULL, (size_t)1 << 34, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(large != MAP_FAILED);
    large[5 * page] = 1;
    look_at(&look, getpid());
    compare(&look.found, (uint64_t *)(void *)live, kept);
    CHECK(look.found.bytes < (uint64_t)1 << 33);
    dprintf(STDOUT_FILENO, "    %s\n", look.found.in_place ? "in place" : "copied");
    /* and find each by its address, until it is released */
    struct sonde__blockheap_item item;
    size_t one = 0;
    while (!sonde__blockheap_check(look.heap, (uintptr_t)live[one], &item) || item.count != 1) {
        CHECK(++one < kept);
    }
    void (*release)(const void *);
    *(void **)&release = dlsym(library, "_Block_release");
    release(live[one]);
    CHECK(!sonde__blockheap_check(look.heap, (uintptr_t)live[one], &item));
    CHECK(sonde__blockheap_check(look.heap, (uintptr_t)live[one + 1], &item));
    CHECK(!sonde__blockheap_check(look.heap, (uintptr_t)live[one + 1] + 8, &item));
    CHECK(!sonde__blockheap_check(look.heap, 8, &item));
    CHECK(!sonde__blockheap_check(look.heap, UINT64_MAX - 7, &item));
    look_done(&look);
    munmap(large, (size_t)1 << 34);
    free(live);
}

TEST_TIMEOUT(searches_this_process, 200)
{
    int status = -1;
    (void)corpus_built("-O2", CORPUS_ALL);
    pid_t pid = fork();
    if (pid == 0) {
        search_itself();
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}
