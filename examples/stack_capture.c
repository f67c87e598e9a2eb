// SPDX-License-Identifier: Apache-2.0
/* Which calls led here? Prints the calling thread's stack as addresses, and how each was found. */
#include <inttypes.h>
#include <stdio.h>

#include <sonde/stack.h>

enum { DEPTH = 64, OUTER = 16 };

static int print_stack(void)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    enum sonde_status status;

    /* A deeper stack also keeps its outermost 16 frames. */
    sonde_stack_init(&stack, pcs, how, DEPTH, OUTER);
    status = sonde_stack_capture(&stack, 0);
    if (status != SONDE_OK) {
        fprintf(stderr, "%s\n", sonde_status_text(status));
        return 1;
    }
    for (uint32_t i = 0; i < stack.count; i++) {
        if (i == stack.lost_at) {
            printf("... %" PRIu64 " frames left out\n", stack.lost_count);
        }
        printf("%2" PRIu32 "  0x%016" PRIx64 "  %s\n", i, pcs[i],
               sonde_found_text(how[i] & SONDE_HOW_FOUND_MASK));
    }
    printf("ended: %s\n", sonde_end_text(stack.end));
    return 0;
}

int main(void)
{
    /* Optional: makes captures faster. */
    if (sonde_stack_prepare() != SONDE_OK) {
        fputs("no memory for tables: captures are slower\n", stderr);
    }
    return print_stack();
}
