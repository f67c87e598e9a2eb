// SPDX-License-Identifier: Apache-2.0
/* The calling thread's stack without an image snapshot: the walk finds every frame through the
 * loader. The oracle is libgcc's unwinder, called by glibc's backtrace(). */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <sonde/stack.h>

#include "test.h"

enum { DEPTH = 128 };

struct pair {
    struct sonde_stack stack;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    void *oracle[DEPTH];
    int oracle_count;
};

static struct pair pair;

/* libc's own: a sanitizer interposes another one. */
static int (*real_backtrace)(void **, int);

static __attribute__((noinline)) void both(struct pair *p)
{
    sonde_stack_init(&p->stack, p->pcs, p->how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&p->stack, 0));
    p->oracle_count = real_backtrace(p->oracle, DEPTH);
}

/* glibc loads libgcc at the first call; that would look like a leak of each test. */
static __attribute__((constructor)) void load_oracle(void)
{
    void *pc;
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    real_backtrace = (int (*)(void **, int))(uintptr_t)dlsym(libc, "backtrace");
    real_backtrace(&pc, 1);
}

/* Compare all frames but the first: it is the return address of another call in this function. */
static void check_same_frames(const struct pair *p)
{
    CHECK_EQ(p->stack.count, p->oracle_count);
    for (int i = 1; i < p->oracle_count; i++) {
        CHECK_EQ(p->pcs[i], (uintptr_t)p->oracle[i]);
    }
    CHECK_EQ(p->how[0] & SONDE_HOW_FOUND_MASK, SONDE_FOUND_REGISTERS);
    CHECK_EQ(p->how[0] & SONDE_HOW_EXACT, 0);
}

static void check_same(const struct pair *p)
{
    check_same_frames(p);
    CHECK_EQ(p->stack.end, SONDE_END_ROOT);
}

static __attribute__((noinline)) int deeper(int n, void (*leaf)(struct pair *))
{
    volatile char frame[64 + 16 * 3];
    frame[0] = (char)n;
    if (n == 0) {
        leaf(&pair);
    } else {
        frame[1] = (char)deeper(n - 1, leaf);
    }
    return frame[0];
}

TEST(equals_backtrace)
{
    deeper(20, both);
    CHECK(pair.stack.count > 20);
    check_same(&pair);
}

static int compare(const void *a, const void *b)
{
    if (pair.oracle_count == 0) {
        both(&pair);
    }
    return *(const int *)a - *(const int *)b;
}

TEST(through_code_of_libc)
{
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof numbers[0], compare);
    check_same(&pair);
}

static void *thread_main(void *arg)
{
    (void)arg;
    deeper(5, both);
    return NULL;
}

TEST(of_a_thread)
{
    pthread_t thread;
    CHECK_OK(pthread_create(&thread, NULL, thread_main, NULL));
    pthread_join(thread, NULL);
    check_same(&pair);
}

static __attribute__((noinline)) void *here(void)
{
    return __builtin_return_address(0);
}

static __attribute__((noinline)) void first_frame(struct pair *p)
{
    void *near = here();
    CHECK_OK(sonde_stack_capture(&p->stack, 0));
    CHECK(p->pcs[0] - (uintptr_t)near < 128);
}

TEST(depth_one_and_skip)
{
    uint64_t whole[DEPTH];
    uint32_t count;
    both(&pair);
    count = pair.stack.count;
    memcpy(whole, pair.pcs, sizeof whole);
    for (uint32_t skip = 0; skip < count; skip++) {
        sonde_stack_init(&pair.stack, pair.pcs, pair.how, DEPTH, 0);
        CHECK_OK(sonde_stack_capture(&pair.stack, skip));
        CHECK_EQ(pair.stack.count, count - 1 - skip); /* both() was a frame */
        CHECK(memcmp(pair.pcs + (skip == 0), whole + 1 + skip + (skip == 0),
                     (pair.stack.count - (skip == 0)) * 8) == 0);
    }
    sonde_stack_init(&pair.stack, pair.pcs, pair.how, 1, 0);
    first_frame(&pair);
    CHECK_EQ(pair.stack.count, 1);
    CHECK_EQ(pair.stack.end, SONDE_END_DEPTH);
}

/* Frames left out are counted, whether outermost frames are kept or not. */
static __attribute__((noinline)) void check_count(uint32_t capacity, uint32_t outer, uint32_t skip)
{
    struct pair cut;
    sonde_stack_init(&cut.stack, cut.pcs, cut.how, capacity, outer);
    CHECK_OK(sonde_stack_capture(&cut.stack, skip));
    CHECK_OK(sonde_stack_capture(
        (sonde_stack_init(&pair.stack, pair.pcs, pair.how, DEPTH, 0), &pair.stack), skip));
    CHECK_EQ(pair.stack.end, SONDE_END_ROOT);
    CHECK(pair.stack.count > 12);
    CHECK_EQ(cut.stack.count, capacity);
    CHECK_EQ(cut.stack.count + cut.stack.lost_count, pair.stack.count);
    CHECK_EQ(cut.stack.lost_at, capacity - outer);
    CHECK_EQ(cut.stack.end, outer == 0 ? SONDE_END_DEPTH : SONDE_END_ROOT);
}

static __attribute__((noinline)) unsigned count_below(unsigned depth)
{
    if (depth > 0) {
        unsigned below = count_below(depth - 1);
        __asm__ volatile("" : "+r"(below)); /* no loop */
        return below + 1;
    }
    for (uint32_t capacity = 1; capacity < 8; capacity++) {
        for (uint32_t outer = 0; outer < capacity; outer++) {
            for (uint32_t skip = 0; skip < 3; skip++) {
                check_count(capacity, outer, skip);
            }
        }
    }
    return 0;
}

TEST(frames_that_are_left_out_are_counted)
{
    CHECK_EQ(count_below(10), 10);
    CHECK_OK(sonde_stack_prepare());
    CHECK_EQ(count_below(10), 10);
}

TEST(no_arrays_is_a_status)
{
    uint64_t pc;
    uint8_t how;
    struct sonde_stack stack;
    sonde_stack_init(&stack, &pc, &how, 1, 0);
    CHECK_EQ((sonde_stack_capture)(NULL, 0), SONDE_USAGE);
    CHECK_EQ(sonde_stack_capture_ucontext(&stack, NULL, 0), SONDE_USAGE);
    CHECK_EQ(sonde_stack_capture_registers(&stack, NULL, 0), SONDE_USAGE);
    stack.capacity = 0;
    CHECK_EQ((sonde_stack_capture)(&stack, 0), SONDE_USAGE);
}

static struct sonde_stack from_context;
static uint64_t context_pcs[DEPTH];
static uint8_t context_how[DEPTH];

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    sonde_stack_init(&from_context, context_pcs, context_how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture_ucontext(&from_context, context, 0));
    both(&pair);
}

static void check_handler_stacks(void)
{
    uint32_t trampoline = 0;
    check_same(&pair);
    while (trampoline < pair.stack.count && (pair.how[trampoline] & SONDE_HOW_SIGNAL) == 0) {
        trampoline++;
    }
    CHECK(trampoline + 1 < pair.stack.count);
    CHECK(pair.how[trampoline + 1] & SONDE_HOW_EXACT);
    CHECK_EQ(from_context.count, pair.stack.count - trampoline - 1);
    CHECK(memcmp(context_pcs, pair.pcs + trampoline + 1, from_context.count * 8) == 0);
    CHECK(context_how[0] & SONDE_HOW_EXACT);
}

TEST(in_a_handler_and_from_its_ucontext)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    check_handler_stacks();
}

TEST(in_a_handler_on_an_alternate_stack)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t alternate = {.ss_size = 65536};
    alternate.ss_sp =
        mmap(NULL, alternate.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK_OK(sigaltstack(&alternate, NULL));
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    check_handler_stacks();
}

static ucontext_t back, fiber;
static void fiber_main(void)
{
    deeper(3, both);
    swapcontext(&fiber, &back);
}

/* The fiber's stack ends at unmapped memory on both sides. */
TEST(on_a_coroutine_of_one_page)
{
    char *pages = mmap(NULL, 10 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK_OK(mprotect(pages + 4096, 8 * 4096, PROT_READ | PROT_WRITE));
    CHECK_OK(getcontext(&fiber));
    fiber.uc_stack.ss_sp = pages + 4096;
    fiber.uc_stack.ss_size = 8 * 4096;
    makecontext(&fiber, fiber_main, 0);
    CHECK_OK(swapcontext(&back, &fiber));
    check_same(&pair); /* the frame below the first function is __start_context's first byte */
}

TEST(given_registers)
{
    struct sonde_registers registers = {0};
    ucontext_t context;
    CHECK_OK(getcontext(&context));
#if defined(__x86_64__)
    registers.pc = (uint64_t)context.uc_mcontext.gregs[REG_RIP];
    registers.sp = (uint64_t)context.uc_mcontext.gregs[REG_RSP];
    registers.fp = (uint64_t)context.uc_mcontext.gregs[REG_RBP];
#else
    registers.pc = context.uc_mcontext.pc;
    registers.sp = context.uc_mcontext.sp;
    registers.fp = context.uc_mcontext.regs[29];
    registers.lr = context.uc_mcontext.regs[30];
#endif
    registers.known = SONDE_REGISTERS_FP | SONDE_REGISTERS_LR | SONDE_REGISTERS_EXACT;
    both(&pair);
    sonde_stack_init(&from_context, context_pcs, context_how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture_registers(&from_context, &registers, 0));
    CHECK_EQ(from_context.count, pair.stack.count - 1); /* both() was a frame */
    CHECK(memcmp(context_pcs + 1, pair.pcs + 2, (from_context.count - 1) * 8) == 0);
}

#if defined(__x86_64__)
/* Only rbp locates its frame, not sp. */
static __attribute__((noinline)) void *with_frame_pointer(volatile size_t size)
{
    volatile char *room = __builtin_alloca(size);
    uint64_t *record = __builtin_frame_address(0);
    struct sonde_registers registers = {.fp = (uint64_t)(uintptr_t)record,
                                        .known = SONDE_REGISTERS_FP | SONDE_REGISTERS_EXACT};
    room[0] = 1;
    __asm__ volatile("lea 0(%%rip), %0; mov %%rsp, %1" /* not in the prologue */
                     : "=r"(registers.pc), "=r"(registers.sp)
                     : "r"(room)
                     : "memory");
    sonde_stack_init(&from_context, context_pcs, context_how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture_registers(&from_context, &registers, 0));
    CHECK_EQ(from_context.end, SONDE_END_ROOT);
    CHECK_EQ(context_pcs[1], record[1]);
    registers.known = SONDE_REGISTERS_FP; /* the code of an outer frame proves nothing */
    CHECK_OK(sonde_stack_capture_registers(&from_context, &registers, 0));
    CHECK_EQ(from_context.end, SONDE_END_ROOT);
    CHECK_EQ(context_pcs[1], record[1]);
    CHECK_EQ(context_how[0] & SONDE_HOW_EXACT, 0);
    registers.known = SONDE_REGISTERS_FP | SONDE_REGISTERS_EXACT;
    /* at the first instruction of a function that nobody has called: the byte before belongs to
     * another function or to none */
    registers.pc = (uint64_t)(uintptr_t)&deeper;
    registers.sp = (uint64_t)(uintptr_t)(record + 1);
    registers.fp = record[0];
    CHECK_OK(sonde_stack_capture_registers(&from_context, &registers, 0));
    CHECK_EQ(from_context.end, SONDE_END_ROOT);
    CHECK_EQ(context_pcs[0], (uintptr_t)&deeper);
    CHECK_EQ(context_pcs[1], record[1]);
    CHECK((context_how[0] & SONDE_HOW_EXACT) != 0);
    return (void *)(uintptr_t)room[0];
}

TEST(each_given_register_counts)
{
    CHECK(with_frame_pointer(100) != NULL);
}
#endif

/* Two functions with frame pointers: the record of the inner one leads to the outer one. */
static __attribute__((noinline)) void record_of_this(void)
{
    sonde_stack_init(&from_context, context_pcs, context_how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture_frame(&from_context,
                                       (uint64_t)(uintptr_t)__builtin_frame_address(0), 0));
    both(&pair);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

TEST(from_a_frame_pointer)
{
    record_of_this();
    CHECK_EQ(from_context.end, SONDE_END_ROOT);
    CHECK_EQ(from_context.count, pair.stack.count - 2); /* both() and record_of_this() */
    CHECK(memcmp(context_pcs, pair.pcs + 2, from_context.count * 8) == 0);
    CHECK_EQ(context_how[0] & SONDE_HOW_EXACT, 0);
    uint32_t whole = from_context.count;
    CHECK_OK(sonde_stack_capture_frame(&from_context, 8, 0));
    CHECK_EQ(from_context.count, 0);
    CHECK_EQ(from_context.end, SONDE_END_UNREADABLE);
    CHECK_EQ(from_context.end_at, 8);
    CHECK_OK(sonde_stack_capture_frame(&from_context,
                                       (uint64_t)(uintptr_t)__builtin_frame_address(0), whole + 5));
    CHECK_EQ(from_context.count, 0); /* more frames skipped than exist */
    CHECK_EQ(sonde_stack_capture_frame(NULL, 8, 0), SONDE_USAGE);
    for (uint64_t at = (uint64_t)(uintptr_t)&pair; at < (uint64_t)(uintptr_t)(&pair + 1); at += 3) {
        CHECK_OK(sonde_stack_capture_frame(&from_context, at, 0)); /* garbage: the walk ends */
    }
}

static void record_of_leaf(struct pair *p)
{
    (void)p;
    record_of_this();
    __asm__ volatile("" ::: "memory");
}

/* The outer functions have no frame pointer: the frame record's address locates their frames. */
TEST(from_a_frame_pointer_into_functions_without)
{
    deeper(5, record_of_leaf);
    CHECK_EQ(from_context.end, SONDE_END_ROOT);
    CHECK_EQ(from_context.count, pair.stack.count - 2);
    CHECK(memcmp(context_pcs, pair.pcs + 2, from_context.count * 8) == 0);
}

TEST(garbage_registers_end_somewhere)
{
    const uint64_t values[] = {0,
                               1,
                               8,
                               0xfff,
                               0x7fffffffffff,
                               UINT64_MAX,
                               UINT64_MAX - 7,
                               (uint64_t)(uintptr_t)&context_pcs,
                               (uint64_t)(uintptr_t)&both,
                               (uint64_t)(uintptr_t)&values};
    enum { N = sizeof values / sizeof values[0] };
    for (unsigned i = 0; i < N * N * N; i++) {
        struct sonde_registers registers = {
            .pc = values[i % N], .sp = values[i / N % N], .fp = values[i / N / N]};
        registers.known = i & 7;
        sonde_stack_init(&from_context, context_pcs, context_how, DEPTH, 16);
        CHECK_OK(sonde_stack_capture_registers(&from_context, &registers, 0));
        CHECK(from_context.count <= DEPTH);
    }
}

TEST(errno_is_kept)
{
    errno = 77;
    both(&pair);
    errno = 77;
    CHECK_OK(sonde_stack_capture(&pair.stack, 0));
    CHECK_EQ(errno, 77);
}

TEST(texts_of_the_enums)
{
    CHECK_STR(sonde_found_text(SONDE_FOUND_CFI), "cfi");
    CHECK_STR(sonde_end_text(SONDE_END_ROOT), "root");
}
