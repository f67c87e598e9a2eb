// SPDX-License-Identifier: Apache-2.0
/* Finds the locking function that a blocked thread called. Private to cause.
 *
 * A frame counts if it lies in such a function by the symbols of its image, or if its call
 * instruction leads to one, directly or through a linkage stub: libc often jumps from the called
 * function to one without a symbol. */
#ifndef SONDE_CAUSE_FUNCTION_H
#define SONDE_CAUSE_FUNCTION_H

#include "target.h"

enum cause_function {
    CAUSE_FN_NONE,
    CAUSE_FN_MUTEX,
    CAUSE_FN_RWLOCK_READ,
    CAUSE_FN_RWLOCK_WRITE,
    CAUSE_FN_CONDITION,
    CAUSE_FN_SEMAPHORE,
    CAUSE_FN_BARRIER,
    CAUSE_FN_ONCE,
    CAUSE_FN_JOIN,
};

/* The library of the function. It determines whether and where owners are recorded. */
enum cause_maker {
    CAUSE_BY_OTHER,
    CAUSE_BY_GLIBC,
    CAUSE_BY_MUSL,
    CAUSE_BY_GLIB, /* GMutex and its like */
    CAUSE_BY_RUST,
    CAUSE_BY_CXX, /* the C++ runtime */
};

struct cause_called {
    uint8_t function; /* enum cause_function */
    uint8_t maker;    /* enum cause_maker */
};

struct cause_functions;
/* Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status cause_functions_create(struct sonde__target *target,
                                                         struct cause_functions **ret_functions);
void cause_functions_destroy(struct cause_functions *functions);

struct cause_called cause_function_find(struct cause_functions *functions,
                                        const struct sonde_stack *stack);
/* Does this code belong to glibc? */
bool cause_function_is_glibc(struct cause_functions *functions, uint64_t pc);

/* The function with this name; separate for tests. */
struct cause_called cause_function_named(const char *name);

#endif
