// SPDX-License-Identifier: Apache-2.0
/* Captures whose instructions bench.sh counts, beside the walk of the article about
 * BSBacktraceLogger, written anew: it reads each frame record through the kernel, and takes the
 * return address register for a frame. The simulated Mach shows registers of suspended threads
 * only; that walk does not suspend its thread, so this is done outside of what is counted, and its
 * own thread begins with its frame pointer. */
#include <stdio.h>
#include <string.h>

#include <mach/mach_init.h>
#include <mach/mach_port.h>
#include <mach/task.h>
#include <mach/thread_act.h>
#include <mach/thread_status.h>
#include <mach/vm_map.h>
#include <pthread.h>
#include <unistd.h>

#include <sonde/thread.h>

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : (void)(mistakes++, printf("line %d: %s\n", __LINE__, #condition)))

enum { FRAMES = 100, SEED_FRAMES = 50, DEPTH = 20 };

/* of the simulated libSystem */
extern uint64_t sim_calls;
void sim_mark(void);
int sim_is_waiting(pthread_t thread);

static uint64_t pcs[FRAMES];
static uint8_t how[FRAMES];
static struct sonde_stack stack;
static unsigned frames, mistakes;

/* "NAME CALLS FRAMES" for the instructions between two marks. */
#define COUNT(name, statement)                                                                     \
    do {                                                                                           \
        uint64_t before = sim_calls;                                                               \
        frames = 0;                                                                                \
        sim_mark();                                                                                \
        statement;                                                                                 \
        sim_mark();                                                                                \
        printf("%s %lu %u\n", name, (unsigned long)(sim_calls - before), frames);                  \
    } while (0)

/* --- sonde --- */

__attribute__((noinline)) static void capture_own(void)
{
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    CHECK(sonde_stack_capture(&stack, 0) == SONDE_OK && stack.end == SONDE_END_ROOT);
    frames = stack.count;
}

static void capture_other(uint64_t tid)
{
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    CHECK(sonde_thread_capture(tid, NULL, &stack, NULL) == SONDE_OK);
    CHECK(stack.end == SONDE_END_ROOT);
    frames = stack.count;
}

static int take(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *of,
                const struct sonde_captured *with)
{
    (void)ctx;
    (void)thread;
    CHECK(with->status == SONDE_OK);
    frames += of->count;
    return 0;
}

static void capture_all(void)
{
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    CHECK(sonde_threads_snapshot(NULL, &stack, take, NULL, NULL) == SONDE_OK);
}

/* --- the article's walk --- */

struct record {
    const struct record *previous;
    uint64_t return_address;
};

static int copy_record(const struct record *from, struct record *to)
{
    vm_size_t got = 0;
    return vm_read_overwrite(mach_task_self(), (vm_address_t)from, sizeof *to, (vm_address_t)to,
                             &got) == KERN_SUCCESS;
}

static unsigned seed_follow(const struct record *at, unsigned count)
{
    struct record record = {NULL, 0};
    if (at == NULL || !copy_record(at, &record)) {
        return 0;
    }
    for (; count < SEED_FRAMES; count++) {
        pcs[count] = record.return_address;
        if (record.return_address == 0 || record.previous == NULL ||
            !copy_record(record.previous, &record)) {
            break;
        }
    }
    return count;
}

__attribute__((noinline)) static void seed_own(void)
{
    pcs[0] = (uint64_t)(uintptr_t)seed_own;
    frames = seed_follow(__builtin_frame_address(0), 1);
}

static void seed_walk(mach_port_t thread)
{
    unsigned count = 1;
#if defined(__x86_64__)
    x86_thread_state64_t state;
    mach_msg_type_number_t words = x86_THREAD_STATE64_COUNT;
    CHECK(thread_get_state(thread, x86_THREAD_STATE64, (thread_state_t)&state, &words) ==
          KERN_SUCCESS);
    pcs[0] = state.__rip;
    uint64_t frame = state.__rbp;
#else
    arm_thread_state64_t state;
    mach_msg_type_number_t words = ARM_THREAD_STATE64_COUNT;
    CHECK(thread_get_state(thread, ARM_THREAD_STATE64, (thread_state_t)&state, &words) ==
          KERN_SUCCESS);
    pcs[0] = arm_thread_state64_get_pc(state);
    pcs[count++] = arm_thread_state64_get_lr(state);
    uint64_t frame = arm_thread_state64_get_fp(state);
#endif
    frames += seed_follow((const struct record *)(uintptr_t)frame, count);
}

/* It finds the thread by a name among all of the list, and releases neither the list nor a port. */
static mach_port_t seed_find(const char *name)
{
    thread_act_array_t list;
    mach_msg_type_number_t count;
    char found[64];
    CHECK(task_threads(mach_task_self(), &list, &count) == KERN_SUCCESS);
    for (mach_msg_type_number_t i = 0; i < count; i++) {
        pthread_t thread = pthread_from_mach_thread_np(list[i]);
        if (thread != NULL && pthread_getname_np(thread, found, sizeof found) == 0 &&
            strcmp(found, name) == 0) {
            return list[i];
        }
    }
    return MACH_PORT_NULL;
}

static void seed_all(void)
{
    thread_act_array_t list;
    mach_msg_type_number_t count;
    CHECK(task_threads(mach_task_self(), &list, &count) == KERN_SUCCESS);
    for (mach_msg_type_number_t i = 1; i < count; i++) {
        seed_walk(list[i]);
    }
}

/* --- what is counted --- */

static struct sleeper {
    pthread_t thread;
    uint64_t tid;
    const char *name;
} sleepers[] = {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}};
enum { SLEEPERS = sizeof sleepers / sizeof *sleepers };

__attribute__((noinline)) static long descend(int left)
{
    if (left > 0) {
        return descend(left - 1) + mistakes;
    }
    usleep(1000000000);
    return mistakes;
}

static void *sleep_named(void *argument)
{
    struct sleeper *sleeper = argument;
    (void)pthread_setname_np(sleeper->name);
    __atomic_store_n(&sleeper->tid, sonde_thread_self(), __ATOMIC_SEQ_CST);
    (void)descend(DEPTH - 1);
    return NULL;
}

static void start_sleepers(void)
{
    for (unsigned i = 0; i < SLEEPERS; i++) {
        CHECK(pthread_create(&sleepers[i].thread, NULL, sleep_named, &sleepers[i]) == 0);
        while (__atomic_load_n(&sleepers[i].tid, __ATOMIC_SEQ_CST) == 0 ||
               !sim_is_waiting(sleepers[i].thread)) {
            usleep(100);
        }
    }
}

__attribute__((noinline)) static long count_own(unsigned left)
{
    if (left > 0) {
        return count_own(left - 1) + mistakes;
    }
    COUNT("own", capture_own());
    COUNT("own.seed", seed_own());
    CHECK(sonde_stack_prepare() == SONDE_OK);
    COUNT("own.prepared", capture_own());
    COUNT("own.again", capture_own());
    return mistakes;
}

static void count_others(void)
{
    thread_act_array_t list;
    mach_msg_type_number_t count = 0;
    uint64_t tid = sleepers[SLEEPERS - 1].tid;
    const char *name = sleepers[SLEEPERS - 1].name;
    capture_other(tid); /* the tables of the images are made once */
    COUNT("other", capture_other(tid));
    CHECK(task_threads(mach_task_self(), &list, &count) == KERN_SUCCESS && count == SLEEPERS + 1);
    for (mach_msg_type_number_t i = 1; i < count; i++) {
        CHECK(thread_suspend(list[i]) == KERN_SUCCESS);
    }
    COUNT("other.seed", seed_walk(seed_find(name)));
    COUNT("all.seed", seed_all());
    for (mach_msg_type_number_t i = 1; i < count; i++) {
        CHECK(thread_resume(list[i]) == KERN_SUCCESS);
    }
    COUNT("all", capture_all());
}

int main(void)
{
    capture_own(); /* the tables of the images are made once */
    (void)count_own(DEPTH - 1);
    start_sleepers();
    count_others();
    return mistakes != 0;
}
