// SPDX-License-Identifier: Apache-2.0
/* Code of a JIT with frame pointers, in memory that the loader knows nothing of: the walk goes
 * through it to the function that called it. On both architectures. */
#include <string.h>
#include <sys/mman.h>

#include <sonde/stack.h>

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
