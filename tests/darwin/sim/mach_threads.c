// SPDX-License-Identifier: Apache-2.0
/* Mach's calls about threads. References to ports and the arrays of task_threads() are counted:
 * tests end with as many as they began with. A suspended thread's registers can be read, those of
 * others not, stricter than Apple's kernel. */
#include <mach/mach_init.h>
#include <mach/mach_port.h>
#include <mach/task.h>
#include <mach/thread_act.h>
#include <mach/thread_info.h>
#include <mach/thread_status.h>
#include <pthread.h>
#include <string.h>

#include "sim.h"

enum { LISTS_MAX = 16, PORT_STEP = 0x100, PORT_FIRST = 0x503 };

/* References held to ports of threads, and arrays of task_threads() that nobody freed. */
int64_t sim_port_references, sim_lists;
uint32_t sim_suspended;
static _Thread_local uint32_t own_suspended;
/* Injected by tests: the result of the next calls, if it is not KERN_SUCCESS, and a function that
 * runs when the list of threads was made. */
kern_return_t sim_suspend_result, sim_state_result, sim_list_result;
void (*sim_after_list)(void);

static vm_address_t lists[LISTS_MAX];

static mach_port_t port_of(uint32_t index)
{
    return PORT_FIRST + index * PORT_STEP;
}

int sim_thread_of_port(mach_port_t port, uint32_t *ret_index)
{
    uint32_t index = (port - PORT_FIRST) / PORT_STEP;
    if (port < PORT_FIRST || port != port_of(index) || index >= host_count_threads()) {
        return 0;
    }
    *ret_index = index;
    return 1;
}

/* Replace an entry; several threads may do so. 0: there is none that is `from`. */
static int replace_list(vm_address_t from, vm_address_t to)
{
    for (unsigned i = 0; i < LISTS_MAX; i++) {
        vm_address_t expected = from;
        if (__atomic_compare_exchange_n(&lists[i], &expected, to, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
            return 1;
        }
    }
    return 0;
}

int sim_is_list(uint64_t address)
{
    return address != 0 && replace_list(address, 0);
}

static void note_list(vm_address_t address)
{
    (void)replace_list(0, address);
    __atomic_fetch_add(&sim_lists, 1, __ATOMIC_SEQ_CST);
}

kern_return_t task_threads(task_inspect_t task, thread_act_array_t *ret_ports,
                           mach_msg_type_number_t *ret_count)
{
    mach_port_t *ports = host_map(sizeof(mach_port_t) * SIM_THREADS_MAX);
    mach_msg_type_number_t count = 0;
    SIM_CALL();
    (void)pthread_self(); /* the main thread has begun */
    if (task != mach_task_self() || sim_list_result != KERN_SUCCESS || ports == 0) {
        return KERN_FAILURE;
    }
    for (uint32_t i = 0; i < host_count_threads(); i++) {
        if (host_is_thread(i) == 0) {
            ports[count++] = port_of(i);
        }
    }
    __atomic_fetch_add(&sim_port_references, count, __ATOMIC_SEQ_CST);
    note_list((vm_address_t)ports);
    *ret_ports = ports;
    *ret_count = count;
    if (sim_after_list != 0) {
        sim_after_list();
    }
    return KERN_SUCCESS;
}

kern_return_t mach_port_deallocate(ipc_space_t task, mach_port_name_t name)
{
    uint32_t index;
    SIM_CALL();
    if (task != mach_task_self() || !sim_thread_of_port(name, &index)) {
        return KERN_INVALID_NAME;
    }
    __atomic_fetch_sub(&sim_port_references, 1, __ATOMIC_SEQ_CST);
    return KERN_SUCCESS;
}

kern_return_t thread_suspend(thread_act_t port)
{
    uint32_t index;
    SIM_CALL();
    if (sim_suspend_result != KERN_SUCCESS) {
        return sim_suspend_result;
    }
    if (!sim_thread_of_port(port, &index)) {
        return KERN_INVALID_ARGUMENT;
    }
    if (host_suspend_thread(index) != 0) {
        return KERN_TERMINATED;
    }
    __atomic_fetch_add(&sim_suspended, 1, __ATOMIC_SEQ_CST);
    own_suspended++;
    return KERN_SUCCESS;
}

kern_return_t thread_resume(thread_act_t port)
{
    uint32_t index;
    SIM_CALL();
    if (!sim_thread_of_port(port, &index)) {
        return KERN_INVALID_ARGUMENT;
    }
    __atomic_fetch_sub(&sim_suspended, 1,
                       __ATOMIC_SEQ_CST); /* before the thread runs, and allocates */
    if (host_resume_thread(index) != 0) {
        __atomic_fetch_add(&sim_suspended, 1, __ATOMIC_SEQ_CST);
        return KERN_FAILURE;
    }
    own_suspended--;
    return KERN_SUCCESS;
}

/* For tests: how many threads the calling one has suspended. */
uint32_t sim_own_suspended(void);
uint32_t sim_own_suspended(void)
{
    return own_suspended;
}

/* The host's order of registers is that of these structs. */
static kern_return_t copy_state(thread_state_t state, const uint64_t *words, unsigned count)
{
    uint64_t *target = (uint64_t *)(void *)state;
    for (unsigned i = 0; i < count; i++) {
        target[i] = words[i];
    }
    return KERN_SUCCESS;
}

kern_return_t thread_get_state(thread_read_t port, thread_state_flavor_t flavor,
                               thread_state_t ret_state, mach_msg_type_number_t *count)
{
    uint64_t words[34];
    uint32_t index;
    SIM_CALL();
    if (sim_state_result != KERN_SUCCESS) {
        return sim_state_result;
    }
    if (!sim_thread_of_port(port, &index) || host_get_registers(index, words) != 0) {
        return KERN_INVALID_ARGUMENT;
    }
#if defined(__x86_64__)
    if (flavor != x86_THREAD_STATE64 || *count < x86_THREAD_STATE64_COUNT) {
        return KERN_INVALID_ARGUMENT;
    }
    *count = x86_THREAD_STATE64_COUNT;
    return copy_state(ret_state, words, 18);
#else
    if (flavor != ARM_THREAD_STATE64 || *count < ARM_THREAD_STATE64_COUNT) {
        return KERN_INVALID_ARGUMENT;
    }
    *count = ARM_THREAD_STATE64_COUNT;
    return copy_state(ret_state, words, 33);
#endif
}

/* Without a reference. */
mach_port_t pthread_mach_thread_np(pthread_t thread)
{
    return port_of((uint32_t)(sim_thread_of(thread) - sim_threads));
}

/* For ../bench.sh: the instructions between two calls are counted. */
void sim_mark(void);
void sim_mark(void)
{
    host_mark();
}

/* For tests: does the thread wait in the kernel? */
int sim_is_waiting(pthread_t thread);
int sim_is_waiting(pthread_t thread)
{
    return host_is_waiting((uint32_t)(sim_thread_of(thread) - sim_threads)) == 1;
}

static kern_return_t describe(uint32_t index, struct thread_extended_info *info)
{
    int32_t waits = host_is_waiting(index);
    *info = (struct thread_extended_info){.pth_run_state =
                                              waits == 1 ? TH_STATE_WAITING : TH_STATE_RUNNING};
    strcpy(info->pth_name, sim_threads[index].name);
    int32_t result = host_read_cpu(index, &info->pth_user_time);
    info->pth_user_time -= info->pth_user_time % 1000; /* the kernel counts microseconds */
    return waits >= 0 && result == 0 ? KERN_SUCCESS : KERN_INVALID_ARGUMENT;
}

/* Of a thread that has ended, or not begun, nothing is known. */
kern_return_t thread_info(thread_inspect_t port, thread_flavor_t flavor, thread_info_t ret_info,
                          mach_msg_type_number_t *count)
{
    struct thread_identifier_info *info = (struct thread_identifier_info *)ret_info;
    uint32_t index;
    SIM_CALL();
    if (!sim_thread_of_port(port, &index) || host_is_thread(index) != 0 ||
        sim_threads[index].id == 0) {
        return KERN_INVALID_ARGUMENT;
    }
    if (flavor == THREAD_EXTENDED_INFO && *count >= THREAD_EXTENDED_INFO_COUNT) {
        *count = THREAD_EXTENDED_INFO_COUNT;
        return describe(index, (struct thread_extended_info *)ret_info);
    }
    if (flavor != THREAD_IDENTIFIER_INFO || *count < THREAD_IDENTIFIER_INFO_COUNT) {
        return KERN_INVALID_ARGUMENT;
    }
    *info = (struct thread_identifier_info){.thread_id = sim_threads[index].id,
                                            .dispatch_qaddr =
                                                (uint64_t)(uintptr_t)&sim_threads[index].queue};
    *count = THREAD_IDENTIFIER_INFO_COUNT;
    return KERN_SUCCESS;
}
