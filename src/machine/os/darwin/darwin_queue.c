// SPDX-License-Identifier: Apache-2.0
/* The dispatch queue of a thread, and its quality of service. The kernel tells where the thread
 * keeps it; libdispatch's public function tells its label. The queue is alive as long as the
 * thread, which works for it, does not run. dispatch_queue_get_label(NULL) would name a default
 * queue for threads that have none. */
#include <dispatch/dispatch.h>
#include <mach/thread_act.h>
#include <mach/thread_info.h>
#include <pthread.h>
#include <pthread/qos.h>

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

uint64_t sonde__os_stop_handle(const struct sonde__os_stop *stop)
{
    return (uint64_t)(uintptr_t)pthread_from_mach_thread_np(stop->port);
}

/* libpthread has it in the memory of the handle, and reads it without a lock. */
uint8_t sonde__os_stop_qos(uint64_t handle)
{
    static const struct {
        qos_class_t its;
        uint8_t ours;
    } classes[] = {{QOS_CLASS_USER_INTERACTIVE, 1},
                   {QOS_CLASS_USER_INITIATED, 2},
                   {QOS_CLASS_DEFAULT, 3},
                   {QOS_CLASS_UTILITY, 4},
                   {QOS_CLASS_BACKGROUND, 5}};
    qos_class_t found = QOS_CLASS_UNSPECIFIED;
    int priority;
    if (handle == 0 ||
        pthread_get_qos_class_np((pthread_t)(uintptr_t)handle, &found, &priority) != 0) {
        return 0;
    }
    for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].its == found) {
            return classes[i].ours;
        }
    }
    return 0;
}
