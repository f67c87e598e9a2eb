// SPDX-License-Identifier: Apache-2.0
/* Stops threads and reads their registers. Mach calls only: none allocates in this process or takes
 * a lock of it; but descriptions, of threads that run, ask libpthread. watchOS forbids these calls.
 */
#include <mach/kern_return.h>
#include <mach/thread_act.h>
#include <mach/thread_info.h>
#include <pthread.h>

#include "base_mem.h"
#include "darwin_regs.h"
#include "os_stop.h"

/* A port whose thread has ended is a dead name, or refers to a terminated thread. */
static enum sonde_status status_of(kern_return_t result)
{
    switch (result) {
    case KERN_SUCCESS:
        return SONDE_OK;
    case KERN_TERMINATED:
    case KERN_INVALID_ARGUMENT:
    case MACH_SEND_INVALID_DEST:
        return SONDE_ABSENT;
    default:
        return SONDE_OS;
    }
}

enum sonde_status sonde__os_stop_begin(const struct sonde__os_stop *stop)
{
    return status_of(thread_suspend(stop->port));
}

void sonde__os_stop_end(const struct sonde__os_stop *stop)
{
    (void)thread_resume(stop->port);
}

static kern_return_t read_regs(thread_act_t thread, struct sonde__regs *regs)
{
    struct darwin_state state;
    mach_msg_type_number_t count = sizeof state / sizeof(natural_t);
    kern_return_t result =
        thread_get_state(thread, DARWIN_STATE_FLAVOR, (thread_state_t)&state, &count);
    if (result == KERN_SUCCESS) {
        darwin_regs_of(&state, regs);
    }
    return result;
}

enum sonde_status sonde__os_stop_regs(const struct sonde__os_stop *stop,
                                      struct sonde__regs *ret_regs)
{
    struct sonde__regs regs;
    enum sonde_status status = status_of(read_regs(stop->port, &regs));
    if (status == SONDE_OK) {
        *ret_regs = regs;
    }
    return status;
}

static char letter_of(const struct thread_extended_info *info)
{
    static const char letters[] = {
        [TH_STATE_RUNNING] = 'R',         [TH_STATE_STOPPED] = 'T', [TH_STATE_WAITING] = 'S',
        [TH_STATE_UNINTERRUPTIBLE] = 'D', [TH_STATE_HALTED] = 'Z',
    };
    uint32_t state = (uint32_t)info->pth_run_state;
    return state < sizeof letters && letters[state] != '\0' ? letters[state] : '?';
}

/* libpthread checks under its lock that there is such a thread, else it returns an error number.
 * The caller checks afterwards that the port's thread has not ended, so nothing else can have had
 * its pthread_t. */
static void read_stack(thread_act_t port, struct sonde__os_stop_text *ret_text)
{
    enum { SMALLEST = 4096 };
    pthread_t thread = pthread_from_mach_thread_np(port);
    uint64_t end = thread != NULL ? (uint64_t)(uintptr_t)pthread_get_stackaddr_np(thread) : 0;
    uint64_t size = thread != NULL ? pthread_get_stacksize_np(thread) : 0;
    bool is_known = size >= SMALLEST && end > size;
    ret_text->stack_start = is_known ? end - size : 0;
    ret_text->stack_end = is_known ? end : 0;
}

enum sonde_status sonde__os_stop_describe(const struct sonde__os_stop *stop,
                                          struct sonde__os_stop_text *ret_text)
{
    struct thread_extended_info info;
    mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
    struct sonde__os_stop_text text;
    read_stack(stop->port, &text);
    enum sonde_status status =
        status_of(thread_info(stop->port, THREAD_EXTENDED_INFO, (thread_info_t)&info, &count));
    if (status == SONDE_OK) {
        _Static_assert(sizeof text.name == sizeof info.pth_name, "copied as a whole");
        sonde__base_mem_copy(text.name, info.pth_name, sizeof info.pth_name);
        text.name[sizeof info.pth_name - 1] = '\0';
        text.letter = letter_of(&info);
        *ret_text = text;
    }
    return status;
}
