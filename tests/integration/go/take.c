// SPDX-License-Identifier: Apache-2.0
#include "take.h"

#include <signal.h>
#include <string.h>

#include <sonde/thread.h>

static int keep(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *stack,
                const struct sonde_captured *captured)
{
    struct taken *taken = ctx;
    (void)thread;
    if (captured->by == SONDE_CAPTURED_SIGNAL && taken->held < TAKE_THREADS) {
        uint32_t count = stack->count < TAKE_FRAMES - 1 ? stack->count : TAKE_FRAMES - 1;
        memcpy(taken->pcs[taken->held++], stack->pcs, count * sizeof *stack->pcs);
    }
    return 0;
}

void take(struct taken *ret_taken)
{
    uint64_t pcs[64];
    uint8_t how[64];
    struct sonde_stack stack;
    struct sonde_snapshot snapshot = {.struct_bytes = sizeof snapshot};
    struct sonde_capture_options options = {.struct_bytes = sizeof options,
                                            .flags = SONDE_CAPTURE_BARE,
                                            .timeout_ns = 10000000000u,
                                            .files_kept = 100};
    memset(ret_taken, 0, sizeof *ret_taken);
    sonde_stack_init(&stack, pcs, how, 64, 0);
    ret_taken->status = sonde_threads_snapshot(&options, &stack, keep, ret_taken, &snapshot);
    ret_taken->consistent = snapshot.consistent;
}

struct action action_now(void)
{
    struct sigaction now;
    sigaction(SIGURG, NULL, &now);
    return (struct action){(uintptr_t)now.sa_sigaction, now.sa_flags};
}
