// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NEEDS_FREE = 1 << 24, HAS_COPY = 1 << 25, IS_GLOBAL = 1 << 28, FIELD_BLOCK = 7 };

enum runtime runtime;
struct sonde__registry_calls *calls;
void (*runtime_made)(struct block *block);
_Thread_local void *(*runtime_allocate)(size_t size) = malloc;
_Thread_local void (*runtime_free)(void *block) = free;

static const int stack_class, heap_class;

static uint64_t hooked(uint32_t function, uint64_t a, uint64_t b, uint64_t c);

/* --- the counts --- */

static uint32_t flags_of(const struct block *block)
{
    return __atomic_load_n(&block->flags, __ATOMIC_RELAXED);
}

static bool is_heap(const struct block *block)
{
    return runtime == RESERVED ? block->isa == &heap_class : (flags_of(block) & NEEDS_FREE) != 0;
}

static uint32_t *count_of(struct block *block)
{
    return runtime == RESERVED ? &block->reserved : &block->flags;
}

static uint32_t step(void)
{
    return runtime == BY_TWO || runtime == INLINED ? 2 : 1;
}

uint32_t block_references(const struct block *block)
{
    uint32_t word = __atomic_load_n(count_of((struct block *)(uintptr_t)block), __ATOMIC_ACQUIRE);
    return runtime == RESERVED ? word : (word & 0xffff) / step();
}

/* --- the functions --- */

static struct block *make(struct block *from)
{
    struct block *block = runtime_allocate(from->descriptor->size);
    memcpy(block, from, from->descriptor->size);
    if (runtime == RESERVED) {
        block->isa = &heap_class;
        block->reserved = 1;
    } else {
        block->flags = (block->flags & ~0xffffu) | NEEDS_FREE | step();
    }
    if (runtime_made != NULL) {
        runtime_made(block);
    }
    if ((flags_of(from) & HAS_COPY) != 0) {
        from->descriptor->copy(block, from);
    }
    return block;
}

static struct block *real_copy(struct block *block)
{
    if (block == NULL || (flags_of(block) & IS_GLOBAL) != 0) {
        return block;
    }
    if (is_heap(block)) {
        __atomic_fetch_add(count_of(block), step(), __ATOMIC_ACQ_REL);
        return block;
    }
    return make(block);
}

static void real_release(struct block *block)
{
    if (block == NULL || (flags_of(block) & IS_GLOBAL) != 0 || !is_heap(block)) {
        return;
    }
    uint32_t left = __atomic_sub_fetch(count_of(block), step(), __ATOMIC_ACQ_REL);
    if ((runtime == RESERVED ? left : left & 0xffff) == 0) {
        if ((flags_of(block) & HAS_COPY) != 0) {
            block->descriptor->dispose(block);
        }
        runtime_free(block);
    }
}

static void real_assign(struct block **to, struct block *block, uint32_t kind)
{
    if (kind != FIELD_BLOCK) {
        *to = block;
    } else if (runtime == BY_ONE || runtime == INLINED) {
        *to = real_copy(block);
    } else {
        *to = (struct block *)(uintptr_t)hooked(SONDE__REGISTRY_COPY, (uintptr_t)block, 0, 0);
    }
}

static void real_dispose(struct block *block, uint32_t kind)
{
    if (kind == FIELD_BLOCK && runtime == INLINED) {
        real_release(block);
    } else if (kind == FIELD_BLOCK) {
        (void)hooked(SONDE__REGISTRY_RELEASE, (uintptr_t)block, 0, 0);
    }
}

/* --- a program's calls --- */

static uint64_t entry(uint32_t function, uint64_t a, uint64_t b, uint64_t c)
{
    switch (function) {
    case SONDE__REGISTRY_COPY:
        return (uintptr_t)real_copy((struct block *)(uintptr_t)a);
    case SONDE__REGISTRY_RELEASE:
        real_release((struct block *)(uintptr_t)a);
        return 0;
    case SONDE__REGISTRY_ASSIGN:
        real_assign((struct block **)(uintptr_t)a, (struct block *)(uintptr_t)b, (uint32_t)c);
        return 0;
    default:
        real_dispose((struct block *)(uintptr_t)a, (uint32_t)b);
        return 0;
    }
}

static uint64_t entry_copy(uint64_t a)
{
    return entry(SONDE__REGISTRY_COPY, a, 0, 0);
}
static void entry_release(uint64_t a)
{
    (void)entry(SONDE__REGISTRY_RELEASE, a, 0, 0);
}
static void entry_assign(uint64_t a, uint64_t b, uint64_t c)
{
    (void)entry(SONDE__REGISTRY_ASSIGN, a, b, c);
}
static void entry_dispose(uint64_t a, uint64_t b)
{
    (void)entry(SONDE__REGISTRY_DISPOSE, a, b, 0);
}

/* As the stub of a hook does. */
static uint64_t hooked(uint32_t function, uint64_t a, uint64_t b, uint64_t c)
{
    void (*const targets[])(void) = {
        [SONDE__REGISTRY_COPY] = (void (*)(void))entry_copy,
        [SONDE__REGISTRY_RELEASE] = (void (*)(void))entry_release,
        [SONDE__REGISTRY_ASSIGN] = (void (*)(void))entry_assign,
        [SONDE__REGISTRY_DISPOSE] = (void (*)(void))entry_dispose,
    };
    static const unsigned arguments[2][3] = {{5, 4, 1}, {0, 1, 2}};
    uint64_t target = (uintptr_t)targets[function];
    const struct sonde__probe_hook hook = {.target = target, .function = function};
    struct sonde__regs regs = {.arch = SONDE__ARCH_HOST};
    if (calls != NULL) {
        const unsigned *at = arguments[SONDE__ARCH_HOST == SONDE_ARCH_AARCH64];
        regs.r[at[0]] = a;
        regs.r[at[1]] = b;
        regs.r[at[2]] = c;
        regs.pc = (uintptr_t)__builtin_return_address(0);
        sonde__regs_set(&regs, sonde__arch_sp(regs.arch), (uintptr_t)&regs);
        uint64_t next = sonde__registry_call(calls, &hook, &regs);
        if (next == (uintptr_t)sonde__probe_hook_answered) {
            return regs.r[0];
        }
        if (next != target) {
            abort();
        }
    }
    return entry(function, a, b, c);
}

struct block *block_copy(struct block *block)
{
    return (struct block *)(uintptr_t)hooked(SONDE__REGISTRY_COPY, (uintptr_t)block, 0, 0);
}

void block_release(struct block *block)
{
    (void)hooked(SONDE__REGISTRY_RELEASE, (uintptr_t)block, 0, 0);
}

/* --- a block that captures another --- */

static void copy_helper(void *to, const void *from)
{
    (void)hooked(SONDE__REGISTRY_ASSIGN, (uintptr_t) & ((struct block *)to)->captured,
                 (uintptr_t)((const struct block *)from)->captured, FIELD_BLOCK);
}

static void dispose_helper(void *block)
{
    (void)hooked(SONDE__REGISTRY_DISPOSE, (uintptr_t)((struct block *)block)->captured, FIELD_BLOCK,
                 0);
}

static void invoke(void) {}

void block_init(struct block *block, struct block *captured, uint64_t serial)
{
    static const struct descriptor plain = {0, sizeof *block, NULL, NULL};
    static const struct descriptor with = {0, sizeof *block, copy_helper, dispose_helper};
    *block = (struct block){
        .isa = &stack_class,
        .flags = captured != NULL ? HAS_COPY : 0,
        .invoke = invoke,
        .descriptor = captured != NULL ? &with : &plain,
        .captured = captured,
        .serial = serial,
    };
}
