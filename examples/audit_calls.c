// SPDX-License-Identifier: Apache-2.0
/* Who calls getenv() and qsort() in this process? */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/audit.h>

enum { GETENV, QSORT, NO_FUNCTION, FUNCTIONS, DEPTH = 64 };

static const char *const functions[FUNCTIONS] = {"getenv", "qsort", "no_such_function"};
static struct sonde_depot *depot;

static int compare(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

__attribute__((noinline)) static void work(void)
{
    int numbers[] = {3, 1, 2};
    for (int i = 0; i < 100; i++) {
        (void)getenv("HOME");
    }
    qsort(numbers, 3, sizeof numbers[0], compare);
}

static int print(void *ctx, const struct sonde_audit_entry *entry)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    (void)ctx;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_depot_stack(depot, entry->stack, &stack) == SONDE_OK) {
        printf("%s: %" PRIu64 " calls, the caller at 0x%" PRIx64 "\n", functions[entry->label],
               entry->count, pcs[0]);
    }
    return 0;
}

static int print_blind(void *ctx, const struct sonde_audit_blind_spot *blind)
{
    (void)ctx;
    if (blind->image == NULL) {
        printf("%s: %s\n", blind->function, blind->why);
    }
    return 0;
}

int main(void)
{
    struct sonde_audit *audit;
    struct sonde_error error;
    if (sonde_depot_create(0, &depot) != SONDE_OK ||
        sonde_audit_start(depot, functions, FUNCTIONS, &audit, &error) != SONDE_OK) {
        return 1;
    }
    work();
    /* after a dlopen(), also hook the loaded library */
    if (sonde_audit_refresh(audit) != SONDE_OK ||
        sonde_audit_blind_spots(audit, print_blind, NULL) != 0) {
        return 1;
    }
    sonde_audit_stop(audit);
    work(); /* not counted */
    if (sonde_audit_entries(depot, print, NULL) != SONDE_OK) {
        return 1;
    }
    sonde_depot_destroy(depot);
    return 0;
}
