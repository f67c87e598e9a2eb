// SPDX-License-Identifier: Apache-2.0
/* The calling thread's stack as strings, from a private symbolizer. */
#include <sonde/text.h>

#include "api_names.h"
#include "api_thread.h"
#include "base_mem.h"
#include "capture_walk.h"
#include "mem_heap.h"

static _Atomic(struct sonde_symbolizer *) shared;

/* In a fork child: a thread of the parent may have held the lock and left its work half done, so
 * the child starts with a new symbolizer. */
static void check_shared(void)
{
    struct sonde_symbolizer *known = atomic_load(&shared);
    if (known != NULL && pthread_mutex_trylock(&known->mutex) != 0) {
        atomic_store(&shared, NULL);
    } else if (known != NULL) {
        pthread_mutex_unlock(&known->mutex);
    }
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, check_shared);
}

static struct sonde_symbolizer *shared_symbolizer(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct sonde_symbolizer *known = atomic_load_explicit(&shared, memory_order_acquire);
    struct sonde_symbolizer *fresh = NULL;
    if (known != NULL) {
        return known;
    }
    if (sonde_symbolizer_create(&fresh) != SONDE_OK) {
        return NULL;
    }
    pthread_once(&once, watch_forks);
    if (atomic_compare_exchange_strong(&shared, &known, fresh)) {
        return fresh;
    }
    sonde_symbolizer_destroy(fresh);
    return known;
}

char **sonde__api_callstack_symbols(uint32_t depth_max, uint32_t *ret_count,
                                    const struct sonde__regs *caller);
const char *const *sonde__api_callstack_strings(uint32_t depth_max, uint32_t *ret_count,
                                                const struct sonde__regs *caller);

/* Copy the lines into one allocation: pointers, then the texts. */
static char **one_block(const char *text, size_t length, uint32_t *ret_count)
{
    uint32_t count = names_count_lines(text, length);
    char **block = sonde__mem_alloc(count * sizeof *block + length + 1);
    if (block != NULL) {
        char *at = (char *)(block + count);
        sonde__base_mem_copy(at, text, length);
        names_split_lines(at, (const char **)(uintptr_t)block, count);
        *ret_count = count;
    }
    return block;
}

char **sonde__api_callstack_symbols(uint32_t depth_max, uint32_t *ret_count,
                                    const struct sonde__regs *caller)
{
    struct sonde_symbolizer *symbolizer = shared_symbolizer();
    uint32_t depth = depth_max < SONDE_WHOLE_FRAMES_MAX ? depth_max : SONDE_WHOLE_FRAMES_MAX;
    struct sonde_stack stack;
    char **block = NULL;
    size_t length = 0;
    char *text;
    if (ret_count == NULL) {
        return NULL;
    }
    *ret_count = 0;
    if (symbolizer == NULL || depth == 0 || !sonde__api_stack_alloc(&stack, depth, 0)) {
        return NULL;
    }
    sonde__capture_walk(&stack, caller, false, 0, SONDE__CAPTURE_OWN);
    text = names_stack_text(symbolizer, SONDE_STYLE_CALLSTACK, &stack, &length);
    if (text != NULL) {
        block = one_block(text, length, ret_count);
    }
    sonde__mem_free(text);
    sonde_stack_free(&stack);
    return block;
}

const char *const *sonde__api_callstack_strings(uint32_t depth_max, uint32_t *ret_count,
                                                const struct sonde__regs *caller)
{
    struct sonde_symbolizer *symbolizer = shared_symbolizer();
    uint64_t pcs[SONDE_CALLSTACK_STRINGS_DEPTH_MAX];
    uint8_t how[SONDE_CALLSTACK_STRINGS_DEPTH_MAX];
    const char *const *lines = NULL;
    struct sonde_stack stack;
    uint32_t depth = depth_max < SONDE_CALLSTACK_STRINGS_DEPTH_MAX
                         ? depth_max
                         : SONDE_CALLSTACK_STRINGS_DEPTH_MAX;
    if (ret_count == NULL) {
        return NULL;
    }
    *ret_count = 0;
    if (symbolizer == NULL || depth == 0) {
        return NULL;
    }
    sonde_stack_init(&stack, pcs, how, depth, 0);
    sonde__capture_walk(&stack, caller, false, 0, SONDE__CAPTURE_OWN);
    return sonde_stack_strings(symbolizer, SONDE_STYLE_CALLSTACK, &stack, &lines, ret_count) ==
                   SONDE_OK
               ? lines
               : NULL;
}
