// SPDX-License-Identifier: Apache-2.0
/* Code of a JIT without frame pointers and call frame information, made by the test, so its frames
 * are known. Walks from each of its instructions, called from and calling C. A caller that cannot
 * be proven ends the walk. */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <sonde/stack.h>

#include "jit_code.h"
#include "test.h"

enum { DEPTH = 64 };

static struct {
    struct sonde_stack stack;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
} taken;

static void *outer[DEPTH]; /* the frames of enter_jit by libc's backtrace() */
static int outer_count;
static struct jit_code code;
static unsigned steps, functions_seen;

/* libc's own: a sanitizer interposes another one. */
static int (*backtrace)(void **, int);

/* glibc loads libgcc at the first call; that would look like a leak of each test. */
static __attribute__((constructor)) void prepare(void)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    backtrace = (int (*)(void **, int))(uintptr_t)dlsym(libc, "backtrace");
    outer_count = backtrace(outer, DEPTH);
    (void)!sonde_stack_prepare();
}

static bool is_trapped; /* then libc must not be called */

static __attribute__((noinline)) void enter_jit(void (*function)(void))
{
    if (!is_trapped) {
        outer_count = backtrace(outer, DEPTH);
    }
    function();
    steps++; /* no tail call */
}

/* Each walk does bounded work, and the next one starts from its result. */
enum { TRIES_MAX = 32 };

static __attribute__((noinline)) void take(void)
{
    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        sonde_stack_init(&taken.stack, taken.pcs, taken.how, DEPTH, 0);
        CHECK_OK(sonde_stack_capture(&taken.stack, 0));
        if (taken.stack.end != SONDE_END_COSTLY) {
            break;
        }
    }
}

/* The frames from `at` on: the callers of function `function`, enter_jit, and libc's result. */
static void check_callers(unsigned at, unsigned function)
{
    CHECK_EQ(taken.stack.end, SONDE_END_ROOT);
    CHECK_EQ(taken.stack.count, at + function + (unsigned)outer_count);
    for (unsigned i = function; i-- > 0; at++) {
        CHECK_EQ(taken.pcs[at], code.returns[i]);
        CHECK_EQ(taken.how[at] & SONDE_HOW_FOUND_MASK, SONDE_FOUND_INFERRED);
    }
    /* libc's first frame is another place in enter_jit */
    if (taken.pcs[at] - (uintptr_t)outer[0] + 64 > 128) {
        FAIL("frame %u of %u: %#llx, libc's is %p", at, taken.stack.count,
             (unsigned long long)taken.pcs[at], outer[0]);
    }
    for (int i = 1; i < outer_count; i++) {
        CHECK_EQ(taken.pcs[at + (unsigned)i], (uintptr_t)outer[i]);
    }
}

TEST(each_call_of_it)
{
    code = jit_make(take, JIT_FUNCTIONS);
    enter_jit(code.enter);
    CHECK_EQ(taken.pcs[1], code.returns[JIT_FUNCTIONS - 1]);
    CHECK_EQ(taken.how[1] & SONDE_HOW_FOUND_MASK, SONDE_FOUND_CFI);
    check_callers(2, JIT_FUNCTIONS - 1);
}

static void nothing(void) {}

static void at_instruction(int sig, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
    (void)sig, (void)info;
    for (unsigned i = 0; i < JIT_FUNCTIONS; i++) {
        uint64_t end = i + 1 < JIT_FUNCTIONS ? code.starts[i] + 256 : code.starts[JIT_FUNCTIONS];
        if (pc >= code.starts[i] && pc < end) {
            for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
                sonde_stack_init(&taken.stack, taken.pcs, taken.how, DEPTH, 0);
                CHECK_OK(sonde_stack_capture_ucontext(&taken.stack, context, 0));
                if (taken.stack.end != SONDE_END_COSTLY) {
                    break;
                }
            }
            CHECK_EQ(taken.pcs[0], pc);
            check_callers(1, i);
            steps++;
            functions_seen |= 1u << i;
        }
    }
}

/* Set or clear the trap flag; nothing is pushed into the red zone. */
static inline __attribute__((always_inline)) void set_trap(uint64_t flag)
{
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); orq %0, (%%rsp); popfq;"
        "lea 128(%%rsp), %%rsp" ::"r"(flag)
        : "memory", "cc");
}

TEST(each_instruction_of_it)
{
    struct sigaction action = {.sa_sigaction = at_instruction, .sa_flags = SA_SIGINFO};
    code = jit_make(nothing, JIT_FUNCTIONS);
    sigaction(SIGTRAP, &action, NULL);
    volatile unsigned rounds = 2; /* one call site for both; the second call has the trap flag */
    for (unsigned round = 0; round < rounds; round++) {
        is_trapped = round != 0;
        set_trap((uint64_t)round << 8);
        enter_jit(code.enter);
        set_trap(0);
    }
    CHECK_EQ(functions_seen, (1u << JIT_FUNCTIONS) - 1);
    CHECK(steps > JIT_FUNCTIONS * 5);
}

/* A call by register between two JIT functions names neither, and call frame information does not
 * lead further: without proof there is no frame, and the walk ends as without a scan. */
TEST(unproven_frames_are_left_out)
{
    code = jit_make(take, JIT_FUNCTIONS - 3);
    enter_jit(code.enter);
    CHECK(taken.stack.end == SONDE_END_NO_RULE || taken.stack.end == SONDE_END_NO_REGISTERS ||
          taken.stack.end == SONDE_END_COSTLY);
    CHECK_EQ(taken.stack.count, 2);
    CHECK_EQ(taken.pcs[1], code.returns[JIT_FUNCTIONS - 1]);
}

static uint8_t *frame_size; /* operand in the code of the next test */

static void take_at_another_distance(void)
{
    *frame_size += 16;
    take();
    *frame_size -= 16;
}

/* The stack is full of return addresses of earlier calls, and has the right one; but the code in
 * between states another distance. */
TEST(both_sides_must_agree)
{
    /* push %rbp; mov $1,%ebp; sub $0x100,%rsp; call *%rdi; add; pop; ret */
    static const char bytes[] = "\x55\xbd\x01\x00\x00\x00\x48\x81\xec\x00\x01\x00\x00"
                                "\xff\xd7\x48\x81\xc4\x00\x01\x00\x00\x5d\xc3";
    uint8_t *memory =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*function)(void (*)(void));
    CHECK(memory != MAP_FAILED);
    memcpy(memory, bytes, sizeof bytes - 1);
    memcpy(&function, &memory, sizeof function);
    frame_size = memory + 9;
    code = jit_make(nothing, JIT_FUNCTIONS);
    enter_jit(code.enter);
    function(take);
    CHECK_EQ(taken.stack.end, SONDE_END_ROOT);
    CHECK_EQ(taken.pcs[1], (uintptr_t)memory + 15);
    uint32_t count = taken.stack.count;
    function(take_at_another_distance);
    CHECK_EQ(taken.stack.end, SONDE_END_NO_RULE);
    CHECK_EQ(taken.stack.count, 3);
    CHECK_EQ(taken.pcs[2], (uintptr_t)memory + 15);
    CHECK(count > 3);
}

/* After the call the mapping has fewer bytes than the longest instruction. */
TEST(the_last_bytes_of_a_mapping)
{
    /* push %rbx; sub $0x100,%rsp; call *%rdi; add; pop; ret */
    static const char bytes[] = "\x53\x48\x81\xec\x00\x01\x00\x00"
                                "\xff\xd7\x48\x81\xc4\x00\x01\x00\x00\x5b\xc3";
    uint8_t *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*function)(void (*)(void));
    CHECK(memory != MAP_FAILED);
    uint8_t *at = memory + 4096 - (sizeof bytes - 1);
    memcpy(at, bytes, sizeof bytes - 1);
    memcpy(&function, &at, sizeof function);
    CHECK_EQ(mprotect(memory, 4096, PROT_READ | PROT_EXEC), 0);
    CHECK_EQ(munmap(memory + 4096, 4096), 0);
    function(take);
    CHECK_EQ(taken.stack.end, SONDE_END_ROOT);
    CHECK_EQ(taken.pcs[1], (uintptr_t)memory + 4096 - 9);
}

/* A leftover of an earlier call of the same function lies nearer than this call's return
 * address. */
static void take_beside_a_leftover(void)
{
    uint64_t *frame = (uint64_t *)__builtin_frame_address(0) + 2; /* of the last function */
    for (unsigned i = 1; i < 100; i++) {
        frame[i] = code.never_made;
    }
    take();
    steps++; /* no tail call */
}

TEST(a_leftover_is_not_the_return_address)
{
    code = jit_make(take_beside_a_leftover, JIT_FUNCTIONS);
    enter_jit(code.enter);
    CHECK_EQ(taken.pcs[2], code.returns[JIT_FUNCTIONS - 1]);
    check_callers(3, JIT_FUNCTIONS - 1);
}

/* Fewer than eight bytes precede the return address, and none precede the function. */
TEST(the_first_bytes_of_a_mapping)
{
    static const char first[] = "\x50\xe8\x3a\x00\x00\x00\x58\xc3"; /* push; call +64; pop; ret */
    static const char second[] = "\x50\xff\xd7\x58\xc3";            /* push; call *%rdi; ... */
    uint8_t *memory =
        mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*function)(void (*)(void));
    CHECK(memory != MAP_FAILED);
    memory += 4096;
    memcpy(memory, first, sizeof first - 1);
    memcpy(memory + 64, second, sizeof second - 1);
    CHECK_OK(mprotect(memory - 4096, 4096, PROT_NONE));
    CHECK_OK(mprotect(memory, 4096, PROT_READ | PROT_EXEC));
    memcpy(&function, &memory, sizeof function);
    function(take);
    CHECK_EQ(taken.stack.end, SONDE_END_ROOT);
    CHECK_EQ(taken.pcs[1], (uintptr_t)memory + 67);
    CHECK_EQ(taken.pcs[2], (uintptr_t)memory + 6);
}
