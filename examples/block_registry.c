// SPDX-License-Identifier: Apache-2.0
/* Which blocks are alive, who made them, and which grow in number? The block is laid out by hand
 * and the runtime is a small one (block_runtime.c), so that any compiler can build this. With clang
 * -fblocks, use `_Block_copy(^{ ... })` and libBlocksRuntime instead. */
#include <inttypes.h>
#include <stdio.h>

#include <sonde/block_registry.h>

enum { DEPTH = 64 };

void *_Block_copy(const void *block);   /* NOLINT: the runtime's name */
void _Block_release(const void *block); /* NOLINT */

static void invoke(void) {}

static const struct {
    uintptr_t reserved, size;
} descriptor = {0, 32};

__attribute__((noinline)) static void *subscribe(void)
{
    const struct {
        const void *isa;
        uint32_t flags, reserved;
        void (*invoke)(void);
        const void *descriptor;
    } block = {NULL, 0, 0, invoke, &descriptor};
    void *made = _Block_copy(&block);
    __asm__ volatile("" : : : "memory"); /* no tail call: keep this function in the stack */
    return made;
}

static int print(void *ctx, const struct sonde_block_growth *growth)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_depot_stack(ctx, growth->stack, &stack) == SONDE_OK) {
        printf("%" PRIu64 " blocks, %" PRIu64 " before, made at 0x%" PRIx64 "\n", growth->count,
               growth->count_before, pcs[0]);
    }
    return 0;
}

static int end(void *ctx, const struct sonde_block_made *made)
{
    (void)ctx;
    _Block_release((const void *)(uintptr_t)made->address);
    return 0;
}

int main(void)
{
    struct sonde_depot *depot;
    struct sonde_block_registry *registry;
    struct sonde_block_snapshot *snapshots[2];
    struct sonde_block_made made = {.struct_bytes = sizeof made};
    struct sonde_block_registry_stat stat = {.struct_bytes = sizeof stat};
    struct sonde_error error;
    void *last = NULL;
    if (sonde_depot_create(0, &depot) != SONDE_OK ||
        sonde_block_registry_start(depot, &registry, &error) != SONDE_OK) {
        return 1;
    }
    /* volatile: the loop is not unrolled, so one stack makes all blocks */
    for (volatile int round = 0; round < 2; round++) {
        for (volatile int i = 0; i < 2; i++) {
            last = subscribe();
        }
        /* after a dlopen(), also hook the loaded library */
        if (sonde_block_registry_refresh(registry) != SONDE_OK ||
            sonde_block_snapshot_take(registry, &snapshots[round]) != SONDE_OK) {
            return 1;
        }
    }
    if (sonde_block_snapshot_growth(snapshots[0], snapshots[1], print, depot) != SONDE_OK) {
        return 1;
    }
    if (sonde_block_registry_find(registry, (uintptr_t)last, &made) == SONDE_OK) {
        printf("a block of %u bytes\n", (unsigned)made.size_bytes);
    }
    if (sonde_block_registry_each(registry, end, NULL) != SONDE_OK ||
        sonde_block_registry_stat(registry, &stat) != SONDE_OK) {
        return 1;
    }
    printf("%" PRIu64 " made, %" PRIu64 " ended\n", stat.made, stat.ended);
    sonde_block_registry_stop(registry);
    _Block_release(subscribe()); /* not recorded */
    sonde_block_snapshot_destroy(snapshots[0]);
    sonde_block_snapshot_destroy(snapshots[1]);
    sonde_block_registry_destroy(registry);
    sonde_depot_destroy(depot);
    return 0;
}
