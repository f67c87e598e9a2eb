// SPDX-License-Identifier: Apache-2.0
/* Network.framework's path, by its C functions: found by name, never linked. Each question has a
 * monitor of its own, so that nothing wakes up between two. */
#include "host_network.h"

#include <dispatch/dispatch.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "host_lookup.h"

#define FRAMEWORK "/System/Library/Frameworks/Network.framework/Network"
#define WAIT_NS   1000000000
/* <Network/path.h>: nw_path_status_t */
enum { PATH_SATISFIED = 1 };

struct functions {
    void *(*create)(void);
    void (*set_queue)(void *monitor, dispatch_queue_t queue);
    void (*set_handler)(void *monitor, void (^handler)(void *path));
    void (*start)(void *monitor);
    void (*cancel)(void *monitor);
    void (*release)(void *object);
    int (*status)(void *path);
    bool (*is_expensive)(void *path);
    bool (*is_constrained)(void *path); /* null before iOS 13 and macOS 10.15 */
};

/* static: the block below has no captures, so it needs no memory that could end before it does */
static struct functions network;
static _Atomic uint32_t answer; /* enum sonde__host_metered; ASKED: none yet */
static dispatch_semaphore_t answered;
enum { ASKED = 99 };

/* False: there is no such framework (before iOS 12 and macOS 10.14). */
static bool find_functions(void)
{
    const struct host_wanted functions[] = {
        {"nw_path_monitor_create", &network.create},
        {"nw_path_monitor_set_queue", &network.set_queue},
        {"nw_path_monitor_set_update_handler", &network.set_handler},
        {"nw_path_monitor_start", &network.start},
        {"nw_path_monitor_cancel", &network.cancel},
        {"nw_release", &network.release},
        {"nw_path_get_status", &network.status},
        {"nw_path_is_expensive", &network.is_expensive},
    };
    const struct host_wanted later = {"nw_path_is_constrained", &network.is_constrained};
    if (dlopen(FRAMEWORK, RTLD_LAZY) == NULL ||
        !host_lookup(functions, sizeof functions / sizeof functions[0])) {
        return false;
    }
    (void)host_lookup(&later, 1);
    return true;
}

static enum sonde__host_metered judge(void *path)
{
    if (network.status(path) != PATH_SATISFIED) {
        return SONDE__HOST_METERED_UNKNOWN;
    }
    bool is_saved = network.is_constrained != NULL && network.is_constrained(path);
    return network.is_expensive(path) || is_saved ? SONDE__HOST_METERED : SONDE__HOST_UNMETERED;
}

static enum sonde__host_metered ask(void)
{
    void *monitor = network.create();
    if (monitor == NULL) {
        return SONDE__HOST_METERED_UNKNOWN;
    }
    atomic_store(&answer, ASKED);
    network.set_queue(monitor, dispatch_get_global_queue(QOS_CLASS_UTILITY, 0));
    network.set_handler(monitor, ^(void *path) {
      atomic_store(&answer, (uint32_t)judge(path));
      (void)dispatch_semaphore_signal(answered);
    });
    network.start(monitor);
    /* the signal of an earlier question, whose answer came too late, ends a wait early */
    dispatch_time_t until = dispatch_time(DISPATCH_TIME_NOW, WAIT_NS);
    while (atomic_load(&answer) == ASKED && dispatch_semaphore_wait(answered, until) == 0) {
    }
    network.cancel(monitor);
    network.release(monitor);
    uint32_t told = atomic_load(&answer);
    return told == ASKED ? SONDE__HOST_METERED_UNKNOWN : (enum sonde__host_metered)told;
}

enum sonde__host_metered sonde__host_network_metered(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    enum sonde__host_metered metered = SONDE__HOST_METERED_UNKNOWN;
    pthread_mutex_lock(&lock);
    if (answered == NULL && find_functions()) {
        answered = dispatch_semaphore_create(0);
    }
    if (answered != NULL) {
        metered = ask();
    }
    pthread_mutex_unlock(&lock);
    return metered;
}
