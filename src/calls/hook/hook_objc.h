// SPDX-License-Identifier: Apache-2.0
/* The runtime of Objective-C, as hooks of methods use it. Private to hook. */
#ifndef SONDE_HOOK_OBJC_H
#define SONDE_HOOK_OBJC_H

#include "hook_method.h"

/* The functions of the runtime, under their own names. */
struct sonde__hook_objc {
    void *(*class_named)(const char *name);
    const char *(*class_name)(void *class);
    int (*list_classes)(void **ret_classes, int capacity); /* returns how many there are */
    void **(*copy_methods)(void *class, unsigned *ret_count);
    void *(*selector_of)(void *method);
    const char *(*name_of)(void *selector);
    void *(*implementation)(void *method);
    void *(*set_implementation)(void *method, void *implementation);
    void *(*superclass)(void *class);
    int8_t (*add_method)(void *class, void *selector, void *implementation, const char *types);
    const char *(*types)(void *method);
    void (*update_tables)(void *class); /* GNU: also those of its subclasses */
    void *const *no_table; /* GNU: what a class has instead of a table before its first message */
};

/* False: no runtime is loaded. */
bool sonde__hook_objc_find(struct sonde__hook_objc *ret);

/* A method of the class itself; null: it has none of this name. */
void *sonde__hook_objc_method(const struct sonde__hook_objc *runtime, void *class,
                              const struct sonde__hook_method_name *name);

/* Where the methods of a class, or of its instances, are. */
void *sonde__hook_objc_holder(void *class, const struct sonde__hook_method_name *name);

#endif
