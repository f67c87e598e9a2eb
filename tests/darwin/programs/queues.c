// SPDX-License-Identifier: Apache-2.0
/* Which dispatch queue a thread works for, and where its stack is: of the calling thread, of one
 * that spins in its work, and of threads whose queue or label is not what it should be. */
#include <dispatch/dispatch.h>
#include <mach/mach_init.h>
#include <mach/vm_map.h>
#include <string.h>
#include <unistd.h>

#include <sonde/symbol.h>
#include <sonde/text.h>
#include <sonde/thread.h>

#include "workers.h"

void sim_set_queue(void *queue);
extern uint64_t sim_labels_while_running;

enum { FRAMES = 100, ROUNDS = 300, PAGE = 1 << 14 };
static const char label[] = "com.example.\xc3\xbc\xc3\xbc.parser";
/* 62 bytes before a character of two */
static const char long_label[] =
    "com.example.12345678901234567890123456789012345678901234567890\xc3\xbc.more";

static struct sonde_thread described(uint64_t tid)
{
    struct sonde_thread threads[16] = {{.struct_bytes = sizeof threads[0]}};
    uint32_t count = 0;
    CHECK(sonde_threads_list(threads, 16, &count) == SONDE_OK);
    for (uint32_t i = 0; i < count && i < 16; i++) {
        if (threads[i].tid == tid) {
            return threads[i];
        }
    }
    CHECK(!"the thread is listed");
    return threads[0];
}

/* --- the calling thread --- */

static void check_own_inside(void *context)
{
    struct sonde_thread self = described(sonde_thread_self());
    CHECK(strcmp(self.queue, label) == 0);
    CHECK(self.stack_start < (uintptr_t)&self && (uintptr_t)&self < self.stack_end);
    *(int *)context += 1;
}

static void check_own(dispatch_queue_t queue)
{
    int runs = 0;
    CHECK(strcmp(described(sonde_thread_self()).queue, "") == 0);
    dispatch_sync_f(queue, &runs, check_own_inside);
    CHECK(runs == 1 && strcmp(described(sonde_thread_self()).queue, "") == 0);
    check_nothing_is_left();
}

/* --- another one --- */

static struct task {
    pthread_t thread;
    dispatch_queue_t queue;
    void *noted; /* instead, if not null */
    uint64_t tid, local;
    volatile int is_ready, is_over;
} task;

static void spin(void *context)
{
    struct task *of = context;
    int local = 0;
    of->local = (uintptr_t)&local;
    if (of->noted != NULL) {
        sim_set_queue(of->noted);
    }
    of->is_ready = 1;
    while (!of->is_over) {
    }
}

static void *run(void *argument)
{
    task.tid = sonde_thread_self();
    if (task.queue != NULL) {
        dispatch_sync_f(task.queue, &task, spin);
    } else {
        spin(&task);
    }
    return argument;
}

static void begin(dispatch_queue_t queue, void *noted)
{
    task = (struct task){.queue = queue, .noted = noted};
    CHECK(pthread_create(&task.thread, NULL, run, NULL) == 0);
    while (!task.is_ready) {
        usleep(10);
    }
}

static void end(void)
{
    task.is_over = 1;
    pthread_join(task.thread, NULL);
    check_nothing_is_left();
}

static void check_other(dispatch_queue_t queue, void *noted, const char *expected)
{
    begin(queue, noted);
    struct sonde_thread other = described(task.tid);
    CHECK(strcmp(other.queue, expected) == 0);
    CHECK(other.stack_start < task.local && task.local < other.stack_end);
    CHECK(other.stack_end - other.stack_start == pthread_get_stacksize_np(task.thread));
    end();
}

/* Whatever fails, the rest is listed. */
static void check_faults(dispatch_queue_t queue)
{
    begin(queue, NULL);
    sim_suspend_result = KERN_FAILURE;
    CHECK(strcmp(described(task.tid).queue, "") == 0);
    sim_suspend_result = KERN_SUCCESS;
    for (int64_t left = 0; left < 3; left++) {
        sim_reads_left = left;
        CHECK(strcmp(described(task.tid).queue, "") == 0 && described(task.tid).stack_end != 0);
    }
    sim_reads_left = -1;
    CHECK(strcmp(described(task.tid).queue, label) == 0);
    end();
}

/* --- all ways, and two threads at once --- */

static unsigned seen;
static int take(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *of,
                const struct sonde_captured *with)
{
    (void)ctx, (void)of;
    seen += with->status == SONDE_OK && thread->tid == task.tid &&
            strcmp(thread->queue, label) == 0 && thread->stack_end > task.local;
    return 0;
}

/* The text of all threads has the label in the heading of its thread. */
static void check_text(dispatch_queue_t queue)
{
    struct sonde_symbolizer *symbolizer = NULL;
    char heading[200];
    begin(queue, NULL);
    CHECK(sonde_symbolizer_create(&symbolizer) == SONDE_OK);
    CHECK(sonde_threads_write(symbolizer, SONDE_STYLE_SONDE, append, NULL) == SONDE_OK);
    sonde_symbolizer_destroy(symbolizer);
    snprintf(heading, sizeof heading, "thread %llu  queue %s\n", (unsigned long long)task.tid,
             label);
    CHECK(strstr(text, heading) != NULL);
    CHECK(strstr(strstr(text, "  queue ") + 1, "  queue ") == NULL);
    end();
}

static void check_captures(dispatch_queue_t queue)
{
    static uint64_t pcs[FRAMES];
    static uint8_t how[FRAMES];
    struct sonde_stack stack;
    begin(queue, NULL);
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    CHECK(sonde_threads_capture(NULL, &stack, take, NULL) == SONDE_OK && seen == 1);
    CHECK(sonde_threads_snapshot(NULL, &stack, take, NULL, NULL) == SONDE_OK && seen == 2);
    end();
}

static void *list_often(void *argument)
{
    struct sonde_thread threads[16] = {{.struct_bytes = sizeof threads[0]}};
    uint32_t count;
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK(sonde_threads_list(threads, 16, &count) == SONDE_OK && count >= 2);
    }
    return argument;
}

static void check_duel(void)
{
    pthread_t both[2];
    for (unsigned i = 0; i < 2; i++) {
        CHECK(pthread_create(&both[i], NULL, list_often, NULL) == 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(both[i], NULL);
    }
    /* one of them allocates while the other one has stopped this thread: it may */
    sim_allocations_while_suspended = sim_maps_while_suspended = 0;
    check_nothing_is_left();
}

/* A label at the end of readable memory. */
static const char *at_the_end(const char *of)
{
    vm_address_t pages = 0;
    CHECK(vm_allocate(mach_task_self(), &pages, (vm_size_t)2 * PAGE, VM_FLAGS_ANYWHERE) ==
          KERN_SUCCESS);
    CHECK(vm_deallocate(mach_task_self(), pages + PAGE, PAGE) == KERN_SUCCESS);
    char *place = (char *)pages + PAGE - strlen(of) - 1;
    memcpy(place, of, strlen(of) + 1);
    return place;
}

int main(void)
{
    static uint64_t no_queue[2] = {1, 1};
    dispatch_queue_t queue = dispatch_queue_create(label, NULL);
    check_own(queue);
    check_other(queue, NULL, label);
    check_other(NULL, NULL, "");
    check_other(dispatch_queue_create(NULL, NULL), NULL, "");
    check_other(dispatch_queue_create((const char *)16, NULL), NULL, "");
    check_other(dispatch_queue_create(at_the_end(label), NULL), NULL, label);
    CHECK(strlen(long_label) > 64);
    check_other(dispatch_queue_create(long_label, NULL), NULL,
                "com.example.12345678901234567890123456789012345678901234567890");
    check_other(queue, (void *)16, "");
    check_other(queue, (void *)at_the_end((const char *)no_queue), "");
    check_faults(queue);
    check_captures(queue);
    check_text(queue);
    check_duel();
    CHECK(sim_labels_while_running == 0);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
