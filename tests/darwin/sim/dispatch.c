// SPDX-License-Identifier: Apache-2.0
/* Queues of libdispatch: work that a thread does for a queue, on itself. A thread notes its queue
 * where the kernel tells debuggers (dispatch_qaddr). Labels are not copied, so that tests can have
 * them where they want. Nothing is asynchronous. */
#include <dispatch/dispatch.h>
#include <pthread/qos.h>
#include <stdlib.h>

#include "sim.h"

struct dispatch_queue_s {
    uint64_t head[9];
    const char *label;
    uint64_t tail[6];
};

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attributes)
{
    struct dispatch_queue_s *queue = calloc(1, sizeof *queue);
    (void)attributes;
    queue->label = label;
    return queue;
}

/* Labels of queues that a running thread might leave, and free; and classes of service of threads
 * that may end meanwhile. */
uint64_t sim_labels_while_running;
extern uint32_t sim_suspended;

/* As Apple's: a thread that works for no queue gets the label of a default one. */
const char *dispatch_queue_get_label(dispatch_queue_t queue)
{
    if (queue == DISPATCH_CURRENT_QUEUE_LABEL) {
        queue = (dispatch_queue_t)sim_thread_of(pthread_self())->queue;
        if (queue == 0) {
            return "com.apple.root.default-qos";
        }
    }
    sim_labels_while_running += queue != sim_thread_of(pthread_self())->queue && sim_suspended == 0;
    return queue->label != 0 ? queue->label : "";
}

void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work)
{
    struct sim_thread *self = sim_thread_of(pthread_self());
    void *before = self->queue;
    self->queue = queue;
    work(context);
    self->queue = before;
}

/* For tests: what the calling thread notes as its queue. */
void sim_set_queue(void *queue);
void sim_set_queue(void *queue)
{
    sim_thread_of(pthread_self())->queue = queue;
}

/* <pthread/qos.h>: as Apple's, this reads the thread's memory without a lock. */
int pthread_get_qos_class_np(pthread_t thread, qos_class_t *ret_class, int *ret_priority)
{
    const struct sim_thread *of = sim_thread_of(thread);
    sim_labels_while_running += of != sim_thread_of(pthread_self()) && sim_suspended == 0;
    *ret_class = (qos_class_t)of->qos;
    *ret_priority = 0;
    return 0;
}

int pthread_set_qos_class_self_np(qos_class_t class, int priority)
{
    (void)priority;
    sim_thread_of(pthread_self())->qos = (uint32_t) class;
    return 0;
}
