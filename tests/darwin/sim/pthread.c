// SPDX-License-Identifier: Apache-2.0
/* Threads as pthread.h has them. The host runs them. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

enum { STACK_BYTES = 1 << 19 };

struct sim_thread sim_threads[SIM_THREADS_MAX];
static _Thread_local struct sim_thread *current;

/* The main thread begins with its first call here. */
static struct sim_thread *self(void)
{
    if (current == 0) {
        current = &sim_threads[0];
        current->stack_end = host_stack_end();
        current->stack_start = host_stack_end() - host_stack_size();
        current->id = SIM_ID_BASE + host_gettid();
    }
    return current;
}

struct sim_thread *sim_thread_of(pthread_t thread)
{
    struct sim_thread *found = (struct sim_thread *)(void *)thread;
    return found != 0 ? found : self();
}

pthread_t pthread_self(void)
{
    return (pthread_t)(void *)self();
}

uint64_t sim_wakes;
void sim_sleep(const uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    host_sleep(word, expected, timeout_ns);
    if (self() != sim_threads) {
        __atomic_fetch_add(&sim_wakes, 1, __ATOMIC_RELAXED);
    }
}

int pthread_main_np(void)
{
    return self() == sim_threads;
}

int pthread_threadid_np(pthread_t thread, uint64_t *ret_id)
{
    *ret_id = sim_thread_of(thread)->id;
    return host_is_thread((uint32_t)(sim_thread_of(thread) - sim_threads)) == 0 ? 0 : ESRCH;
}

void *pthread_get_stackaddr_np(pthread_t thread)
{
    return (void *)sim_thread_of(thread)->stack_end;
}

size_t pthread_get_stacksize_np(pthread_t thread)
{
    const struct sim_thread *of = sim_thread_of(thread);
    return of->stack_end - of->stack_start;
}

int pthread_setname_np(const char *name)
{
    struct sim_thread *thread = self();
    size_t length = strlen(name);
    if (length >= SIM_NAME_MAX) {
        return ENAMETOOLONG;
    }
    for (size_t i = 0; i <= length; i++) {
        thread->name[i] = name[i];
    }
    return 0;
}

int pthread_getname_np(pthread_t thread, char *ret_name, size_t size)
{
    const char *name = sim_thread_of(thread)->name;
    return strlen(name) < size ? (strcpy(ret_name, name), 0) : ERANGE;
}

/* Null: no port of a thread. */
pthread_t pthread_from_mach_thread_np(mach_port_t port)
{
    uint32_t index;
    return sim_thread_of_port(port, &index) ? (pthread_t)(void *)&sim_threads[index] : 0;
}

/* The first function of a thread: it has no caller. */
static _Noreturn void thread_start(int unused, void *argument)
{
    struct sim_thread *thread = argument;
    (void)unused;
    current = thread;
    __atomic_store_n(&thread->id, SIM_ID_BASE + host_gettid(), __ATOMIC_RELEASE);
    thread->result = thread->function(thread->argument);
    __atomic_store_n(&thread->has_ended, 1, __ATOMIC_RELEASE);
    host_wake(&thread->has_ended);
    host_end_thread();
}

int pthread_attr_init(pthread_attr_t *attributes)
{
    memset(attributes, 0, sizeof *attributes);
    return 0;
}

int pthread_attr_destroy(pthread_attr_t *attributes)
{
    (void)attributes;
    return 0;
}

int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size)
{
    *(size_t *)(void *)attributes->__opaque = size;
    return 0;
}

static size_t stack_bytes(const pthread_attr_t *attributes)
{
    size_t size = attributes != 0 ? *(const size_t *)(const void *)attributes->__opaque : 0;
    return size != 0 ? size : STACK_BYTES;
}

/* Null: there is no room. */
static struct sim_thread *make(const pthread_attr_t *attributes, void *(*function)(void *argument),
                               void *argument)
{
    static uint32_t made, is_making;
    size_t size = stack_bytes(attributes);
    void *stack = host_map(size);
    while (__atomic_exchange_n(&is_making, 1, __ATOMIC_ACQUIRE) != 0) {
        usleep(1);
    }
    struct sim_thread *thread =
        made + 2 <= SIM_THREADS_MAX && stack != 0 ? &sim_threads[made + 1] : 0;
    if (thread != 0) {
        thread->stack_start = (uint64_t)stack;
        thread->stack_end = (uint64_t)stack + size;
        thread->function = function;
        thread->argument = argument;
        made++;
        if (host_start_thread((uint64_t)thread_start, thread->stack_end, thread) != (int32_t)made) {
            thread = 0;
        }
    }
    __atomic_store_n(&is_making, 0, __ATOMIC_RELEASE);
    return thread;
}

int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
                   void *(*function)(void *argument), void *argument)
{
    (void)self();
    struct sim_thread *thread = make(attributes, function, argument);
    if (thread == 0) {
        return EAGAIN;
    }
    while (__atomic_load_n(&thread->id, __ATOMIC_ACQUIRE) == 0) {
        usleep(1);
    }
    *ret_thread = (pthread_t)(void *)thread;
    return 0;
}

/* The stack stays: the host leaves it only later. */
int pthread_join(pthread_t thread, void **ret_result)
{
    struct sim_thread *of = sim_thread_of(thread);
    while (__atomic_load_n(&of->has_ended, __ATOMIC_ACQUIRE) == 0) {
        host_sleep(&of->has_ended, 0, 1000000000);
    }
    while (host_is_thread((uint32_t)(of - sim_threads)) == 0) {
        usleep(1);
    }
    if (ret_result != 0) {
        *ret_result = of->result;
    }
    return 0;
}

/* Nothing waits for it, and nothing is freed. */
int pthread_detach(pthread_t thread)
{
    (void)thread;
    return 0;
}

int pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

pid_t getpid(void)
{
    return host_getpid();
}
