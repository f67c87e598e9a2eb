// SPDX-License-Identifier: Apache-2.0
/* Sources: Block_private.h of Apple's libclosure, of compiler-rt and of swift-corelibs-libdispatch,
 * libobjc2's blocks_runtime.m. */
#include "registry_call.h"

#include "os.h"

const char *const sonde__registry_functions[SONDE__REGISTRY_FUNCTIONS] = {
    [SONDE__REGISTRY_COPY] = "_Block_copy",
    [SONDE__REGISTRY_RELEASE] = "_Block_release",
    [SONDE__REGISTRY_ASSIGN] = "_Block_object_assign",
    [SONDE__REGISTRY_DISPOSE] = "_Block_object_dispose",
};

/* Fields of a block literal in all runtimes. */
struct literal {
    uint64_t isa;
    uint32_t flags, reserved;
    uint64_t invoke;
    const uint64_t *descriptor;
};

enum {
    ONE_MASK = 0xffff,
    TWO_MASK = 0xfffe,
    SMALL_DESCRIPTOR = 1 << 22,
    NEEDS_FREE = 1 << 24,
    /* flags of a captured field: the kind of blocks, and bits that exclude it */
    FIELD_BLOCK = 7,
    FIELD_MASK = 128 | 16 | 8 | 7,
};

/* Static TLS of a few words, because the first touch in a handler must not allocate. */
static __thread struct {
    uint64_t assigning; /* argument of the innermost _Block_object_assign ... */
    bool is_copied;     /* ... which called _Block_copy inside, and that was counted */
    uint64_t releasing; /* counted by _Block_object_dispose, before _Block_release */
    uint64_t tid;
} own;

static uint64_t own_tid(void)
{
    if (own.tid == 0) {
        own.tid = sonde__os_tid();
    }
    return own.tid;
}

void sonde__registry_forget_thread(void)
{
    own.tid = 0;
}

static const struct literal *literal_at(uint64_t address)
{
    return (const struct literal *)(uintptr_t)address;
}

/* The form of a new block, which has one reference. */
static uint32_t form_of(const struct literal *block)
{
    if ((block->flags & NEEDS_FREE) == 0) {
        return block->reserved == 1 ? SONDE__REGISTRY_RESERVED : SONDE__REGISTRY_UNKNOWN;
    }
    return (block->flags & ONE_MASK) == 1   ? SONDE__REGISTRY_BY_ONE
           : (block->flags & ONE_MASK) == 2 ? SONDE__REGISTRY_BY_TWO
                                            : SONDE__REGISTRY_UNKNOWN;
}

static uint32_t flags_of(const struct literal *block)
{
    return __atomic_load_n(&block->flags, __ATOMIC_RELAXED);
}

static uint32_t references_of(const struct literal *block, uint32_t form)
{
    uint32_t flags = flags_of(block);
    switch (form) {
    case SONDE__REGISTRY_BY_ONE:
        return (flags & ONE_MASK) == ONE_MASK ? UINT32_MAX : flags & ONE_MASK;
    case SONDE__REGISTRY_BY_TWO:
        return (flags & TWO_MASK) == TWO_MASK ? UINT32_MAX : (flags & TWO_MASK) >> 1;
    case SONDE__REGISTRY_RESERVED:
        return __atomic_load_n(&block->reserved, __ATOMIC_RELAXED);
    default:
        return 0;
    }
}

static uint32_t size_of(const struct literal *block)
{
    if (block->descriptor == NULL) {
        return 0;
    }
    return (block->flags & SMALL_DESCRIPTOR) != 0
               ? *(const uint32_t *)(const void *)block->descriptor & INT32_MAX
               : (uint32_t)block->descriptor[1];
}

static void add(const struct sonde__registry_calls *calls, uint64_t address,
                const struct sonde__regs *regs)
{
    const struct literal *literal = literal_at(address);
    const struct sonde__registry_block block = {
        .address = address,
        .time_ns = calls->now_ns(),
        .invoke = literal->invoke,
        .stack = sonde__record_stack(calls->record, regs, 0),
        .tid = own_tid(),
        .size_bytes = size_of(literal),
        .form = form_of(literal),
    };
    (void)sonde__registry_add(&calls->registry, &block);
}

/* The runtime returned `result` for `block`. */
static void came_back(const struct sonde__registry_calls *calls, uint64_t block, uint64_t result,
                      const struct sonde__regs *regs)
{
    if (result == 0) {
        return;
    }
    if (result != block) {
        add(calls, result, regs);
        return;
    }
    uint32_t place = sonde__registry_place(&calls->registry, block);
    if (place != SONDE__REGISTRY_NONE) {
        sonde__registry_retain(&calls->registry, place);
    } else if ((flags_of(literal_at(block)) & NEEDS_FREE) != 0) {
        sonde__registry_miss(&calls->registry);
    }
}

static uint64_t answer(const struct sonde__regs *regs, uint64_t value)
{
    ((struct sonde__regs *)(uintptr_t)regs)->r[0] = value; /* rax, x0: the stub restores it */
    return (uint64_t)(uintptr_t)sonde__probe_hook_answered;
}

static uint64_t copy(const struct sonde__registry_calls *calls, uint64_t target,
                     const struct sonde__regs *regs)
{
    uint64_t block = sonde__probe_hook_argument(regs, 0);
    uint32_t place = sonde__registry_place(&calls->registry, block);
    own.is_copied |= own.assigning == block;
    if (place != SONDE__REGISTRY_NONE) {
        sonde__registry_retain(&calls->registry, place);
        return target;
    }
    uint64_t result = ((uint64_t(*)(uint64_t))(uintptr_t)target)(block);
    came_back(calls, block, result, regs);
    return answer(regs, result);
}

static uint64_t assign(const struct sonde__registry_calls *calls, uint64_t target,
                       const struct sonde__regs *regs)
{
    uint64_t to = sonde__probe_hook_argument(regs, 0);
    uint64_t block = sonde__probe_hook_argument(regs, 1);
    uint64_t kind = sonde__probe_hook_argument(regs, 2);
    if ((kind & FIELD_MASK) != FIELD_BLOCK || block == 0) {
        return target;
    }
    uint64_t outer = own.assigning;
    bool was_copied = own.is_copied;
    own.assigning = block;
    own.is_copied = false;
    ((void (*)(uint64_t, uint64_t, uint64_t))(uintptr_t)target)(to, block, kind);
    bool is_counted = own.is_copied;
    own.assigning = outer;
    own.is_copied = was_copied;
    if (!is_counted) {
        came_back(calls, block, *(const uint64_t *)(uintptr_t)to, regs);
    }
    return answer(regs, 0);
}

static void release(const struct sonde__registry_calls *calls, uint64_t block)
{
    uint32_t place = sonde__registry_place(&calls->registry, block);
    if (place != SONDE__REGISTRY_NONE) {
        uint32_t form = sonde__registry_form_at(&calls->registry, place);
        (void)sonde__registry_release(&calls->registry, place,
                                      references_of(literal_at(block), form));
    }
}

static uint64_t dispose(const struct sonde__registry_calls *calls, uint64_t target,
                        const struct sonde__regs *regs)
{
    uint64_t block = sonde__probe_hook_argument(regs, 0);
    uint64_t kind = sonde__probe_hook_argument(regs, 1);
    if ((kind & FIELD_MASK) != FIELD_BLOCK || block == 0) {
        return target;
    }
    uint64_t outer = own.releasing;
    release(calls, block);
    own.releasing = block;
    ((void (*)(uint64_t, uint64_t))(uintptr_t)target)(block, kind);
    own.releasing = outer;
    return answer(regs, 0);
}

uint64_t sonde__registry_call(const struct sonde__registry_calls *calls,
                              const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    uint64_t target = atomic_load_explicit(&hook->target, memory_order_relaxed);
    uint64_t block;
    switch (hook->function) {
    case SONDE__REGISTRY_COPY:
        return copy(calls, target, regs);
    case SONDE__REGISTRY_ASSIGN:
        return assign(calls, target, regs);
    case SONDE__REGISTRY_DISPOSE:
        return dispose(calls, target, regs);
    case SONDE__REGISTRY_RELEASE:
        block = sonde__probe_hook_argument(regs, 0);
        if (block != 0 && own.releasing == block) {
            own.releasing = 0;
        } else {
            release(calls, block);
        }
        return target;
    default:
        return target;
    }
}
