// SPDX-License-Identifier: Apache-2.0
#include "capture_stopped.h"

#include "capture_walk.h"
#include "unwind_walk.h"

static void stop(struct sonde__stopped *thread, uint64_t self)
{
    thread->status = thread->stop.tid != self ? sonde__os_stop_begin(&thread->stop) : SONDE_USAGE;
    thread->is_stopped = thread->status == SONDE_OK;
}

static void walk(struct sonde__stopped *thread)
{
    struct sonde__regs regs;
    thread->status = sonde__os_stop_regs(&thread->stop, &regs);
    if (thread->status == SONDE_OK) {
        sonde__capture_walk(&thread->stack, &regs, true, 0, SONDE__CAPTURE_DOUBT);
    }
    if (thread->purpose != NULL) {
        sonde__os_stop_queue(&thread->stop, thread->purpose->queue, sizeof thread->purpose->queue);
        thread->purpose->qos = sonde__os_stop_qos(thread->handle);
    }
}

void sonde__capture_stopped(struct sonde__stopped *threads, uint32_t count)
{
    uint64_t self = sonde__os_tid();
    for (uint32_t i = 0; i < count; i++) {
        sonde__stack_reset(&threads[i].stack);
        threads[i].handle =
            threads[i].purpose != NULL ? sonde__os_stop_handle(&threads[i].stop) : 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        stop(&threads[i], self);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (threads[i].is_stopped) {
            walk(&threads[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (threads[i].is_stopped) {
            sonde__os_stop_end(&threads[i].stop);
        }
    }
}
