// SPDX-License-Identifier: Apache-2.0
/* Who calls a function, and how often? Counts calls by their stacks. */
#include <inttypes.h>
#include <stdio.h>

#include <sonde/depot.h>

enum { LOOKUP, DEPTH = 64 };

static struct sonde_depot *depot;

__attribute__((noinline)) static void look_up(void)
{
    /* frame 0 is this function; 1 leaves it out */
    (void)!sonde_audit_record(depot, LOOKUP, 1);
}

__attribute__((noinline)) static void often(void)
{
    for (int i = 0; i < 1000; i++) {
        look_up();
    }
}

__attribute__((noinline)) static void once(void)
{
    look_up();
    __asm__ volatile("" ::: "memory"); /* no tail call: keep this frame */
}

static int print(void *ctx, const struct sonde_audit_entry *entry)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    (void)ctx;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_depot_stack(depot, entry->stack, &stack) == SONDE_OK) {
        printf("%" PRIu64 " calls from a stack of %" PRIu32 " frames, ended: %s\n", entry->count,
               stack.count, sonde_end_text(stack.end));
    }
    return 0;
}

int main(void)
{
    struct sonde_depot_stat stat = {.struct_bytes = sizeof stat};
    if (sonde_depot_create(0, &depot) != SONDE_OK) {
        fputs("no memory\n", stderr);
        return 1;
    }
    often();
    once();
    if (sonde_audit_entries(depot, print, NULL) != SONDE_OK ||
        sonde_depot_stat(depot, &stat) != SONDE_OK) {
        return 1;
    }
    printf("%" PRIu64 " lost\n", stat.lost);
    sonde_depot_destroy(depot);
    return 0;
}
