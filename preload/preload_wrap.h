// SPDX-License-Identifier: Apache-2.0
/* The shape of every wrapper. */
#ifndef SONDE_PRELOAD_WRAP_H
#define SONDE_PRELOAD_WRAP_H

#include <errno.h>

#include "preload.h"

#define PRELOAD_EXPORT __attribute__((visibility("default")))

/* Where the address of a real function is kept. All are looked up when the process starts: looking
 * up takes the loader's lock, which a wrapper called from a signal handler may not. */
struct preload_cell {
    const char *name;
    void *real;
};

/* PRELOAD_WRAP(type, name, (parameters), (arguments), kind, object, instant, learn)
 *
 * The stack address is that of a variable: asking for the frame address would make the compiler
 * keep a frame pointer, and then a passive read of the waiting thread, which knows only its stack
 * pointer, could not be unwound by CFI alone.
 * The real function's errno is the caller's: nothing after it changes errno (preload_end() keeps
 * it). Where libc does not have the function, it is as if the kernel had not. */
#define PRELOAD_WRAP(type, name, parameters, arguments, kind_, object_, instant_, learn_)          \
    PRELOAD_EXPORT type name parameters;                                                           \
    PRELOAD_EXPORT type name parameters                                                            \
    {                                                                                              \
        static struct preload_cell cell                                                            \
            __attribute__((used, section("preload_cells"))) = {#name, NULL};                       \
        type(*real) parameters = (type(*) parameters)(uintptr_t)preload_real(&cell);               \
        struct sonde__probe_wait wait = {                                                          \
            (object_), (uintptr_t)&wait, (uintptr_t)__builtin_return_address(0),                   \
            (kind_),   (instant_),       (learn_)};                                                \
        if (__builtin_expect(real == NULL, false)) {                                               \
            errno = ENOSYS;                                                                        \
            return (type)-1;                                                                       \
        }                                                                                          \
        struct sonde__probe_slot *slot = preload_begin(&wait);                                     \
        type result = real arguments;                                                              \
        if (slot != NULL) {                                                                        \
            preload_end(slot);                                                                     \
        }                                                                                          \
        return result;                                                                             \
    }

#endif
