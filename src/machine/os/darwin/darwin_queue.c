// SPDX-License-Identifier: Apache-2.0
/* The dispatch queue of a thread. The kernel tells where the thread keeps it; libdispatch's public
 * function tells its label. The queue is alive as long as the thread, which works for it, does not
 * run. dispatch_queue_get_label(NULL) would name a default queue for threads that have none. */
#include <dispatch/dispatch.h>
#include <mach/thread_act.h>
#include <mach/thread_info.h>

#include "os.h"
#include "os_stop.h"

/* dispatch_queue_get_label() reads inside of the queue. Source: libdispatch, queue_internal.h
 * (DISPATCH_QUEUE_CLASS_HEADER), where the label ends at byte 80. */
enum { QUEUE_BYTES_MIN = 96 };

/* 0: none, or not readable. */
static uint64_t find_queue(thread_act_t thread)
{
    thread_identifier_info_data_t info;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    uint8_t bytes[QUEUE_BYTES_MIN];
    uint64_t queue;
    if (thread_info(thread, THREAD_IDENTIFIER_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS ||
        info.dispatch_qaddr == 0 ||
        sonde__os_read(info.dispatch_qaddr, &queue, sizeof queue) != sizeof queue || queue == 0) {
        return 0;
    }
    return sonde__os_read(queue, bytes, sizeof bytes) == sizeof bytes ? queue : 0;
}

void sonde__os_stop_queue(const struct sonde__os_stop *stop, char *ret_label, size_t size)
{
    uint64_t queue = find_queue(stop->port);
    size_t length = 0;
    if (queue != 0) {
        const char *label = dispatch_queue_get_label((dispatch_queue_t)(uintptr_t)queue);
        length = sonde__os_read((uint64_t)(uintptr_t)label, ret_label, size - 1);
    }
    ret_label[length] = '\0';
}
