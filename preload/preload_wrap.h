// SPDX-License-Identifier: Apache-2.0
/* The shape of every wrapper. */
#ifndef SONDE_PRELOAD_WRAP_H
#define SONDE_PRELOAD_WRAP_H

#include <errno.h>

#include "preload.h"

#define PRELOAD_EXPORT __attribute__((visibility("default")))

/* PRELOAD_WRAP(type, name, (parameters), (arguments), kind, object, instant, learn)
 *
 * The stack address is that of a variable: asking for the frame address would make the compiler
 * keep a frame pointer, and then a passive read of the waiting thread, which knows only its stack
 * pointer, could not be unwound by CFI alone.
 * The real function's errno is the caller's: nothing after it changes errno (preload_end() keeps
 * it). Where libc does not have the function, it is as if the kernel had not. */
#define PRELOAD_LIST(...) __VA_ARGS__
#define PRELOAD_WRAP(type, name, parameters, arguments, kind_, object_, instant_, learn_)          \
    static __attribute__((noinline))                                                               \
    type name##_other(uintptr_t sp_, uintptr_t caller_, void *real_, PRELOAD_LIST parameters)      \
    {                                                                                              \
        type(*real) parameters = (type(*) parameters)(uintptr_t)real_;                             \
        if (real == NULL) {                                                                        \
            errno = ENOSYS;                                                                        \
            return (type)-1;                                                                       \
        }                                                                                          \
        struct sonde__probe_slot *slot =                                                           \
            preload_learn((kind_), (object_), sp_, caller_,                                        \
                          ((instant_) ? PRELOAD_INSTANT : 0u) | ((learn_) ? PRELOAD_LEARN : 0u));  \
        type result = real arguments;                                                              \
        if (slot != NULL) {                                                                        \
            preload_end(slot);                                                                     \
        }                                                                                          \
        return result;                                                                             \
    }                                                                                              \
    PRELOAD_EXPORT type name parameters;                                                           \
    PRELOAD_EXPORT type name parameters                                                            \
    {                                                                                              \
        static struct preload_cell cell                                                            \
            __attribute__((used, section("preload_cells"))) = {#name, NULL};                       \
        void *real = preload_real(&cell);                                                          \
        char here;                                                                                 \
        struct sonde__probe_slot *slot =                                                           \
            preload_known((kind_), (object_), (uintptr_t)&here, (instant_));                       \
        if (__builtin_expect(slot == NULL || real == NULL, false)) {                               \
            return name##_other((uintptr_t)&here, (uintptr_t)__builtin_return_address(0), real,    \
                                PRELOAD_LIST arguments);                                           \
        }                                                                                          \
        type result = ((type(*) parameters)(uintptr_t)real)arguments;                              \
        preload_end(slot);                                                                         \
        return result;                                                                             \
    }

#endif
