// SPDX-License-Identifier: Apache-2.0
/* The shape of every wrapper. */
#ifndef SONDE_PRELOAD_WRAP_H
#define SONDE_PRELOAD_WRAP_H

#include <errno.h>

#include "preload.h"

#define PRELOAD_EXPORT __attribute__((visibility("default")))

/* PRELOAD_WRAP(type, name, (parameters), (arguments), kind, object, instant, flags)
 *
 * kind, object and instant are evaluated for every call, in a function where caller_ is the
 * wrapper's return address; flags (PRELOAD_LEARN, PRELOAD_TIMED) only on the slow path.
 *
 * The stack address is a variable's: with the frame address the compiler would keep a frame
 * pointer, and a passive read of the waiting thread, which knows only its stack pointer, could not
 * be unwound by CFI alone.
 *
 * The caller gets the real function's errno: nothing after it changes errno (preload_end()
 * preserves it). If libc does not have the function, the wrapper fails as if the kernel had not. */
#define PRELOAD_LIST(...) __VA_ARGS__
#define PRELOAD_WRAP(type, name, parameters, arguments, kind_, object_, instant_, flags_)          \
    PRELOAD_WRAP_CALL(type, name, parameters, arguments, kind_, object_, instant_, flags_,         \
                      ((type(*) parameters)(uintptr_t)real)arguments)
/* As in libc, a plain system call in a process with one thread. */
#define PRELOAD_WRAP_SYSCALL(name, parameters, arguments, kind_, object_, instant_, flags_,        \
                             number_, a_, b_, c_, d_)                                              \
    PRELOAD_WRAP_CALL(int, name, parameters, arguments, kind_, object_, instant_, flags_,          \
                      preload_is_direct(&cell) ? (int)preload_syscall(number_, a_, b_, c_, d_)     \
                                               : ((int(*) parameters)(uintptr_t)real)arguments)
#define PRELOAD_WRAP_CALL(type, name, parameters, arguments, kind_, object_, instant_, flags_,     \
                          call_)                                                                   \
    static __attribute__((noinline))                                                               \
    type name##_other(uintptr_t sp_, uintptr_t caller_, void *real_, PRELOAD_LIST parameters)      \
    {                                                                                              \
        type(*real) parameters = (type(*) parameters)(uintptr_t)real_;                             \
        if (real == NULL) {                                                                        \
            errno = ENOSYS;                                                                        \
            return (type)-1;                                                                       \
        }                                                                                          \
        struct sonde__probe_slot *slot = preload_learn(                                            \
            (kind_), (object_), sp_, caller_, ((instant_) ? PRELOAD_INSTANT : 0u) | (flags_));     \
        type result = real arguments;                                                              \
        if (slot != NULL) {                                                                        \
            preload_end_any(slot);                                                                 \
        }                                                                                          \
        return result;                                                                             \
    }                                                                                              \
    PRELOAD_EXPORT type name parameters;                                                           \
    PRELOAD_EXPORT type name parameters                                                            \
    {                                                                                              \
        static struct preload_cell cell                                                            \
            __attribute__((used, section("preload_cells"))) = {#name, NULL, 0};                    \
        void *real = preload_real(&cell);                                                          \
        char here;                                                                                 \
        uintptr_t caller_ = (uintptr_t)__builtin_return_address(0);                                \
        struct sonde__probe_slot *slot =                                                           \
            preload_known((kind_), (object_), (uintptr_t)&here, (instant_));                       \
        if (__builtin_expect(slot == NULL || real == NULL, false)) {                               \
            return name##_other((uintptr_t)&here, caller_, real, PRELOAD_LIST arguments);          \
        }                                                                                          \
        type result = (call_);                                                                     \
        preload_end(slot);                                                                         \
        return result;                                                                             \
    }

#endif
