// SPDX-License-Identifier: Apache-2.0
/* Calls through thunks, with every kind of signature and a recorder that overwrites every register
 * that it may. Arguments, results and return addresses are the same as without the hook. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "hook_callees.h"
#include "hook_recorders.h"
#include "test.h"

static uint32_t hooks_used;

static void *thunk_of(const void *function)
{
    uint32_t index = hooks_used++;
    struct sonde__probe_hook *hook = &sonde__probe_hooks[index];
    atomic_store(&hook->target, (uint64_t)(uintptr_t)function);
    hook->function = 1000 + index;
    atomic_store(&hook->on, 1);
    sonde__probe_hook_set_recorder(hook_wreck);
    return (void *)(uintptr_t)sonde__probe_hook_thunk(index);
}

/* A pointer of the function's type, opaque to the compiler. */
#define HOOKED(function)                                                                           \
    ((__typeof__(&(function)))({                                                                   \
        void *thunk_ = thunk_of((const void *)(function));                                         \
        __asm__ volatile("" : "+r"(thunk_));                                                       \
        thunk_;                                                                                    \
    }))

TEST(integers_and_the_stack)
{
    for (int i = 0; i < 3; i++) {
        CHECK(HOOKED(callee_longs)(1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12) ==
              0x1122334455667788);
    }
    CHECK_EQ(hook_calls, 3);
    CHECK_EQ(hook_function, 1002);
}

TEST(doubles)
{
    CHECK(HOOKED(callee_doubles)(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5) == -0.125);
    CHECK_EQ(hook_calls, 1);
}

TEST(mixed_kinds)
{
    CHECK(HOOKED(callee_mixed)(-1, 2.25f, 3L << 40, 4e100, 'e', 6.5f, -7, 8e-100, (void *)9, 10.75f,
                               11, 12, 13) == 14.5);
}

TEST(variable_arguments)
{
    static const char kinds[] = "didldddddddDilldd";
    double plain = callee_varargs(kinds, 1.5, 2, 3.5, 4L, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5,
                                  12.5L, 13, 14L, 15L, 16.5, 17.5);
    double hooked = HOOKED(callee_varargs)(kinds, 1.5, 2, 3.5, 4L, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5,
                                           11.5, 12.5L, 13, 14L, 15L, 16.5, 17.5);
    CHECK(plain == hooked && plain > 1e7);
    CHECK(HOOKED(callee_varargs)("i", 3) == 3);
}

static double pass_list(double (*function)(const char *, va_list), const char *kinds, ...)
{
    va_list list;
    va_start(list, kinds);
    double sum = function(kinds, list);
    va_end(list);
    return sum;
}

TEST(a_list_of_arguments)
{
    CHECK(pass_list(HOOKED(callee_va_list), "didl", 1.5, 2, 3.5, 4L) ==
          pass_list(callee_va_list, "didl", 1.5, 2, 3.5, 4L));
}

TEST(long_doubles)
{
    CHECK(HOOKED(callee_long_double)(1.0L / 3, 77, -1e4000L) == 2.0L / 3);
}

TEST(integers_of_128_bits)
{
    CHECK(HOOKED(callee_int128)(-((__int128)1 << 100), 5, ((__int128)7 << 90) + 9,
                                ~(unsigned __int128)0 - 3) ==
          ((__int128)0x0123456789abcdef << 64) + 0x1edcba9876543210);
}

TEST(complex_numbers)
{
    double complex number = HOOKED(callee_complex)(1.25 - 2.5 * I, 3.5f - 4.5f * I);
    CHECK(creal(number) == 5.75 && cimag(number) == 6.25);
    long double complex wide = HOOKED(callee_long_complex)(1.0L / 3 + 2.0L / 3 * I);
    CHECK(creall(wide) == 4.0L / 3 && cimagl(wide) == 5.0L / 3);
}

TEST(structs_in_registers)
{
    struct small_mixed mixed =
        HOOKED(callee_small_mixed)((struct small_mixed){11, 0.375}, (struct small_longs){12, 13});
    CHECK(mixed.whole == 14 && mixed.part == 0.625);
    struct small_longs longs = HOOKED(callee_small_longs)(1L << 60, -5);
    CHECK(longs.a == -5 && longs.b == 1L << 60);
}

TEST(structs_of_equal_floats)
{
    struct four_doubles four = HOOKED(callee_four_doubles)((struct four_doubles){1, 2, 3, 4},
                                                           (struct three_floats){5, 6, 7});
    CHECK(four.a == 8 && four.b == 9 && four.c == 10 && four.d == 11);
}

TEST(structs_in_memory)
{
    struct big a;
    struct big c;
    for (int i = 0; i < 9; i++) {
        a.words[i] = i;
        c.words[i] = 100 + i;
    }
    struct big sum = HOOKED(callee_big)(a, 42, c);
    for (int i = 0; i < 9; i++) {
        CHECK_EQ(sum.words[i], 1000 + i);
    }
}

#define LANES2(value)                                                                              \
    {                                                                                              \
        (value), (value) + 1                                                                       \
    }
#define LANES4(value)                                                                              \
    {                                                                                              \
        (value), (value) + 1, (value) + 2, (value) + 3                                             \
    }
#define LANES8(value)                                                                              \
    {                                                                                              \
        (value), (value) + 1, (value) + 2, (value) + 3, (value) + 4, (value) + 5, (value) + 6,     \
            (value) + 7                                                                            \
    }

TEST(vectors_of_16_bytes)
{
    vector16 a = LANES2(10), b = LANES2(20), c = LANES2(30), d = LANES2(40), e = LANES2(50);
    vector16 f = LANES2(60), g = LANES2(70), h = LANES2(80), i = LANES2(90);
    vector16 sum = HOOKED(callee_vector16)(a, b, c, d, e, f, g, h, i);
    CHECK(sum[0] == 100 && sum[1] == 102);
}

#if defined(__x86_64__)
static __attribute__((target("avx2"), noinline)) void call_vector32(void)
{
    vector32 a = LANES4(10), b = LANES4(20), c = LANES4(30), d = LANES4(40);
    vector32 e = LANES4(50), f = LANES4(60), g = LANES4(70), h = LANES4(80);
    vector32 sum = HOOKED(callee_vector32)(a, b, c, d, e, f, g, h);
    CHECK(sum[0] == 90 && sum[1] == 92 && sum[2] == 94 && sum[3] == 96);
}

TEST(vectors_of_32_bytes)
{
    if (!__builtin_cpu_supports("avx2")) {
        SKIP("the processor has no AVX2");
    }
    call_vector32();
}

static __attribute__((target("avx512f"), noinline)) void call_vector64(void)
{
    vector64 a = LANES8(10), b = LANES8(20), c = LANES8(30), d = LANES8(40);
    vector64 e = LANES8(50), f = LANES8(60), g = LANES8(70), h = LANES8(80);
    vector64 sum = HOOKED(callee_vector64)(a, b, c, d, e, f, g, h);
    for (int i = 0; i < 8; i++) {
        CHECK(sum[i] == 90 + 2 * i);
    }
}

TEST(vectors_of_64_bytes)
{
    if (!__builtin_cpu_supports("avx512f")) {
        SKIP("the processor has no AVX-512");
    }
    call_vector64();
}
#endif

static long (*inner)(long (*callback)(long), long value);

static long twice(long value)
{
    return 2 * value;
}

static long callback_that_calls(long value)
{
    return inner(twice, value) + 100;
}

TEST(callbacks_that_call_hooked_functions)
{
    inner = HOOKED(callee_callback);
    long (*callback)(long) = HOOKED(callback_that_calls);
    CHECK_EQ(HOOKED(callee_callback)(callback, 5), (5 + 1 + 1) * 2 + 1 + 100 + 1);
    CHECK_EQ(hook_calls, 3);
}

/* The compiler must know which functions return twice; these are the first thunk. */
extern int hooked_setjmp(jmp_buf) __asm__("sonde__probe_thunks") __attribute__((returns_twice));
extern pid_t hooked_vfork(void) __asm__("sonde__probe_thunks") __attribute__((returns_twice));

TEST(setjmp_and_longjmp)
{
    static jmp_buf where;
    static volatile int returns;
    (void)HOOKED(_setjmp);
    volatile long kept = 1234;
    int value = hooked_setjmp(where);
    returns++;
    CHECK_EQ(kept, 1234);
    if (value == 0) {
        HOOKED(callee_jumps)(where, 7);
    }
    CHECK_EQ(value, 7);
    CHECK_EQ(returns, 2);
    CHECK_EQ(hook_calls, 2);
}

/* Between vfork and exec the child works on its parent's stack. */
TEST(vfork_returns_twice)
{
    static volatile int in_child;
    (void)HOOKED(vfork);
    pid_t pid = hooked_vfork();
    if (pid == 0) {
        in_child = 1;
        _exit(3);
    }
    int status = 0;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    int hooked = in_child;
    in_child = 0;
    pid = vfork();
    if (pid == 0) {
        in_child = 1;
        _exit(3);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_EQ(hooked, in_child); /* emulators turn vfork into fork */
}

/* The caller as the function sees it, by its return address (RTLD_NEXT depends on it). */
static __attribute__((noinline)) void *ask_caller(void *(*function)(void))
{
    void *caller = function();
    __asm__ volatile("" : "+r"(caller));
    return caller;
}

TEST(the_caller_is_the_caller)
{
    CHECK(ask_caller(callee_caller) == ask_caller(HOOKED(callee_caller)));
    CHECK_EQ(hook_calls, 1);
    CHECK_EQ(hook_regs.pc, (uint64_t)(uintptr_t)ask_caller(callee_caller));
}

/* A call with a value in a register that passes no argument in C. */
#if defined(__x86_64__)
#    define CALL_WITH(function, name, value, ret_result)                                           \
        __asm__ volatile("movq %%rsp, %%rbx\n\tandq $-16, %%rsp\n\tsubq $256, %%rsp\n\t"           \
                         "movabsq $" #value ", %%" name "\n\tcall *%1\n\tmovq %%rbx, %%rsp"        \
                         : "=&a"(ret_result)                                                       \
                         : "r"(function)                                                           \
                         : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc",      \
                           "memory")
#else
#    define CALL_WITH(function, name, value, ret_result)                                           \
        __asm__ volatile("ldr " name ", =" #value "\n\tblr %1\n\tmov %0, x0"                       \
                         : "=r"(ret_result)                                                        \
                         : "r"(function)                                                           \
                         : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",      \
                           "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x30", "cc",    \
                           "memory")
#endif

TEST(the_static_chain_arrives)
{
    uint64_t (*function)(void) = HOOKED(callee_chain);
    uint64_t chain = 0;
#if defined(__x86_64__)
    CALL_WITH(function, "r10", 0x123456789abcdef0, chain);
#else
    CALL_WITH(function, "x18", 0x123456789abcdef0, chain);
#endif
    CHECK_EQ(chain, 0x123456789abcdef0);
    CHECK_EQ(hook_calls, 1);
}

#if defined(__x86_64__)
TEST(the_number_of_vector_arguments_arrives)
{
    uint64_t (*function)(void) = HOOKED(callee_vectors);
    uint64_t count = 0;
    CALL_WITH(function, "rax", 7, count);
    CHECK_EQ(count, 7);
    CALL_WITH(function, "rax", 0, count);
    CHECK_EQ(count, 0);
    CHECK_EQ(hook_calls, 2);
}
#endif

/* An exception through frames with cleanups (the single-step oracle has C++'s). */
static int cleanups;
static jmp_buf caught;

static void clean_up(const int *value)
{
    cleanups += *value;
}

static _Unwind_Reason_Code stop(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                struct _Unwind_Exception *exception,
                                struct _Unwind_Context *context, void *until)
{
    (void)version, (void)class, (void)exception;
    if (_Unwind_GetCFA(context) >= (uintptr_t)until || (actions & _UA_END_OF_STACK) != 0) {
        longjmp(caught, (actions & _UA_END_OF_STACK) != 0 ? 2 : 1);
    }
    return _URC_NO_REASON;
}

static void *until_frame;

static __attribute__((noinline)) void thrower(void)
{
    static struct _Unwind_Exception exception;
    (void)_Unwind_ForcedUnwind(&exception, stop, until_frame);
}

static __attribute__((noinline)) void between(void)
{
    __attribute__((cleanup(clean_up))) int value = 5;
    __asm__ volatile("" : "+m"(value));
    HOOKED(callee_throws)(HOOKED(thrower));
}

TEST(exceptions_pass)
{
    until_frame = __builtin_frame_address(0);
    int value = setjmp(caught);
    if (value == 0) {
        between();
    }
    CHECK_EQ(value, 1);
    CHECK_EQ(cleanups, 5);
    CHECK_EQ(hook_calls, 2);
}

static __attribute__((noinline)) long
check_regs(long (*function)(long, long, long, long, long, long, long, long, long, long, long, long))
{
    return function(1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12) + 1;
}

TEST(the_recorder_sees_caller_and_arguments)
{
    static const long expected[] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12};
    static volatile uint64_t frame;
    frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    (void)check_regs(HOOKED(callee_longs));
    CHECK_EQ(hook_regs.arch, SONDE__ARCH_HOST);
    CHECK(hook_regs.pc > (uint64_t)(uintptr_t)check_regs &&
          hook_regs.pc < (uint64_t)(uintptr_t)check_regs + 512);
    CHECK(sonde__regs_known(&hook_regs, sonde__arch_sp(hook_regs.arch)));
    CHECK(sonde__regs_known(&hook_regs, sonde__arch_fp(hook_regs.arch)));
    CHECK(hook_regs.r[sonde__arch_sp(hook_regs.arch)] < frame);
    CHECK(!sonde__regs_known(&hook_regs, 0));
    /* the stack arguments are gone: the recorder read them in time */
    for (unsigned i = 0; i < 6; i++) {
        CHECK_EQ(sonde__probe_hook_argument(&hook_regs, i), expected[i]);
    }
}

static long stack_arguments[6];

static uint64_t inspect_stack(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    unsigned first = SONDE__ARCH_HOST == SONDE_ARCH_X86_64 ? 6 : 8;
    for (unsigned i = first; i < 12; i++) {
        stack_arguments[i - 6] = (long)sonde__probe_hook_argument(regs, i);
    }
    return atomic_load(&hook->target);
}

TEST(arguments_on_the_stack_are_seen)
{
    __typeof__(&callee_longs) function = HOOKED(callee_longs);
    sonde__probe_hook_set_recorder(inspect_stack);
    (void)function(1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12);
    CHECK_EQ(stack_arguments[2], 9);
    CHECK_EQ(stack_arguments[5], -12);
}

static uint64_t elsewhere(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    (void)hook, (void)regs;
    return (uint64_t)(uintptr_t)twice;
}

TEST(the_recorder_may_send_it_elsewhere)
{
    long (*function)(long) = HOOKED(callback_that_calls);
    sonde__probe_hook_set_recorder(elsewhere);
    CHECK_EQ(function(21), 42);
}

TEST(hooks_that_are_off_go_straight_on)
{
    __typeof__(&callee_doubles) function = HOOKED(callee_doubles);
    atomic_store(&sonde__probe_hooks[0].on, 0);
    CHECK(function(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5) == -0.125);
    CHECK_EQ(hook_calls, 0);
    atomic_store(&sonde__probe_hooks[0].on, 1);
    sonde__probe_hook_set_recorder(NULL);
    CHECK(function(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5) == -0.125);
    CHECK_EQ(hook_calls, 0);
}

TEST(every_thunk_leads_to_its_hook)
{
    uint32_t index = 0;
    for (uint32_t i = 0; i < SONDE__PROBE_HOOKS; i++) {
        hooks_used = i;
        long (*function)(long) = HOOKED(twice);
        CHECK_EQ(function(i), 2 * i);
        CHECK_EQ(hook_function, 1000 + i);
        CHECK(sonde__probe_hook_index((uint64_t)(uintptr_t)function, &index) && index == i);
        CHECK(!sonde__probe_hook_index((uint64_t)(uintptr_t)function + 4, &index));
    }
    CHECK(!sonde__probe_hook_index(sonde__probe_hook_thunk(SONDE__PROBE_HOOKS), &index));
    CHECK(!sonde__probe_hook_index(sonde__probe_hook_thunk(0) - 16, &index));
}

/* The suite detects a recorder that overwrites a vector register. */
FAIL_TEST(a_vector_register_overwritten, "b == 2.5")
{
    __typeof__(&callee_doubles) function = HOOKED(callee_doubles);
    sonde__probe_hook_set_recorder(hook_wreck_vectors);
    (void)function(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5);
}
