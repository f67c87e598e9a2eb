// SPDX-License-Identifier: Apache-2.0
/* Code of a JIT with frame pointers, in memory that the loader knows nothing of: the walk goes
 * through it to the function that called it. On both architectures. */
#include <string.h>
#include <sys/mman.h>

#include <sonde/stack.h>

#include "capture_memo.h"
#include "capture_record.h"
#include "capture_walk.h"
#include "test.h"

enum { DEPTH = 32 };

static struct {
    struct sonde_stack stack;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
} taken;

static void take(void)
{
    sonde_stack_init(&taken.stack, taken.pcs, taken.how, DEPTH, 0);
    CHECK_OK(sonde_stack_capture(&taken.stack, 0));
}

#if defined(__x86_64__)
/* push %rbp; mov %rsp,%rbp; sub $0x40,%rsp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; leave; ret */
static const uint8_t calls_it[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0x48,
                                   0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0xc9, 0xc3};
enum { RETURNS_AT = 16 };
#else
/* stp x29, x30, [sp, #-64]!; mov x29, sp; mov x2, x0; mov x0, x1; blr x2;
 * ldp x29, x30, [sp], #64; ret */
static const uint32_t calls_it[] = {0xa9bc7bfd, 0x910003fd, 0xaa0003e2, 0xaa0103e0,
                                    0xd63f0040, 0xa8c47bfd, 0xd65f03c0};
enum { RETURNS_AT = 20 };
#endif

/* It calls its first argument with its second. */
typedef void code_function(void *function, void (*argument)(void));

static __attribute__((noinline)) uint32_t enter(code_function *code, void *again)
{
    code(again, take);
    return taken.stack.count;
}

static void check(void)
{
    uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code_function *code;
    CHECK(memory != MAP_FAILED);
    memcpy(memory + 256, calls_it, sizeof calls_it);
    memcpy(memory + 512, calls_it, sizeof calls_it);
    __builtin___clear_cache((char *)memory, (char *)memory + 4096);
    CHECK_OK(mprotect(memory, 4096, PROT_READ | PROT_EXEC));
    memory += 256;
    memcpy(&code, &memory, sizeof code);
    CHECK(enter(code, memory + 256) > 4);
    CHECK_EQ(taken.stack.end, SONDE_END_ROOT);
    CHECK_EQ(taken.pcs[1], (uintptr_t)memory + 256 + RETURNS_AT);
    CHECK_EQ(taken.pcs[2], (uintptr_t)memory + RETURNS_AT);
    CHECK(taken.pcs[3] - (uintptr_t)&enter < 64);
    CHECK_EQ(taken.how[2] & SONDE_HOW_FOUND_MASK, SONDE_FOUND_FP);
    CHECK_EQ(taken.how[3] & SONDE_HOW_FOUND_MASK, SONDE_FOUND_FP);
}

TEST(code_of_no_image_with_frame_pointers)
{
    check();
}

TEST(the_same_with_a_snapshot)
{
    CHECK_OK(sonde_stack_prepare());
    check();
}

/* --- code that is known to keep frame records, at the top of its frames --- */

#if defined(__x86_64__)
/* The call is so far behind the function's start that a search does not find that: push %rbp; mov
 * %rsp,%rbp; jmp FAR; then sub $0x40,%rsp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; leave; ret */
static const uint8_t jumps[] = {0x55, 0x48, 0x89, 0xe5, 0xe9, 0, 0x10, 0, 0};
static const uint8_t calls_far[] = {0x48, 0x83, 0xec, 0x40, 0x48, 0x89, 0xf8,
                                    0x48, 0x89, 0xf7, 0xff, 0xd0, 0xc9, 0xc3};
enum { FAR = 4096 + sizeof jumps, CALLS_AT = FAR + 12 };
#else
/* stp x29, x30, [sp, #-16]!; mov x29, sp; b FAR; then sub sp, sp, #64; mov x2, x0; mov x0, x1;
 * blr x2; mov sp, x29; ldp x29, x30, [sp], #16; ret */
static const uint32_t jumps[] = {0xa9bf7bfd, 0x910003fd, 0x14000400};
static const uint32_t calls_far[] = {0xd10103ff, 0xaa0003e2, 0xaa0103e0, 0xd63f0040,
                                     0x910003bf, 0xa8c17bfd, 0xd65f03c0};
enum { FAR = 4096 + 8, CALLS_AT = FAR + 16 };
#endif

static uint32_t renewed;

/* Its caller's stack, into the memo alone. */
static void renew(void)
{
    uint32_t first = 0;
    struct sonde__regs regs = {.arch = SONDE__ARCH_HOST};
    const uint64_t *frame = __builtin_frame_address(0);
    sonde__regs_set(&regs, sonde__arch_fp(SONDE__ARCH_HOST), frame[0]);
    sonde__regs_set(&regs, sonde__arch_sp(SONDE__ARCH_HOST), (uint64_t)(uintptr_t)(frame + 2));
    regs.pc = frame[1];
    struct sonde__memo *memo = sonde__capture_renew(&regs, &first);
    renewed = memo != NULL ? SONDE__MEMO_FRAMES - first : 0;
    sonde__capture_memo_leave(memo);
    take();
}

static __attribute__((noinline)) uint32_t enter_far(code_function *code)
{
    void *function;
    void (*last)(void) = renew;
    memcpy(&function, &last, sizeof function);
    code(function, NULL);
    return taken.stack.count;
}

/* Its frames are new: at other places of the stack. */
static __attribute__((noinline)) uint32_t enter_deeper(code_function *code)
{
    volatile unsigned char room[256];
    room[0] = 0;
    return enter_far(code) + room[0];
}

static uint32_t index_of(uint64_t pc)
{
    for (uint32_t i = 0; i < taken.stack.count; i++) {
        if (taken.pcs[i] == pc) {
            return i;
        }
    }
    FAIL("the code is not on the stack");
}

/* Also by the memo alone, which has no searches. */
TEST(code_that_keeps_frame_records_needs_no_search)
{
    uint8_t *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code_function *code;
    CHECK(memory != MAP_FAILED);
    memcpy(memory, jumps, sizeof jumps);
    memcpy(memory + FAR, calls_far, sizeof calls_far);
    __builtin___clear_cache((char *)memory, (char *)memory + 8192);
    CHECK_OK(mprotect(memory, 8192, PROT_READ | PROT_EXEC));
    memcpy(&code, &memory, sizeof code);
    CHECK_OK(sonde_stack_prepare());
    CHECK(enter_far(code) != 0);
    CHECK(!sonde__capture_keeps_record((uintptr_t)memory + FAR));
    CHECK_EQ(renewed, 0);
    sonde__capture_expect_records(0, 0);
    CHECK(enter_far(code) > 4);
    CHECK(sonde__capture_keeps_record((uintptr_t)memory + FAR));
    CHECK(!sonde__capture_keeps_record((uintptr_t)&enter_far));
    CHECK_EQ(taken.stack.end, SONDE_END_ROOT);
    uint32_t at = index_of((uintptr_t)memory + CALLS_AT);
    CHECK(taken.pcs[at + 1] - (uintptr_t)&enter_far < 128);
    CHECK(enter_deeper(code) > 5);
    CHECK_EQ(taken.stack.end, SONDE_END_ROOT);
    CHECK_EQ(renewed, taken.stack.count - index_of((uintptr_t)memory + CALLS_AT));
}

/* The ranges of a program with many heaps of code: the last ones have no room. */
TEST(ranges_of_code_have_a_limit)
{
    sonde__capture_note_made(4096, 8192);
    CHECK(!sonde__capture_keeps_record(4096));
    sonde__capture_expect_records(0x1000000, 0x1001000);
    CHECK(sonde__capture_keeps_record(0x1000fff));
    CHECK(!sonde__capture_keeps_record(0x1001000));
    for (uint64_t i = 1; i < 100; i++) {
        sonde__capture_note_made(i << 32, (i << 32) + 4096);
        sonde__capture_note_made(i << 32, (i << 32) + 4096);
    }
    CHECK(sonde__capture_keeps_record((uint64_t)60 << 32));
    CHECK(!sonde__capture_keeps_record((uint64_t)70 << 32));
}
