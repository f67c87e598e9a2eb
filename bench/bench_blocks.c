// SPDX-License-Identifier: Apache-2.0
/* The search for blocks in this process and in another one, compared with the rate at which this
 * machine reads that memory (alternating, medians); and the cost of finding what a block holds, for
 * the first block of a kind (cold) and for later ones (warm). Blocks are made by hand, as clang
 * lays them out, so that any compiler builds this. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/block.h>

#include "bench_blocks_file.h"
#include "bench_blocks_registry.h"
#include "blockheap.h"
#include "harness.h"
#include "host_words.h"
#include "symfile_cache.h"
#include "target.h"

enum { BYTES = 512 << 20, BLOCKS = 100000, KINDS = 512, ROUNDS = 9 };
enum { FLAGS = (int)(SONDE_BLOCK_HEAP | SONDE_BLOCK_HAS_HELPERS | 1) };

/* Stands in for the runtime of a program with blocks. */
void *_NSConcreteStackBlock[32];
void _Block_object_assign(void *to, const void *value, int kind);
void _Block_object_dispose(const void *value, int kind);

__attribute__((noinline)) void _Block_object_assign(void *to, const void *value, int kind)
{
    bench_keep(&kind);
    *(const void **)to = value;
}
__attribute__((noinline)) void _Block_object_dispose(const void *value, int kind)
{
    bench_keep(value);
    bench_keep(&kind);
}

struct literal {
    const void *isa;
    int32_t flags, reserved;
    void (*invoke)(void *);
    const void *descriptor;
    void *other, *box;
    int number;
};

static void invoke(void *block)
{
    bench_keep(block);
}
static void copy(void *to, const void *from)
{
    struct literal *a = to;
    const struct literal *b = from;
    _Block_object_assign(&a->other, b->other, 7);
    _Block_object_assign(&a->box, b->box, 8);
}
static void dispose(void *block)
{
    struct literal *b = block;
    _Block_object_dispose(b->other, 7);
    _Block_object_dispose(b->box, 8);
}

struct descriptor {
    uint64_t reserved, size;
    void (*copy)(void *, const void *);
    void (*dispose)(void *);
    const char *signature;
    const void *layout;
};
#define KIND                                                                                       \
    {                                                                                              \
        0, sizeof(struct literal), copy, dispose, NULL, NULL                                       \
    }
#define KINDS8  KIND, KIND, KIND, KIND, KIND, KIND, KIND, KIND
#define KINDS64 KINDS8, KINDS8, KINDS8, KINDS8, KINDS8, KINDS8, KINDS8, KINDS8
static const struct descriptor descriptors[KINDS] = {KINDS64, KINDS64, KINDS64, KINDS64,
                                                     KINDS64, KINDS64, KINDS64, KINDS64};

static uint64_t *memory;

static struct literal *block_at(size_t i)
{
    return (struct literal *)(void *)(memory + i * (BYTES / 8 / BLOCKS));
}

static void fill(void)
{
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        exit(1);
    }
    for (size_t i = 0; i < BYTES / 8; i++) {
        memory[i] = i * 0x9e3779b97f4a7c15u;
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        *block_at(i) = (struct literal){_NSConcreteStackBlock,   FLAGS, 0,    invoke,
                                        &descriptors[i % KINDS], NULL,  NULL, (int)i};
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static void search_self(struct sonde_blocks *blocks)
{
    double read[ROUNDS], search[ROUNDS];
    size_t count = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t begin = bench_now_ns();
        uint64_t sum = sonde__host_words_read(SONDE__HOST_WORDS_BEST, memory, BYTES / 8);
        read[i] = BYTES / (double)(bench_now_ns() - begin);
        bench_keep(&sum);
        begin = bench_now_ns();
        (void)!sonde_blocks_scan(blocks, NULL, 0, &count);
        search[i] = BYTES / (double)(bench_now_ns() - begin);
        if (count != BLOCKS) {
            bench_note("%zu blocks were found, not %d", count, BLOCKS);
        }
    }
    double of_read = median(read, ROUNDS), of_search = median(search, ROUNDS);
    bench_print(of_read, "GB/s", "blocks.read.gb_per_s");
    bench_print(of_search, "GB/s", "blocks.scan.self.gb_per_s");
    bench_print(100 * of_search / of_read, "%", "blocks.scan.vs_read_bandwidth");
}

static void search_other(void)
{
    struct sonde__target *target;
    struct sonde__symfile_cache *symbols;
    struct sonde__blockheap *heap;
    struct sonde__blockheap_found found;
    struct sonde__symfile_options options = {0};
    struct sonde_error error = {.what = ""};
    double rates[ROUNDS];
    pid_t pid = fork();
    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    if (sonde__target_open_process(pid, NULL, &target, &error) != SONDE_OK ||
        sonde__symfile_cache_create(&options, &symbols) != SONDE_OK ||
        sonde__blockheap_open(target, symbols, false, &heap, &error) != SONDE_OK) {
        bench_note("another process: %s", error.what);
    } else {
        for (unsigned i = 0; i < ROUNDS; i++) {
            uint64_t begin = bench_now_ns();
            (void)!sonde__blockheap_scan(heap, 0, &found, &error);
            rates[i] = (double)found.bytes / (double)(bench_now_ns() - begin);
            if (found.count != BLOCKS) {
                bench_note("%zu blocks were found there", found.count);
            }
            sonde__blockheap_found_done(&found);
        }
        bench_print(median(rates, ROUNDS), "GB/s", "blocks.scan.process.gb_per_s");
        sonde__blockheap_close(heap);
        sonde__symfile_cache_destroy(symbols);
        sonde__target_close(target);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static double inspect_all(struct sonde_blocks *blocks)
{
    struct sonde_block_capture captures[8] = {{.struct_bytes = sizeof captures[0]}};
    size_t count = 0;
    uint64_t begin = bench_now_ns();
    for (size_t i = 1; i < KINDS; i++) {
        if (sonde_block_captures(blocks, (uintptr_t)block_at(i), captures, 8, &count) != SONDE_OK ||
            count != 3 || captures[1].kind != SONDE_BLOCK_BYREF) {
            bench_note("block %zu is not told", i);
            break;
        }
    }
    return (double)(bench_now_ns() - begin) / (KINDS - 1) / 1000;
}

static void inspect(void)
{
    double cold[ROUNDS], warm[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct sonde_blocks *blocks;
        struct sonde_block block = {.struct_bytes = sizeof block};
        if (sonde_blocks_open(&blocks, NULL) != SONDE_OK) {
            return;
        }
        /* symbols are loaded before the second kind is seen */
        (void)!sonde_block_inspect(blocks, (uintptr_t)block_at(0), &block);
        cold[i] = inspect_all(blocks);
        warm[i] = inspect_all(blocks);
        sonde_blocks_close(blocks);
    }
    bench_print(median(cold, ROUNDS), "us", "blocks.inspect.cold.us");
    bench_print(median(warm, ROUNDS), "us", "blocks.inspect.warm.us");
}

int main(int argc, char **argv)
{
    struct sonde_blocks *blocks;
    struct sonde_error error = {.what = ""};
    if (argc == 3 && strcmp(argv[1], "registry") == 0) {
        return bench_blocks_registry_run(atoi(argv[2]));
    }
    fill();
    if (sonde_blocks_open(&blocks, &error) != SONDE_OK) {
        bench_note("blocks: %s", error.what);
        return 0;
    }
    search_self(blocks);
    sonde_blocks_close(blocks);
    search_other();
    inspect();
    bench_blocks_file();
    bench_blocks_registry();
    return 0;
}
