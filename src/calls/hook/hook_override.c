// SPDX-License-Identifier: Apache-2.0
/* Subclasses that override a hooked method. Their methods are not hooked with it: one that calls
 * super's would count twice. So they are named. Class clusters have such ones. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch_regs.h"
#include "hook_objc.h"
#include "mem_heap.h"
#include "probe_hook.h"

static bool has_own(const struct sonde__hook_objc *runtime, const struct sonde__hook_method *method,
                    void *class)
{
    struct sonde__hook_method_name name;
    uint32_t unused;
    if (!sonde__hook_method_parse(method->name, &name)) {
        return false;
    }
    void *own = sonde__hook_objc_method(runtime, sonde__hook_objc_holder(class, &name), &name);
    uint64_t to = own == NULL
                      ? 0
                      : sonde__arch_strip_pac(SONDE__ARCH_HOST,
                                              (uint64_t)(uintptr_t)runtime->implementation(own));
    return to != 0 && !sonde__probe_hook_index(to, &unused) && /* it is hooked itself */
           to != sonde__arch_strip_pac(SONDE__ARCH_HOST, method->old);
}

static void note(const struct sonde__hook_objc *runtime, struct sonde__hook_method *method,
                 void *class)
{
    if (method->overriders++ == 0) {
        snprintf(method->overrider, sizeof method->overrider, "%s", runtime->class_name(class));
    }
}

static int by_base(const void *left, const void *right)
{
    const struct sonde__hook_method *const *a = left, *const *b = right;
    uintptr_t x = (uintptr_t)(*a)->base, y = (uintptr_t)(*b)->base;
    return (x > y) - (x < y);
}

/* The first of those that are ordered by their base and not below it. */
static uint32_t first_of(struct sonde__hook_method *const *ordered, uint32_t count, void *base)
{
    uint32_t first = 0;
    while (count > 0) {
        uint32_t half = count / 2;
        bool is_below = (uintptr_t)ordered[first + half]->base < (uintptr_t)base;
        first = is_below ? first + half + 1 : first;
        count = is_below ? count - half - 1 : half;
    }
    return first;
}

static void look_at(const struct sonde__hook_objc *runtime, void *class,
                    struct sonde__hook_method *const *ordered, uint32_t count)
{
    for (void *base = runtime->superclass(class); base != NULL; base = runtime->superclass(base)) {
        for (uint32_t i = first_of(ordered, count, base); i < count && ordered[i]->base == base;
             i++) {
            if (has_own(runtime, ordered[i], class)) {
                note(runtime, ordered[i], class);
            }
        }
    }
}

/* Those that are hooked, ordered by their class. */
static uint32_t order(struct sonde__hook_method *methods, uint32_t count,
                      struct sonde__hook_method **ret_ordered)
{
    uint32_t hooked = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (atomic_load(&methods[i].state) == SONDE__HOOK_METHOD_HOOKED) {
            methods[i].overriders = 0;
            ret_ordered[hooked++] = &methods[i];
        }
    }
    qsort(ret_ordered, hooked, sizeof(void *), by_base);
    return hooked;
}

static void look(const struct sonde__hook_objc *runtime, struct sonde__hook_method *methods,
                 uint32_t count)
{
    int capacity = runtime->list_classes(NULL, 0);
    void **classes =
        capacity > 0 ? sonde__mem_alloc_array((size_t)capacity, sizeof *classes) : NULL;
    struct sonde__hook_method **ordered = sonde__mem_alloc_array(count, sizeof(void *));
    if (classes != NULL && ordered != NULL) {
        uint32_t hooked = order(methods, count, ordered);
        int listed = runtime->list_classes(classes, capacity);
        for (int i = 0; i < capacity && i < listed && hooked != 0; i++) {
            look_at(runtime, classes[i], ordered, hooked);
        }
    }
    sonde__mem_free(classes);
    sonde__mem_free(ordered);
}

void sonde__hook_overrides_look(struct sonde__hook_method *methods, uint32_t count)
{
    struct sonde__hook_objc runtime;
    if (count != 0 && sonde__hook_objc_find(&runtime)) {
        look(&runtime, methods, count);
    }
}
