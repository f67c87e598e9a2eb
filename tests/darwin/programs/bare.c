// SPDX-License-Identifier: Apache-2.0
/* Threads stopped in assembler without unwind information: a leaf function, one that keeps a frame
 * and has made a call, and one that uses the link register for something else. The stack must have
 * the caller, or end there: nobody could see that a stack to the root lacks it. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "capture_stopped.h"

enum { FRAMES = 50, ROUNDS = 20 };

static unsigned mistakes;

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : (void)(mistakes++, printf("line %d: %s\n", __LINE__, #condition)))

struct job {
    uint32_t is_ready, is_over;
    uint64_t tid;
    void (*function)(struct job *job);
    uint64_t noted[3]; /* return addresses: of call() in work(), of work() in its caller */
};

void spin_leaf(struct job *job), spin_framed(struct job *job), spin_scratch(struct job *job);

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl _spin_leaf, _spin_framed, _spin_scratch\n"
        "_spin_leaf:\n"
        "movl $1, (%rdi)\n"
        "1: cmpl $0, 4(%rdi)\n"
        "je 1b\n"
        "ret\n"
        "_spin_framed:\n"
        "pushq %rbp\n"
        "movq %rsp, %rbp\n"
        "callq _return_at_once\n"
        "movl $1, (%rdi)\n"
        "1: cmpl $0, 4(%rdi)\n"
        "je 1b\n"
        "popq %rbp\n"
        "ret\n"
        "_return_at_once:\n"
        "ret\n"
        "_spin_scratch:\n"
        "pushq %rbx\n"
        "subq $32, %rsp\n"
        "movl $1, (%rdi)\n"
        "1: cmpl $0, 4(%rdi)\n"
        "je 1b\n"
        "addq $32, %rsp\n"
        "popq %rbx\n"
        "ret\n");
#else
__asm__(".text\n"
        ".p2align 2\n"
        ".globl _spin_leaf, _spin_framed, _spin_scratch\n"
        "_spin_leaf:\n"
        "mov w1, #1\n"
        "str w1, [x0]\n"
        "1: ldr w1, [x0, #4]\n"
        "cbz w1, 1b\n"
        "ret\n"
        "_spin_framed:\n"
        "stp x29, x30, [sp, #-16]!\n"
        "mov x29, sp\n"
        "bl _return_at_once\n"
        "mov w1, #1\n"
        "str w1, [x0]\n"
        "1: ldr w1, [x0, #4]\n"
        "cbz w1, 1b\n"
        "ldp x29, x30, [sp], #16\n"
        "ret\n"
        "_return_at_once:\n"
        "ret\n"
        "_spin_scratch:\n"
        "mov x2, x30\n"
        "mov x30, #0\n"
        "mov w1, #1\n"
        "str w1, [x0]\n"
        "1: ldr w1, [x0, #4]\n"
        "cbz w1, 1b\n"
        "mov x30, x2\n"
        "ret\n");
#endif

#define NOTE(job_, at_) ((job_)->noted[at_] = (uint64_t)(uintptr_t)__builtin_return_address(0))

/* The caller of the assembler: its own pc is not noted, but is in this function. */
__attribute__((noinline)) static void call(struct job *job)
{
    NOTE(job, 0);
    job->function(job);
    job->is_over++;
}

__attribute__((noinline)) static void call_by_name(struct job *job)
{
    NOTE(job, 0);
    spin_leaf(job);
    job->is_over++;
}

static void *work(void *argument)
{
    struct job *job = argument;
    NOTE(job, 1);
    job->tid = sonde__os_tid();
    (job->function != NULL ? call : call_by_name)(job);
    job->is_over++;
    return argument;
}

enum answer { WHOLE, WHOLE_BY_FP, UNKNOWN };

/* x86-64: the search for the caller of such code has a limit of work, which is raised from walk to
 * walk, for each pc. The walk says so. */
static int is_costly(const struct sonde_stack *stack)
{
    return stack->count == 1 && stack->end == SONDE_END_COSTLY;
}

/* Of a function that changes lr the caller is unknown; x86-64 finds it by the code. */
static int is_honest(const struct sonde_stack *stack, int is_whole)
{
#if defined(__x86_64__)
    (void)stack;
    return is_whole;
#else
    return !is_whole && stack->count == 1 && stack->end == SONDE_END_NO_RULE;
#endif
}

static int is_in(uint64_t pc, void (*function)(struct job *job))
{
    return pc - (uint64_t)(uintptr_t)function < 100;
}

/* Frame 0 in the assembler, its caller, then the noted ones up to the root. */
static int is_whole(const struct sonde_stack *stack, const struct job *job,
                    enum sonde_found_by found)
{
    void (*caller)(struct job * job) = job->function != NULL ? call : call_by_name;
    return stack->count == 4 && stack->end == SONDE_END_ROOT && is_in(stack->pcs[1], caller) &&
           stack->pcs[2] == job->noted[0] && stack->pcs[3] == job->noted[1] &&
           (stack->how[1] & SONDE_HOW_FOUND_MASK) == (unsigned)found;
}

static void check(const char *what, void (*function)(struct job *job), enum answer answer)
{
    static uint64_t pcs[FRAMES];
    static uint8_t how[FRAMES];
    struct job job = {.function = function};
    pthread_t thread;
    unsigned before = mistakes;
    int costly_left = answer == UNKNOWN ? 6 : 2; /* four and one were seen */
    CHECK(pthread_create(&thread, NULL, work, &job) == 0);
    while (*(volatile uint32_t *)&job.is_ready == 0) {
        usleep(10);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct sonde__stopped stopped = {0};
        CHECK(sonde__os_stop_open(job.tid, &stopped.stop) == SONDE_OK);
        sonde_stack_init(&stopped.stack, pcs, how, FRAMES, 0);
        sonde__capture_stopped(&stopped, 1);
        sonde__os_stop_close(&stopped.stop);
        const struct sonde_stack *stack = &stopped.stack;
        CHECK(stopped.status == SONDE_OK);
        enum sonde_found_by found = answer == WHOLE_BY_FP ? SONDE_FOUND_FP : SONDE_FOUND_INFERRED;
        int whole = is_whole(stack, &job, found);
        whole = whole || (is_costly(stack) && costly_left-- > 0);
        CHECK(answer == UNKNOWN ? is_honest(stack, whole) : whole);
        if (mistakes != before) {
            before = mistakes;
            for (unsigned k = 0; k < stack->count; k++) {
                printf("%u: %lx\n", (unsigned)how[k], (unsigned long)pcs[k]);
            }
            printf("end %u in %s\n", (unsigned)stack->end, what);
        }
    }
    __atomic_store_n(&job.is_over, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
}

int main(void)
{
    check("a leaf, called by name", NULL, WHOLE);
    check("a leaf, called by a pointer", spin_leaf, WHOLE);
    check("a frame", spin_framed, WHOLE_BY_FP);
    check("pushed words, or a changed link register", spin_scratch, UNKNOWN);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
