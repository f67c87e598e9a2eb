// SPDX-License-Identifier: Apache-2.0
/* A stack of any depth: here a recursion of ten thousand calls. */
#include <inttypes.h>
#include <stdio.h>

#include <sonde/stack.h>

static int depth_seen;

static int recurse(int calls)
{
    struct sonde_stack stack;
    volatile int below = 0; /* no tail call: each call keeps its frame */
    if (calls > 0) {
        below = recurse(calls - 1);
        return below + 1;
    }
    if (sonde_stack_capture_whole(&stack, 0) != SONDE_OK) {
        return -1000000;
    }
    depth_seen = (int)stack.count;
    printf("%" PRIu32 " frames, ended: %s\n", stack.count, sonde_end_text(stack.end));
    sonde_stack_free(&stack);
    return 0;
}

int main(void)
{
    return recurse(10000) == 10000 && depth_seen > 10000 ? 0 : 1;
}
