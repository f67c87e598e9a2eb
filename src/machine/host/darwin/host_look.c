// SPDX-License-Identifier: Apache-2.0
/* Looks at a thread of this process, by Mach. Darwin tells no counts of switches. The CPU time, in
 * microseconds, takes their place: a thread that was woken has used some. Where a thread waits, its
 * CPU time stands for the number of waits, too; a thread that keeps running may have waited
 * between two looks, which nothing tells. Who traces the process is not told, either.
 *
 * Nor is the time told in which a thread could run and had no processor. It is taken to be the rest
 * of the time between two looks that both find the thread ready to run; but not if they are further
 * apart than looks at a turn are: then the process may have been suspended. */
#include <mach/mach_init.h>
#include <mach/thread_act.h>
#include <mach/thread_info.h>

#include "base_math.h"
#include "host_life.h"
#include "host_ports.h"
#include "host_run.h"

/* The last look at each of the threads that are looked at. */
enum { SEEN_MAX = 8 };
#define APART_NS 100000000u
static struct seen {
    uint64_t tid, time_ns, cpu_ns, runqueue_ns;
    bool is_ready;
} seen[SEEN_MAX];
static unsigned oldest;

static struct seen *seen_of(uint64_t tid)
{
    for (unsigned i = 0; i < SEEN_MAX; i++) {
        if (seen[i].tid == tid) {
            return &seen[i];
        }
    }
    struct seen *place = &seen[oldest++ % SEEN_MAX];
    *place = (struct seen){.tid = tid};
    return place;
}

/* Returns the time without a processor up to now. */
static uint64_t note_look(uint64_t tid, bool is_ready, uint64_t cpu_ns)
{
    struct seen *last = seen_of(tid);
    uint64_t now_ns = sonde__os_now_ns();
    if (last->is_ready && is_ready && now_ns - last->time_ns <= APART_NS) {
        uint64_t ran_ns = sonde__base_minus(cpu_ns, last->cpu_ns);
        last->runqueue_ns += sonde__base_minus(now_ns - last->time_ns, ran_ns);
    }
    last->time_ns = now_ns;
    last->cpu_ns = cpu_ns;
    last->is_ready = is_ready;
    return last->runqueue_ns;
}

static bool read_times(const struct sonde__os_stop *thread, uint64_t *ret_cpu_ns)
{
    struct thread_extended_info info;
    mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
    if (thread_info(thread->port, THREAD_EXTENDED_INFO, (thread_info_t)&info, &count) !=
        KERN_SUCCESS) {
        return false;
    }
    *ret_cpu_ns = info.pth_user_time + info.pth_system_time;
    return true;
}

bool sonde__host_look_thread(int32_t pid, uint64_t tid, struct sonde__host_thread_look *ret_look)
{
    struct sonde__os_stop thread;
    struct sonde__os_stop_text text;
    uint64_t cpu_ns;
    if (pid != sonde__os_pid() || sonde__host_port_of(tid, &thread) != SONDE_OK ||
        sonde__os_stop_describe(&thread, &text) != SONDE_OK || !read_times(&thread, &cpu_ns)) {
        return false;
    }
    bool waits = text.letter == 'S' || text.letter == 'D';
    *ret_look =
        (struct sonde__host_thread_look){.state = text.letter,
                                         .tracer = sonde__host_is_traced() ? pid : 0,
                                         .switches = cpu_ns,
                                         .voluntary = waits ? cpu_ns : 0,
                                         .cpu_ns = cpu_ns,
                                         .runqueue_ns = note_look(tid, text.letter == 'R', cpu_ns)};
    return true;
}

bool sonde__host_status_open(int32_t pid, uint64_t tid, int32_t *ret_fd)
{
    (void)pid, (void)tid, (void)ret_fd;
    return false;
}

bool sonde__host_look_again(int32_t status_fd, struct sonde__host_thread_look *ret_look)
{
    (void)status_fd, (void)ret_look;
    return false;
}

bool sonde__host_thread_channel(int32_t pid, uint64_t tid, char *ret_text, size_t capacity)
{
    (void)pid, (void)tid, (void)ret_text, (void)capacity;
    return false;
}

enum sonde__host_descriptor sonde__host_look_descriptor(int32_t pid, uint64_t tid, int32_t fd)
{
    (void)pid, (void)tid, (void)fd;
    return SONDE__HOST_UNKNOWN;
}

/* The system does not tell calls. */
bool sonde__host_awaits_terminal(int32_t pid, uint64_t tid)
{
    (void)pid, (void)tid;
    return false;
}

/* An app does not execute other programs. */
uint64_t sonde__host_program_mark(int32_t pid, struct sonde__host_file_kept *stat)
{
    (void)pid, (void)stat;
    return 0;
}
