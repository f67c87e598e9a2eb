// SPDX-License-Identifier: Apache-2.0
/* The threads of this process, by Mach. Each task_threads() gives a reference to every thread's
 * port and an array: all of them are given back here, but for the ports that a struct
 * sonde__os_stop keeps. A thread's tid is the kernel's 64-bit id, which is never used again; its
 * port's name is unique only as long as a reference is held. */
#include <mach/mach_init.h>
#include <mach/mach_port.h>
#include <mach/task.h>
#include <mach/thread_act.h>
#include <mach/thread_info.h>
#include <mach/vm_map.h>
#include <pthread.h>

#include "os.h"
#include "os_stop.h"

struct list {
    thread_act_array_t ports;
    mach_msg_type_number_t count;
};

static bool open_list(struct list *list)
{
    return task_threads(mach_task_self(), &list->ports, &list->count) == KERN_SUCCESS;
}

static void release(mach_port_t port)
{
    (void)mach_port_deallocate(mach_task_self(), port);
}

static void close_list(const struct list *list)
{
    (void)vm_deallocate(mach_task_self(), (vm_address_t)(uintptr_t)list->ports,
                        list->count * sizeof *list->ports);
}

/* False: it has ended. */
static bool read_tid(mach_port_t port, uint64_t *ret_tid)
{
    thread_identifier_info_data_t info;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    if (thread_info(port, THREAD_IDENTIFIER_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS) {
        return false;
    }
    *ret_tid = info.thread_id;
    return true;
}

enum sonde_status sonde__os_stop_open_all(struct sonde__os_stop *ret_stops, size_t capacity,
                                          size_t *ret_total)
{
    struct list list;
    size_t total = 0;
    sonde__os_stop_ahead();
    if (!open_list(&list)) {
        return SONDE_OS;
    }
    for (mach_msg_type_number_t i = 0; i < list.count; i++) {
        uint64_t tid;
        bool is_there = read_tid(list.ports[i], &tid);
        if (is_there && total < capacity) {
            ret_stops[total] = (struct sonde__os_stop){.tid = tid, .port = list.ports[i]};
        } else {
            release(list.ports[i]);
        }
        total += is_there;
    }
    close_list(&list);
    *ret_total = total;
    return SONDE_OK;
}

enum sonde_status sonde__os_stop_open(uint64_t tid, struct sonde__os_stop *ret_stop)
{
    struct list list;
    bool is_found = false;
    sonde__os_stop_ahead();
    if (!open_list(&list)) {
        return SONDE_OS;
    }
    for (mach_msg_type_number_t i = 0; i < list.count; i++) {
        uint64_t found;
        if (!is_found && read_tid(list.ports[i], &found) && found == tid) {
            *ret_stop = (struct sonde__os_stop){.tid = tid, .port = list.ports[i]};
            is_found = true;
        } else {
            release(list.ports[i]);
        }
    }
    close_list(&list);
    return is_found ? SONDE_OK : SONDE_ABSENT;
}

void sonde__os_stop_close(const struct sonde__os_stop *stop)
{
    release(stop->port);
}

enum sonde_status sonde__os_list_threads(int32_t pid, uint64_t *ret_tids, size_t capacity,
                                         size_t *ret_total, int32_t *ret_os_error)
{
    struct list list;
    size_t total = 0;
    (void)ret_os_error;
    if (pid != 0 && pid != sonde__os_pid()) {
        return SONDE_UNSUPPORTED;
    }
    if (!open_list(&list)) {
        return SONDE_OS;
    }
    for (mach_msg_type_number_t i = 0; i < list.count; i++) {
        uint64_t tid;
        if (read_tid(list.ports[i], &tid)) {
            if (total < capacity) {
                ret_tids[total] = tid;
            }
            total++;
        }
        release(list.ports[i]);
    }
    close_list(&list);
    *ret_total = total;
    return SONDE_OK;
}

enum sonde_status sonde__os_count_threads(size_t *ret_count)
{
    return sonde__os_list_threads(0, NULL, 0, ret_count, NULL);
}

static uint64_t main_tid;

/* Initialisers run on the main thread, unless a later thread loads this library. Then the main
 * thread is the oldest one: ids grow. */
__attribute__((constructor)) static void find_main_thread(void)
{
    struct list list;
    uint64_t oldest = UINT64_MAX;
    if (pthread_main_np() != 0) {
        main_tid = sonde__os_tid();
        return;
    }
    if (!open_list(&list)) {
        return;
    }
    for (mach_msg_type_number_t i = 0; i < list.count; i++) {
        uint64_t tid;
        if (read_tid(list.ports[i], &tid) && tid < oldest) {
            oldest = tid;
        }
        release(list.ports[i]);
    }
    close_list(&list);
    main_tid = oldest;
}

uint64_t sonde__os_main_tid(void)
{
    return main_tid;
}
