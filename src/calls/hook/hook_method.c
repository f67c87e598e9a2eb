// SPDX-License-Identifier: Apache-2.0
#include "hook_method.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arch_regs.h"
#include "arch_sign.h"
#include "hook_objc.h"

/* The ABI between compilers and GNU's runtime (gcc libobjc/objc-private/module-abi-8.h, and
 * method_setImplementation() and objc_msg_lookup() of libobjc.so.4). */
enum { CLASS_TABLE = 8, METHOD_IMPLEMENTATION = 2 }; /* words */

static bool is_of_class(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '.';
}

bool sonde__hook_method_parse(const char *text, struct sonde__hook_method_name *ret_name)
{
    if ((text[0] != '-' && text[0] != '+') || text[1] != '[') {
        return false;
    }
    const char *class_name = text + 2, *at = class_name;
    while (is_of_class(*at)) {
        at++;
    }
    const char *selector = at + 1;
    if (at == class_name || *at != ' ') {
        return false;
    }
    for (at = selector; is_of_class(*at) || *at == ':'; at++) {
    }
    if (at == selector || at[0] != ']' || at[1] != '\0') {
        return false;
    }
    *ret_name = (struct sonde__hook_method_name){
        .of_class = text[0] == '+',
        .class_name = class_name,
        .class_size = (size_t)(selector - 1 - class_name),
        .selector = selector,
        .selector_size = (size_t)(at - selector),
    };
    return true;
}

/* Give the class a method of its own, which does what the inherited one does. Null: it inherits
 * none, or the runtime refuses. The runtime cannot remove it again. (GNU's knows the superclass of
 * a metaclass late, so those of classes are followed.) */
static void *add_inherited(const struct sonde__hook_objc *runtime, void *class,
                           const struct sonde__hook_method_name *name)
{
    void *found = NULL;
    if (runtime->no_table != NULL) {
        return NULL;
    }
    for (void *from = runtime->superclass(class); from != NULL && found == NULL;
         from = runtime->superclass(from)) {
        found = sonde__hook_objc_method(runtime, sonde__hook_objc_holder(from, name), name);
    }
    return found != NULL && runtime->add_method(
                                sonde__hook_objc_holder(class, name), runtime->selector_of(found),
                                runtime->implementation(found), runtime->types(found)) != 0
               ? sonde__hook_objc_method(runtime, sonde__hook_objc_holder(class, name), name)
               : NULL;
}

/* No class or selector has a longer name. */
enum { CLASS_NAME_MAX = 255 };

/* Before a class's first message its methods are in lists only; the first message builds the
 * table from them, after +initialize. GNU's function would write into the table that all such
 * classes have in common: +initialize would never be sent. It also leaves the tables of subclasses
 * as they are, which may have been built already. */
static void set_implementation(const struct sonde__hook_objc *runtime, void *class, void *method,
                               uint64_t to)
{
    if (runtime->no_table != NULL && ((void **)class)[CLASS_TABLE] == *runtime->no_table) {
        __atomic_store_n((uint64_t *)method + METHOD_IMPLEMENTATION, to, __ATOMIC_RELEASE);
    } else {
        (void)runtime->set_implementation(method, (void *)(uintptr_t)to);
        if (runtime->update_tables != NULL) {
            runtime->update_tables(class);
        }
    }
}

static uint32_t look_for(const struct sonde__hook_objc *runtime, struct sonde__hook_method *method,
                         bool may_be_inherited,
                         uint64_t (*thunk_of)(uint64_t target, uint32_t function))
{
    struct sonde__hook_method_name name;
    char class_name[CLASS_NAME_MAX + 1];
    if (!sonde__hook_method_parse(method->name, &name) || name.class_size > CLASS_NAME_MAX) {
        return SONDE__HOOK_METHOD_NO_CLASS;
    }
    memcpy(class_name, name.class_name, name.class_size);
    class_name[name.class_size] = '\0';
    void *class = runtime->class_named(class_name);
    if (class == NULL) {
        return SONDE__HOOK_METHOD_NO_CLASS;
    }
    void *found = sonde__hook_objc_method(runtime, sonde__hook_objc_holder(class, &name), &name);
    if (found == NULL && may_be_inherited) {
        found = add_inherited(runtime, class, &name);
    }
    if (found == NULL) {
        return SONDE__HOOK_METHOD_NOT_OWN;
    }
    uint64_t old = (uint64_t)(uintptr_t)runtime->implementation(found);
    uint64_t target = sonde__arch_strip_pac(SONDE__ARCH_HOST, old);
    uint64_t thunk = thunk_of(target, method->function);
    if (thunk == 0) {
        return SONDE__HOOK_METHOD_FULL;
    }
    if (target != old) { /* arm64e: as any pointer to a function */
        thunk = sonde__arch_sign(thunk, 0, 0);
    }
    method->base = class;
    method->class = sonde__hook_objc_holder(class, &name);
    method->method = found;
    method->old = old;
    method->thunk = thunk;
    set_implementation(runtime, method->class, found, thunk);
    return SONDE__HOOK_METHOD_HOOKED;
}

uint32_t sonde__hook_methods_look(struct sonde__hook_method *methods, uint32_t count,
                                  uint64_t (*thunk_of)(uint64_t target, uint32_t function))
{
    struct sonde__hook_objc runtime;
    uint32_t missing = 0;
    if (count == 0 || !sonde__hook_objc_find(&runtime)) {
        return count;
    }
    /* Inherited ones last: they go on to the method of the superclass, which counts, too. */
    for (uint32_t i = 0; i < 2 * count; i++) {
        struct sonde__hook_method *method = &methods[i % count];
        if (atomic_load(&method->state) != SONDE__HOOK_METHOD_HOOKED) {
            atomic_store(&method->state, look_for(&runtime, method, i >= count, thunk_of));
        }
        missing += i >= count && atomic_load(&method->state) != SONDE__HOOK_METHOD_HOOKED;
    }
    return missing;
}

void sonde__hook_methods_restore(struct sonde__hook_method *methods, uint32_t count)
{
    struct sonde__hook_objc runtime;
    if (count == 0 || !sonde__hook_objc_find(&runtime)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (atomic_load(&methods[i].state) == SONDE__HOOK_METHOD_HOOKED &&
            (uint64_t)(uintptr_t)runtime.implementation(methods[i].method) == methods[i].thunk) {
            set_implementation(&runtime, methods[i].class, methods[i].method, methods[i].old);
        }
    }
}
