// SPDX-License-Identifier: Apache-2.0
/* Differences of block runtimes: the place of the reference count, and the mark of a heap block.
 * Sources: libclosure runtime.cpp; compiler-rt lib/BlocksRuntime/runtime.c (3.x, Debian's
 * libblocksruntime0); libobjc2 blocks_runtime.m; swift-corelibs-libdispatch
 * src/BlocksRuntime/runtime.c. */
#include <string.h>

#include "block.h"

#define COUNT_MASK 0xffffu
#define COUNT_FULL 0xfffeu /* Apple: the count saturates here */

enum sonde__block_runtime sonde__block_runtime_of(bool (*has_symbol)(void *ctx, const char *name),
                                                  void *ctx)
{
    /* libobjc2 includes the Objective-C runtime */
    if (has_symbol(ctx, "objc_msg_lookup_sender") || has_symbol(ctx, "block_getType_np")) {
        return SONDE__BLOCK_RUNTIME_OBJC2;
    }
    if (has_symbol(ctx, "_Block_tryRetain") || has_symbol(ctx, "_Block_use_RR2")) {
        return SONDE__BLOCK_RUNTIME_APPLE;
    }
    return has_symbol(ctx, "Block_size") && has_symbol(ctx, "_Block_dump")
               ? SONDE__BLOCK_RUNTIME_COMPILER_RT
               : SONDE__BLOCK_RUNTIME_UNKNOWN;
}

enum sonde__block_class sonde__block_class_of(const char *symbol)
{
    static const struct {
        const char *name;
        enum sonde__block_class class_;
    } classes[] = {
        {"_NSConcreteStackBlock", SONDE__BLOCK_CLASS_STACK},
        {"_NSConcreteMallocBlock", SONDE__BLOCK_CLASS_MALLOC},
        {"_NSConcreteGlobalBlock", SONDE__BLOCK_CLASS_GLOBAL},
        {"_NSConcreteAutoBlock", SONDE__BLOCK_CLASS_GC},
        {"_NSConcreteFinalizingBlock", SONDE__BLOCK_CLASS_GC},
        {"_NSConcreteWeakBlockVariable", SONDE__BLOCK_CLASS_GC},
    };
    if (symbol == NULL) {
        return SONDE__BLOCK_CLASS_OTHER;
    }
    if (symbol[0] == '_' && symbol[1] == '_') { /* Mach-O */
        symbol++;
    }
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(symbol, classes[i].name) == 0) {
            return classes[i].class_;
        }
    }
    return SONDE__BLOCK_CLASS_OTHER;
}

static void state_of_objc2(const struct sonde__block_literal *literal, enum sonde__block_class isa,
                           struct sonde__block_state *state)
{
    if (isa != SONDE__BLOCK_CLASS_MALLOC) {
        state->place =
            isa == SONDE__BLOCK_CLASS_GLOBAL ? SONDE__BLOCK_PLACE_GLOBAL : SONDE__BLOCK_PLACE_STACK;
        return;
    }
    state->place =
        (int32_t)literal->reserved > 0 ? SONDE__BLOCK_PLACE_HEAP : SONDE__BLOCK_PLACE_DEAD;
    state->count = state->place == SONDE__BLOCK_PLACE_HEAP ? literal->reserved : 0;
}

void sonde__block_state_of(const struct sonde__block_literal *literal,
                           enum sonde__block_runtime runtime, enum sonde__block_class isa,
                           struct sonde__block_state *ret_state)
{
    uint32_t count = literal->flags & COUNT_MASK;
    struct sonde__block_state state = {.place = SONDE__BLOCK_PLACE_STACK};
    if (runtime == SONDE__BLOCK_RUNTIME_OBJC2) {
        state_of_objc2(literal, isa, &state);
    } else if (literal->flags & SONDE_BLOCK_HEAP) {
        bool by_two = runtime == SONDE__BLOCK_RUNTIME_APPLE;
        bool is_dead = by_two ? count < 2 || (count & SONDE_BLOCK_DEALLOCATING) != 0 : count == 0;
        state.place = is_dead ? SONDE__BLOCK_PLACE_DEAD : SONDE__BLOCK_PLACE_HEAP;
        state.is_count_full = by_two ? count == COUNT_FULL : count == COUNT_MASK;
        state.count = is_dead ? 0 : by_two ? count >> 1 : count;
    } else if ((literal->flags & SONDE_BLOCK_GLOBAL) != 0 &&
               (literal->flags & SONDE_BLOCK_NOESCAPE) == 0) {
        /* NOESCAPE blocks have the class and the flag of a global one, but are on the stack */
        state.place = SONDE__BLOCK_PLACE_GLOBAL;
    }
    *ret_state = state;
}
