// SPDX-License-Identifier: Apache-2.0
/* The limits of this machine, measured in the same run: figures are given as ratios of these.
 *
 * The chase walks a random cycle of cache lines, each load waiting for the previous one. The chase
 * in DRAM misses the TLB, too, as walks of other programs' memory do. */
#include <stdlib.h>
#include <sys/mman.h>

#include "harness.h"

enum {
    LINE = 64,
    L1_BYTES = 16 << 10,
    DRAM_BYTES = 256 << 20,
    STEPS = 4096,
    READ_BYTES = 16 << 20
};

struct chase {
    void **at;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

/* One cycle through all lines of the memory, in random order (Sattolo's shuffle). */
static void link_lines(char *memory, size_t bytes)
{
    size_t count = bytes / LINE;
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < count; i++) {
        *(void **)(void *)(memory + i * LINE) = memory + i * LINE;
    }
    for (size_t i = count - 1; i > 0; i--) {
        void **a = (void **)(void *)(memory + i * LINE);
        void **b = (void **)(void *)(memory + next_random(&state) % i * LINE);
        void *keep = *a;
        *a = *b;
        *b = keep;
    }
}

static void run_chase(void *ctx)
{
    struct chase *chase = ctx;
    void **at = chase->at;
    for (int i = 0; i < STEPS; i++) {
        at = *at;
    }
    chase->at = at;
}

static void run_registers(void *ctx)
{
    uint64_t value = *(uint64_t *)ctx;
    for (int i = 0; i < STEPS; i++) {
        value += 3;
        __asm__ volatile("" : "+r"(value));
    }
    *(uint64_t *)ctx = value;
}

struct reading {
    const uint64_t *words;
    size_t at;
    uint64_t sum;
};

static void run_read(void *ctx)
{
    struct reading *r = ctx;
    const uint64_t *word = r->words + r->at;
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i < READ_BYTES / sizeof *word; i += 4) {
        a += word[i], b += word[i + 1], c += word[i + 2], d += word[i + 3];
    }
    r->sum += a + b + c + d;
    r->at = (r->at + READ_BYTES / sizeof *word) % (DRAM_BYTES / sizeof *word);
}

int main(void)
{
    static _Alignas(4096) char small[L1_BYTES];
    char *large =
        mmap(NULL, DRAM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (large == MAP_FAILED) {
        bench_note("bench_machine: no memory");
        return 1;
    }
    link_lines(small, sizeof small);
    link_lines(large, DRAM_BYTES);
    struct chase l1 = {(void **)(void *)small}, dram = {(void **)(void *)large};
    struct reading reading = {(const uint64_t *)(const void *)large, 0, 0};
    uint64_t value = 0;
    struct bench_method methods[] = {{"l1", run_chase, &l1},
                                     {"dram", run_chase, &dram},
                                     {"registers", run_registers, &value},
                                     {"read", run_read, &reading}};
    double ns[4];
    bench_compare(methods, 4, ns);
    bench_keep(&reading);
    bench_print(ns[0] / STEPS, "ns", "machine.l1_latency");
    bench_print(ns[1] / STEPS, "ns", "machine.dram_latency");
    bench_print(ns[2] / STEPS, "ns", "machine.register_loop");
    bench_print(READ_BYTES / ns[3], "GB/s", "machine.read");
    return 0;
}
