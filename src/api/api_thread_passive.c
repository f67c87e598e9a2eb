// SPDX-License-Identifier: Apache-2.0
/* Other threads, on a system that shows where a blocked thread waits. A blocked thread is read
 * passively. A thread gets a signal only if it was just seen running; if it does not answer, it is
 * read again. */
#include "api_thread.h"
#include "base_status.h"
#include "base_text.h"
#include "capture_thread.h"
#include "os.h"
#include "target_self.h"
#include "unwind_walk.h"

/* Number of tries: a thread may enter or leave a call between the read and the signal. */
enum { ROUNDS = 3 };

static void note(struct sonde_captured *captured, const char *text)
{
    struct sonde__text out;
    sonde__base_text_init(&out, captured->note, sizeof captured->note);
    sonde__base_text_str(&out, text);
}

enum sonde_status sonde__api_other_check(void)
{
    return sonde__capture_passive_check();
}

struct passive_read {
    uint64_t tid;
    struct sonde_stack *stack;
    struct sonde_captured *captured;
    enum sonde_status status;
};

static void read_passively(void *ctx)
{
    struct passive_read *read = ctx;
    read->status = sonde__capture_blocked(read->tid, read->stack, read->captured);
}

enum sonde_status sonde__api_other_capture(const struct sonde__os_stop *thread,
                                           const struct sonde_capture_options *options,
                                           enum sonde_status passive, struct sonde_stack *stack,
                                           struct sonde_captured *captured)
{
    uint64_t tid = thread->tid;
    bool may_signal = (options->flags & SONDE_CAPTURE_PASSIVE_ONLY) == 0;
    enum sonde_status status = passive;
    for (unsigned i = 0; i < ROUNDS; i++) {
        captured->note[0] = '\0';
        captured->syscall = -1;
        if (passive == SONDE_OK) {
            struct passive_read read = {tid, stack, captured, SONDE_UNSUPPORTED};
            sonde__target_self_hold_images(read_passively, &read);
            status = read.status;
            if (status != SONDE_BUSY && status != SONDE_TIMEOUT) {
                return status;
            }
        }
        captured->syscall = -1;
        if (passive != SONDE_OK) {
            /* It is unknown whether it is blocked, and a signal might end its call early. */
            note(captured, passive == SONDE_DENIED
                               ? "the system does not let this process read its own threads"
                               : "the system does not show where this process' threads wait");
            return passive;
        }
        if (!may_signal) {
            note(captured, status == SONDE_BUSY ? "it runs, and signals are not allowed here"
                                                : "it moved each time it was read");
            return SONDE_BUSY;
        }
        sonde__stack_reset(stack);
        status = sonde__api_signal_capture(tid, options->timeout_ns, stack, captured);
        if (status != SONDE_TIMEOUT) {
            return status;
        }
    }
    return status;
}
