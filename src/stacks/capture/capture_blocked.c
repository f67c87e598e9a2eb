// SPDX-License-Identifier: Apache-2.0
/* Reads a blocked thread's stack without its help.
 *
 * The kernel shows where the thread waits (stack pointer and pc). Its stack is read through the
 * system, which cannot fault if the thread wakes and ends meanwhile. The result counts only if
 * the thread did not get a CPU meanwhile: its scheduling counters and its wait must be the same
 * before and after. */
#include "base_mem.h"
#include "base_status.h"
#include "capture_park.h"
#include "capture_thread.h"
#include "capture_walk.h"
#include "os.h"
#include "os_context.h"

enum {
    /* Limit of tries for a thread that runs meanwhile; then a signal is better. */
    TRIES = 4,
    /* Limit of the distance from the calling thread's sp in C to its sp in the system's record:
     * the frames between are ours. An emulator's host stack is elsewhere. */
    OWN_DISTANCE_MAX = 64 * 1024,
};

struct files {
    int32_t wait, schedstat; /* schedstat -1: this kernel has none */
};

static enum sonde_status open_files(uint64_t tid, struct files *files)
{
    enum sonde_status status =
        sonde__os_thread_open(0, tid, SONDE__OS_THREAD_SYSCALL, &files->wait, NULL);
    if (status != SONDE_OK) {
        return status;
    }
    if (sonde__os_thread_open(0, tid, SONDE__OS_THREAD_SCHEDSTAT, &files->schedstat, NULL) !=
        SONDE_OK) {
        files->schedstat = -1;
    }
    return SONDE_OK;
}

static void close_files(const struct files *files)
{
    sonde__os_close(files->wait);
    if (files->schedstat >= 0) {
        sonde__os_close(files->schedstat);
    }
}

enum sonde_status sonde__capture_passive_check(void)
{
    struct sonde__os_wait wait;
    struct files files;
    uint64_t here = (uint64_t)(uintptr_t)&files, sp, distance;
    enum sonde_status status = open_files(sonde__os_tid(), &files);
    if (status != SONDE_OK) {
        return status == SONDE_DENIED ? SONDE_DENIED : SONDE_UNSUPPORTED;
    }
    status = sonde__os_read_wait(files.wait, &wait, NULL);
    close_files(&files);
    if (status != SONDE_OK || sonde__os_wait_call(&wait).number < 0) {
        return status == SONDE_DENIED ? SONDE_DENIED : SONDE_UNSUPPORTED;
    }
    sp = sonde__os_wait_sp(&wait);
    distance = sp > here ? sp - here : here - sp;
    return distance <= OWN_DISTANCE_MAX ? SONDE_OK : SONDE_UNSUPPORTED;
}

/* What must be the same before and after. */
struct look {
    struct sonde__os_wait wait;
    struct sonde__os_schedstat schedstat;
};

static enum sonde_status read_wait(const struct files *files, struct look *look)
{
    sonde__base_mem_set(look, 0, sizeof *look);
    if (files->schedstat >= 0) {
        enum sonde_status status =
            sonde__os_read_schedstat(files->schedstat, &look->schedstat, NULL);
        if (status != SONDE_OK) {
            return status;
        }
    }
    return sonde__os_read_wait(files->wait, &look->wait, NULL);
}

static bool is_same(const struct look *a, const struct look *b)
{
    return sonde__os_wait_is_same(&a->wait, &b->wait) &&
           sonde__os_schedstat_is_same(&a->schedstat, &b->schedstat);
}

static void walk_look(const struct look *look, struct sonde_stack *stack)
{
    struct sonde__regs regs;
    sonde__os_wait_regs(&look->wait, &regs);
    sonde__capture_walk_counted(stack, &regs, true, 0, SONDE__CAPTURE_DOUBT);
}

/* A wait in our handler is not the program's: the thread is about to leave it. */
static bool is_program_wait(uint64_t tid, const struct look *look)
{
    return sonde__os_wait_is_blocked(&look->wait) && !sonde__capture_park_is_inside(tid);
}

static enum sonde_status try_read(const struct files *files, uint64_t tid,
                                  struct sonde_stack *stack, struct sonde_captured *captured)
{
    enum sonde_status status = SONDE_TIMEOUT;
    for (unsigned i = 0; i < TRIES && status == SONDE_TIMEOUT; i++) {
        struct look before, after;
        SONDE_TRY(read_wait(files, &before));
        if (!is_program_wait(tid, &before)) {
            return SONDE_BUSY;
        }
        walk_look(&before, stack);
        struct sonde__os_call call = sonde__os_wait_call(&before.wait);
        captured->syscall = call.number;
        sonde__base_mem_copy(captured->syscall_args, call.args, sizeof captured->syscall_args);
        SONDE_TRY(read_wait(files, &after));
        if (is_same(&before, &after)) {
            captured->by = SONDE_CAPTURED_PASSIVE;
            return SONDE_OK;
        }
    }
    stack->end = SONDE_END_MOVED;
    return status;
}

enum sonde_status sonde__capture_blocked(uint64_t tid, struct sonde_stack *stack,
                                         struct sonde_captured *ret_captured)
{
    struct files files;
    enum sonde_status status = open_files(tid, &files);
    if (status == SONDE_OK) {
        status = try_read(&files, tid, stack, ret_captured);
        close_files(&files);
    }
    return status;
}
