// SPDX-License-Identifier: Apache-2.0
#include "registry.h"

/* Counters are spread over cache lines, so threads mostly write to different ones. */
enum { STRIPES = 16, COUNTERS = 8, CACHE_LINE = 64 };
enum counter { MADE, ENDED, DROPPED, REPLACED, UNSEEN, UNKNOWN };

struct stripe {
    uint64_t counters[COUNTERS];
};

struct line {
    uint64_t addresses[SONDE__REGISTRY_LINE]; /* 0: free */
    uint64_t is_passed;                       /* a block of this line is, or was, in a later line */
};
_Static_assert(sizeof(struct line) == CACHE_LINE, "a cache line");

struct entry {
    uint64_t state; /* generation and references; no references: free */
    uint64_t time_ns;
    uint64_t invoke;
    uint64_t tid;
    uint32_t stack;
    uint32_t size_form; /* size_bytes << FORM_BITS | form */
};
enum { FORM_BITS = 2, FORM_MASK = (1 << FORM_BITS) - 1 };
_Static_assert(SONDE__REGISTRY_RESERVED < 1 << FORM_BITS, "a form");
_Static_assert(SONDE__REGISTRY_SIZE_MAX == UINT32_MAX >> FORM_BITS, "a size");

#define REFERENCES      ((uint64_t)UINT32_MAX)
#define NEXT_GENERATION ((uint64_t)1 << 32)

static struct stripe *stripes_of(const struct sonde__registry *registry)
{
    return (struct stripe *)(void *)registry->memory;
}

static struct line *lines_of(const struct sonde__registry *registry)
{
    return (struct line *)(void *)(registry->memory + STRIPES * sizeof(struct stripe));
}

static struct entry *entry_at(const struct sonde__registry *registry, uint32_t place)
{
    struct entry *entries = (struct entry *)(void *)(lines_of(registry) + registry->lines);
    return &entries[place];
}

static uint64_t *address_at(const struct sonde__registry *registry, uint32_t place)
{
    return &lines_of(registry)[place / SONDE__REGISTRY_LINE]
                .addresses[place % SONDE__REGISTRY_LINE];
}

uint64_t sonde__registry_size(uint32_t lines)
{
    return STRIPES * sizeof(struct stripe) +
           (uint64_t)lines * (sizeof(struct line) + SONDE__REGISTRY_LINE * sizeof(struct entry));
}

uint32_t sonde__registry_places(const struct sonde__registry *registry)
{
    return registry->lines * SONDE__REGISTRY_LINE;
}

static void count(const struct sonde__registry *registry, uint64_t address, enum counter counter)
{
    struct stripe *stripe = &stripes_of(registry)[(address >> 12 ^ address >> 24) % STRIPES];
    __atomic_fetch_add(&stripe->counters[counter], 1, __ATOMIC_RELAXED);
}

/* The lines to probe. The first is a hash of the 256 bytes of heap with the block and of its 4 MiB,
 * because the heaps of threads begin at similar addresses. The others are hashes of the whole
 * address. */
static uint32_t line_of(const struct sonde__registry *registry, uint64_t address, uint32_t probe)
{
    uint64_t mixed = (probe == 0 ? address >> 22 : address + probe) * 0x9e3779b97f4a7c15u;
    uint64_t line = (mixed >> 40) + (probe == 0 ? address >> 8 : 0);
    return (uint32_t)(line & (registry->lines - 1));
}

uint32_t sonde__registry_place(const struct sonde__registry *registry, uint64_t address)
{
    for (uint32_t probe = 0; probe < SONDE__REGISTRY_PROBES && address != 0; probe++) {
        uint32_t number = line_of(registry, address, probe);
        const struct line *line = &lines_of(registry)[number];
        for (uint32_t i = 0; i < SONDE__REGISTRY_LINE; i++) {
            if (__atomic_load_n(&line->addresses[i], __ATOMIC_ACQUIRE) == address) {
                return number * SONDE__REGISTRY_LINE + i;
            }
        }
        if (__atomic_load_n(&line->is_passed, __ATOMIC_RELAXED) == 0) {
            break;
        }
    }
    return SONDE__REGISTRY_NONE;
}

/* Take a free place. An interrupting handler takes another one. */
static uint32_t take_place(const struct sonde__registry *registry, uint64_t address)
{
    for (uint32_t probe = 0; probe < SONDE__REGISTRY_PROBES; probe++) {
        uint32_t number = line_of(registry, address, probe);
        struct line *line = &lines_of(registry)[number];
        for (uint32_t i = 0; i < SONDE__REGISTRY_LINE; i++) {
            uint64_t nobody = 0;
            if (__atomic_load_n(&line->addresses[i], __ATOMIC_RELAXED) == 0 &&
                __atomic_compare_exchange_n(&line->addresses[i], &nobody, address, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
                return number * SONDE__REGISTRY_LINE + i;
            }
        }
        __atomic_store_n(&line->is_passed, 1, __ATOMIC_RELAXED);
    }
    return SONDE__REGISTRY_NONE;
}

static uint32_t pack(const struct sonde__registry_block *block)
{
    uint32_t size =
        block->size_bytes < SONDE__REGISTRY_SIZE_MAX ? block->size_bytes : SONDE__REGISTRY_SIZE_MAX;
    return size << FORM_BITS | block->form;
}

bool sonde__registry_add(const struct sonde__registry *registry,
                         const struct sonde__registry_block *block)
{
    uint32_t place = sonde__registry_place(registry, block->address);
    count(registry, block->address, MADE);
    if (place != SONDE__REGISTRY_NONE) {
        uint64_t state = __atomic_load_n(&entry_at(registry, place)->state, __ATOMIC_RELAXED);
        __atomic_store_n(&entry_at(registry, place)->state, state & ~REFERENCES, __ATOMIC_RELAXED);
        count(registry, block->address, REPLACED);
    } else {
        place = take_place(registry, block->address);
    }
    if (place == SONDE__REGISTRY_NONE) {
        count(registry, block->address, DROPPED);
        return false;
    }
    struct entry *entry = entry_at(registry, place);
    uint64_t state = __atomic_load_n(&entry->state, __ATOMIC_RELAXED);
    /* a reader that sees one of these also sees the changed state */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&entry->time_ns, block->time_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->invoke, block->invoke, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->stack, block->stack, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->tid, block->tid, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->size_form, pack(block), __ATOMIC_RELAXED);
    __atomic_store_n(&entry->state, (state & ~REFERENCES) + NEXT_GENERATION + 1, __ATOMIC_RELEASE);
    return true;
}

uint32_t sonde__registry_form_at(const struct sonde__registry *registry, uint32_t place)
{
    return __atomic_load_n(&entry_at(registry, place)->size_form, __ATOMIC_RELAXED) & FORM_MASK;
}

void sonde__registry_retain(const struct sonde__registry *registry, uint32_t place)
{
    struct entry *entry = entry_at(registry, place);
    uint64_t state = __atomic_load_n(&entry->state, __ATOMIC_RELAXED);
    while ((state & REFERENCES) != 0 && (state & REFERENCES) != REFERENCES &&
           !__atomic_compare_exchange_n(&entry->state, &state, state + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
}

bool sonde__registry_release(const struct sonde__registry *registry, uint32_t place,
                             uint32_t references)
{
    struct entry *entry = entry_at(registry, place);
    uint64_t state = __atomic_load_n(&entry->state, __ATOMIC_RELAXED);
    bool is_last;
    do {
        uint64_t counted = state & REFERENCES;
        if (counted == 0 || references == UINT32_MAX) {
            return false; /* released too often, or never freed */
        }
        is_last = counted == 1 || references == 1;
    } while (!__atomic_compare_exchange_n(&entry->state, &state,
                                          is_last ? state & ~REFERENCES : state - 1, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    if (!is_last) {
        return false;
    }
    uint64_t *at = address_at(registry, place);
    uint64_t address = __atomic_load_n(at, __ATOMIC_RELAXED);
    count(registry, address, ENDED);
    if ((state & REFERENCES) > 1) {
        count(registry, address, UNSEEN);
    }
    __atomic_store_n(at, 0, __ATOMIC_RELEASE);
    return true;
}

void sonde__registry_miss(const struct sonde__registry *registry)
{
    count(registry, 0, UNKNOWN);
}

bool sonde__registry_get(const struct sonde__registry *registry, uint32_t place,
                         struct sonde__registry_block *ret_block)
{
    struct sonde__registry_block block;
    const uint64_t *at = address_at(registry, place);
    if (__atomic_load_n(at, __ATOMIC_RELAXED) == 0) {
        return false; /* free: do not touch the memory of its entry */
    }
    const struct entry *entry = entry_at(registry, place);
    uint64_t state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
    block.address = __atomic_load_n(at, __ATOMIC_RELAXED);
    block.time_ns = __atomic_load_n(&entry->time_ns, __ATOMIC_RELAXED);
    block.invoke = __atomic_load_n(&entry->invoke, __ATOMIC_RELAXED);
    block.stack = __atomic_load_n(&entry->stack, __ATOMIC_RELAXED);
    block.tid = __atomic_load_n(&entry->tid, __ATOMIC_RELAXED);
    block.size_bytes = __atomic_load_n(&entry->size_form, __ATOMIC_RELAXED);
    block.form = block.size_bytes & FORM_MASK;
    block.size_bytes >>= FORM_BITS;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    uint64_t now = __atomic_load_n(&entry->state, __ATOMIC_RELAXED);
    if (block.address == 0 || (state & REFERENCES) == 0 || (now & REFERENCES) == 0 ||
        (now & ~REFERENCES) != (state & ~REFERENCES)) {
        return false;
    }
    *ret_block = block;
    return true;
}

bool sonde__registry_find(const struct sonde__registry *registry, uint64_t address,
                          struct sonde__registry_block *ret_block)
{
    struct sonde__registry_block block;
    uint32_t place = sonde__registry_place(registry, address);
    if (place == SONDE__REGISTRY_NONE || !sonde__registry_get(registry, place, &block) ||
        block.address != address) {
        return false;
    }
    *ret_block = block;
    return true;
}

struct sonde__registry_total sonde__registry_total(const struct sonde__registry *registry)
{
    uint64_t sums[COUNTERS] = {0};
    for (uint32_t i = 0; i < STRIPES; i++) {
        for (uint32_t k = 0; k < COUNTERS; k++) {
            sums[k] += __atomic_load_n(&stripes_of(registry)[i].counters[k], __ATOMIC_RELAXED);
        }
    }
    return (struct sonde__registry_total){
        .made = sums[MADE],
        .ended = sums[ENDED],
        .dropped = sums[DROPPED],
        .replaced = sums[REPLACED],
        .unseen = sums[UNSEEN],
        .unknown = sums[UNKNOWN],
    };
}
