// SPDX-License-Identifier: Apache-2.0
#include "bench_fp_walk.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { FRAMES = 256, REACH = 65536 };

static uint64_t pcs[FRAMES];
static uint64_t outermost;

/* Walk from the frame at `low` outward. */
static inline __attribute__((always_inline)) uint32_t walk(uint64_t low, uint64_t high,
                                                           uint32_t depth)
{
    uint64_t at = low;
    uint32_t count = 0;
    while (count < depth && at >= low && at < high && (at & 7) == 0) {
        const uint64_t *record = (const uint64_t *)(uintptr_t)at;
        pcs[count++] = record[1];
        if (record[0] <= at) {
            break;
        }
        at = record[0];
    }
    bench_keep(pcs);
    return count;
}

void bench_fp_walk_batch(void *ctx)
{
    struct bench_fp_batch *batch = ctx;
    uint64_t low = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    uint32_t depth = batch->depth < FRAMES ? batch->depth : FRAMES;
    double begin = bench_thread_ns();
    for (uint32_t i = 0; i < batch->times; i++) {
        batch->frames = walk(low, low + REACH, depth);
    }
    batch->ns = (bench_thread_ns() - begin) / batch->times;
}

enum { BUCKETS = 1024 };

struct xor_entry {
    struct xor_entry *next;
    uint64_t key, count;
};
static struct xor_entry *buckets[BUCKETS];

static void count_xor(sem_t *one, uint64_t key)
{
    (void)sem_wait(one);
    struct xor_entry **at = &buckets[(key ^ key >> 17) % BUCKETS];
    while (*at != NULL && (*at)->key != key) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = calloc(1, sizeof **at);
        (*at)->key = key;
    }
    (*at)->count++;
    (void)sem_post(one);
}

void bench_fp_xor_batch(void *ctx)
{
    struct bench_fp_batch *batch = ctx;
    uint64_t low = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    uint32_t depth = batch->depth < FRAMES ? batch->depth : FRAMES;
    sem_t one;
    (void)sem_init(&one, 0, 1);
    double begin = bench_thread_ns();
    for (uint32_t i = 0; i < batch->times; i++) {
        uint64_t *frames = malloc(depth * sizeof *frames), key = 0;
        batch->frames = walk(low, low + REACH, depth);
        memcpy(frames, pcs, batch->frames * sizeof *frames);
        for (uint32_t k = 0; k < batch->frames; k++) {
            key ^= frames[k];
        }
        bench_keep(frames);
        count_xor(&one, key);
        free(frames);
    }
    batch->ns = (bench_thread_ns() - begin) / batch->times;
    (void)sem_destroy(&one);
}

__attribute__((noinline)) void bench_fp_walk_to_here(void (*function)(void *ctx), void *ctx)
{
    outermost = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    function(ctx);
    bench_keep(&outermost);
}

__attribute__((noinline)) int bench_fp_walk(void)
{
    return (int)walk((uint64_t)(uintptr_t)__builtin_frame_address(0), outermost, FRAMES);
}
