// SPDX-License-Identifier: Apache-2.0
/* Caches the strings of whole stacks.
 *
 * A hash table with chains that only grow, so look-ups take no lock. An entry matches if all pcs
 * and `how` bytes are equal, and the loader still has the images of the snapshot that the entry was
 * made or last checked with. */
#include <sonde/text.h>

#include "api_names.h"
#include "base_mem.h"
#include "capture_walk.h"
#include "mem_heap.h"
#include "os.h"

enum {
    CHAINS = 4096, /* 16 MiB hold some 7000 stacks of 30 frames */
    IMAGES = 16,   /* distinct images of a stack that are checked individually */
};

struct strings_entry {
    struct strings_entry *next;
    uint64_t hash;
    _Atomic uint64_t generation; /* of the snapshot that it was made or last checked with */
    uint64_t lost_count;
    uint32_t lost_at, count, line_count;
    uint8_t style, end;
    uint32_t image_count;       /* > IMAGES: checked by making the text again */
    uint64_t image_pcs[IMAGES]; /* an address in each */
    const uint64_t *pcs;
    const uint8_t *how;
    const char *const *lines;
};

struct names_strings {
    struct sonde__arena arena;
    size_t bytes;
    _Atomic(struct strings_entry *) chains[CHAINS];
};

void names_strings_destroy(struct names_strings *strings)
{
    if (strings != NULL) {
        sonde__arena_done(&strings->arena);
        sonde__mem_free(strings);
    }
}

/* Four independent sums, which the processor computes in parallel. */
static uint64_t hash_stack(enum sonde_style style, const struct sonde_stack *stack)
{
    static const uint64_t k = 0x9e3779b97f4a7c15u;
    uint64_t h[4] = {stack->count, style, stack->lost_count, stack->end};
    const uint64_t *pcs = stack->pcs;
    uint32_t i = 0;
    for (; i + 4 <= stack->count; i += 4) {
        for (unsigned lane = 0; lane < 4; lane++) {
            uint64_t x = (h[lane] ^ pcs[i + lane]) * k;
            h[lane] = x ^ x >> 29;
        }
    }
    for (; i < stack->count; i++) {
        uint64_t x = (h[i % 4] ^ pcs[i]) * k;
        h[i % 4] = x ^ x >> 29;
    }
    h[0] = (h[0] ^ h[1] * 3) * k;
    h[2] = (h[2] ^ h[3] * 5) * k;
    return (h[0] ^ h[2] >> 31) * k;
}

static bool is_equal(const struct strings_entry *entry, enum sonde_style style, uint64_t hash,
                     const struct sonde_stack *stack)
{
    return entry->hash == hash && entry->count == stack->count && entry->style == style &&
           entry->end == stack->end && entry->lost_count == stack->lost_count &&
           (stack->lost_count == 0 || entry->lost_at == stack->lost_at) &&
           __builtin_memcmp(entry->pcs, stack->pcs, stack->count * sizeof *stack->pcs) == 0 &&
           __builtin_memcmp(entry->how, stack->how, stack->count) == 0;
}

/* Are the images still those of the snapshot that the entry was made with? */
static bool is_current(const struct strings_entry *entry)
{
    struct sonde__capture_pin pin = sonde__capture_pin();
    struct sonde__capture_finder finder; /* its image is large, and set when it is used */
    bool current =
        entry->image_count <= IMAGES && pin.images != NULL &&
        pin.images->generation == atomic_load_explicit(&entry->generation, memory_order_relaxed);
    finder.snapshot = pin.images;
    for (uint32_t i = 0; current && i < entry->image_count; i++) {
        uint64_t pc = entry->image_pcs[i];
        const struct sonde__image *image =
            sonde__capture_check_image(&finder, sonde__image_find(pin.images, pc), pc);
        current = image != NULL && image != &finder.made;
    }
    sonde__capture_unpin(pin);
    return current;
}

static struct strings_entry *find(struct names_strings *strings, enum sonde_style style,
                                  uint64_t hash, const struct sonde_stack *stack)
{
    struct strings_entry *entry =
        atomic_load_explicit(&strings->chains[hash % CHAINS], memory_order_acquire);
    while (entry != NULL && !(is_equal(entry, style, hash, stack) && is_current(entry))) {
        entry = entry->next;
    }
    return entry;
}

/* --- making an entry --- */

static uint64_t generation_now(void)
{
    struct sonde__capture_pin pin = sonde__capture_pin();
    uint64_t generation = pin.images != NULL ? pin.images->generation : 0;
    sonde__capture_unpin(pin);
    return generation;
}

/* Note one address in each image of the stack. A pc outside of images cannot be checked. */
static void note_images(struct strings_entry *entry, const struct sonde_stack *stack)
{
    struct sonde__capture_pin pin = sonde__capture_pin();
    const struct sonde__image *seen[IMAGES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < stack->count && count <= IMAGES; i++) {
        uint64_t pc = sonde_stack_lookup_pc(stack, i);
        const struct sonde__image *image =
            pin.images != NULL ? sonde__image_find(pin.images, pc) : NULL;
        uint32_t k = 0;
        while (image != NULL && k < count && seen[k] != image) {
            k++;
        }
        if (image == NULL || (k == count && count == IMAGES)) {
            count = IMAGES + 1;
        } else if (k == count) {
            entry->image_pcs[count] = pc;
            seen[count++] = image;
        }
    }
    entry->image_count = count;
    atomic_store_explicit(&entry->generation, pin.images != NULL ? pin.images->generation : 0,
                          memory_order_relaxed);
    sonde__capture_unpin(pin);
}

uint32_t names_count_lines(const char *text, size_t length)
{
    uint32_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += text[i] == '\n';
    }
    return count;
}

void names_split_lines(char *text, const char **ret_lines, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ret_lines[i] = text;
        while (*text != '\n') {
            text++;
        }
        *text++ = '\0';
    }
}

static bool has_lines(const struct strings_entry *entry, const char *text, size_t length)
{
    for (uint32_t i = 0; i < entry->line_count; i++) {
        size_t size = sonde__base_str_length(entry->lines[i]);
        if (size + 1 > length || sonde__base_mem_compare(entry->lines[i], text, size) != 0 ||
            text[size] != '\n') {
            return false;
        }
        text += size + 1;
        length -= size + 1;
    }
    return length == 0;
}

/* With the mutex held. */
static enum sonde_status add(struct names_strings *strings, enum sonde_style style, uint64_t hash,
                             const struct sonde_stack *stack, const char *text, size_t length,
                             struct strings_entry **ret_entry)
{
    uint32_t line_count = names_count_lines(text, length);
    size_t pcs_bytes = stack->count * sizeof *stack->pcs;
    size_t lines_bytes = line_count * sizeof(char *);
    size_t size =
        sizeof(struct strings_entry) + pcs_bytes + lines_bytes + stack->count + length + 1;
    struct strings_entry *entry;
    char *at;
    if (size > SONDE_STRINGS_BYTES_MAX - strings->bytes) {
        return SONDE_LIMIT;
    }
    entry = sonde__arena_alloc(&strings->arena, size);
    if (entry == NULL) {
        return SONDE_MEMORY;
    }
    strings->bytes += size;
    sonde__base_mem_set(entry, 0, sizeof *entry);
    at = (char *)(entry + 1);
    entry->pcs = sonde__base_mem_copy(at, stack->pcs, pcs_bytes);
    at += pcs_bytes;
    entry->lines = (const char *const *)(void *)at;
    at += lines_bytes;
    entry->how = sonde__base_mem_copy(at, stack->how, stack->count);
    at += stack->count;
    sonde__base_mem_copy(at, text, length);
    names_split_lines(at, (const char **)(uintptr_t)entry->lines, line_count);
    entry->hash = hash;
    entry->style = (uint8_t)style;
    entry->end = stack->end;
    entry->lost_count = stack->lost_count;
    entry->lost_at = stack->lost_at;
    entry->count = stack->count;
    entry->line_count = line_count;
    note_images(entry, stack);
    entry->next = atomic_load_explicit(&strings->chains[hash % CHAINS], memory_order_relaxed);
    atomic_store_explicit(&strings->chains[hash % CHAINS], entry, memory_order_release);
    *ret_entry = entry;
    return SONDE_OK;
}

/* Find the entry with the current text, or add it. */
static enum sonde_status make(struct sonde_symbolizer *symbolizer, enum sonde_style style,
                              uint64_t hash, const struct sonde_stack *stack,
                              struct strings_entry **ret_entry)
{
    size_t length = 0;
    struct names_strings *strings;
    enum sonde_status status = SONDE_OK;
    char *text = names_stack_text(symbolizer, style, stack, &length);
    if (text == NULL) {
        return SONDE_MEMORY;
    }
    pthread_mutex_lock(&symbolizer->mutex);
    strings = atomic_load(&symbolizer->strings);
    if (strings == NULL) {
        strings = sonde__mem_alloc_zeroed(sizeof *strings);
        if (strings != NULL) {
            sonde__arena_init(&strings->arena);
            atomic_store_explicit(&symbolizer->strings, strings, memory_order_release);
        }
    }
    if (strings == NULL) {
        status = SONDE_MEMORY;
    } else {
        struct strings_entry *entry =
            atomic_load_explicit(&strings->chains[hash % CHAINS], memory_order_relaxed);
        while (entry != NULL &&
               !(is_equal(entry, style, hash, stack) && has_lines(entry, text, length))) {
            entry = entry->next;
        }
        if (entry != NULL) {
            atomic_store_explicit(&entry->generation, generation_now(), memory_order_relaxed);
            *ret_entry = entry;
        } else {
            status = add(strings, style, hash, stack, text, length, ret_entry);
        }
    }
    pthread_mutex_unlock(&symbolizer->mutex);
    sonde__mem_free(text);
    return status;
}

enum sonde_status sonde_stack_strings(struct sonde_symbolizer *symbolizer, enum sonde_style style,
                                      const struct sonde_stack *stack,
                                      const char *const **ret_lines, uint32_t *ret_count)
{
    struct names_strings *strings;
    struct strings_entry *entry = NULL;
    uint64_t hash;
    enum sonde_status status = SONDE_OK;
    if (symbolizer == NULL || stack == NULL || ret_lines == NULL || ret_count == NULL ||
        (unsigned)style > SONDE_STYLE_GLIBC) {
        return SONDE_USAGE;
    }
    hash = hash_stack(style, stack);
    strings = atomic_load_explicit(&symbolizer->strings, memory_order_acquire);
    if (strings != NULL) {
        entry = find(strings, style, hash, stack);
    }
    if (entry == NULL) {
        status = make(symbolizer, style, hash, stack, &entry);
    }
    if (status == SONDE_OK) {
        *ret_lines = entry->lines;
        *ret_count = entry->line_count;
    }
    return status;
}
