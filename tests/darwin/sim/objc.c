// SPDX-License-Identifier: Apache-2.0
/* A small Objective-C runtime: classes of all images, messages, methods that are added or
 * exchanged. Objects and blocks are counted by the runtime of the corpus of blocks. As Apple's, it
 * puts a struct of its own before the compiler's data of a class when that is used for the first
 * time, and marks it (class_rw_t). No categories, no protocols, no forwarding, no caches. */
#include <mach-o/loader.h>
#include <objc/message.h>
#include <objc/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { METHODS_MAX = 1024 };
#define REALIZED 0x80000000u
#define RELATIVE 0x80000000u

struct class_data { /* class_ro_t */
    uint32_t flags, instance_start, instance_size, reserved;
    const void *strong;
    const char *name;
    struct list *methods;
};

struct realized { /* class_rw_t; `data` has bit 0 set and leads to a struct that begins with the
                     data's address */
    uint32_t flags, unused;
    uint64_t data;
    const struct class_data *extended;
};

struct objc_class {
    struct objc_class *isa, *super;
    const void *cache[2];
    void *data;
};

struct list {
    uint32_t entry_bytes, count;
};

/* An entry of a list, and of those that were added. */
struct objc_method {
    const char *selector, *types;
    IMP function;
};
static struct {
    Class class;
    struct objc_method method;
} added[METHODS_MAX];
static unsigned added_count;

static const struct class_data *data_of(Class class)
{
    struct realized *realized = class->data;
    if ((realized->flags & REALIZED) == 0) {
        struct realized *made = calloc(1, sizeof *made);
        *made = (struct realized){.flags = REALIZED, .extended = class->data};
        made->data = (uint64_t)&made->extended | 1;
        class->data = realized = made;
    }
    return realized->extended;
}

/* --- classes --- */

/* A section's bytes in memory; null: none. */
static const void *section_of(const struct mach_header_64 *header, uint64_t slide, const char *name,
                              uint64_t *ret_size)
{
    const char *at = (const char *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct segment_command_64 *segment = (const void *)at;
        const struct section_64 *sections = (const void *)(segment + 1);
        for (uint32_t k = 0; segment->cmd == LC_SEGMENT_64 && k < segment->nsects; k++) {
            if (strncmp(sections[k].sectname, name, sizeof sections[k].sectname) == 0) {
                *ret_size = sections[k].size;
                return (const void *)(sections[k].addr + slide);
            }
        }
        at += segment->cmdsize;
    }
    return 0;
}

/* How many there are; as many as there is room for are given. */
int objc_getClassList(Class *ret_classes, int capacity)
{
    int count = 0;
    for (uint32_t i = 0; i < host_count_images(); i++) {
        const void *header = 0;
        uint64_t slide = 0, size = 0;
        const char *path = 0;
        host_get_image(i, &header, &slide, &path);
        const Class *classes = section_of(header, slide, "__objc_classlist", &size);
        for (uint64_t k = 0; classes != 0 && k < size / sizeof *classes; k++, count++) {
            if (count < capacity) {
                ret_classes[count] = classes[k];
            }
        }
    }
    return count;
}

Class objc_lookUpClass(const char *name)
{
    for (uint32_t i = 0; i < host_count_images(); i++) {
        const void *header = 0;
        uint64_t slide = 0, size = 0;
        const char *path = 0;
        host_get_image(i, &header, &slide, &path);
        const Class *classes = section_of(header, slide, "__objc_classlist", &size);
        for (uint64_t k = 0; classes != 0 && k < size / sizeof *classes; k++) {
            if (strcmp(class_getName(classes[k]), name) == 0) {
                return classes[k];
            }
        }
    }
    return 0;
}

Class objc_getClass(const char *name)
{
    return objc_lookUpClass(name);
}

const char *class_getName(Class class)
{
    return data_of(class)->name;
}

Class class_getSuperclass(Class class)
{
    return class->super;
}

Class object_getClass(id object)
{
    return *(Class *)(void *)object;
}

/* Selectors are texts, which need not be unique here. */
SEL sel_registerName(const char *name)
{
    return (SEL)(void *)strdup(name);
}

const char *sel_getName(SEL selector)
{
    return (const char *)(const void *)selector;
}

/* --- methods --- */

/* Entry `at` of a list: three words, or three 32-bit offsets, the first of them to a word with the
 * selector's address. */
static struct objc_method entry_of(const struct list *list, uint32_t at)
{
    const char *entry = (const char *)(list + 1) + at * (list->entry_bytes & 0xfffc);
    const int32_t *offsets = (const int32_t *)(const void *)entry;
    if ((list->entry_bytes & RELATIVE) == 0) {
        return *(const struct objc_method *)(const void *)entry;
    }
    return (struct objc_method){*(const char *const *)(const void *)(entry + offsets[0]),
                                entry + 4 + offsets[1], (IMP)(uintptr_t)(entry + 8 + offsets[2])};
}

static Method add(Class class, struct objc_method method)
{
    if (added_count == METHODS_MAX) {
        abort();
    }
    added[added_count].class = class;
    added[added_count].method = method;
    return &added[added_count++].method;
}

/* A method of the class itself; those that were added come first. */
static Method own_method(Class class, const char *selector)
{
    const struct list *list = data_of(class)->methods;
    for (unsigned i = 0; i < added_count; i++) {
        if (added[i].class == class && strcmp(added[i].method.selector, selector) == 0) {
            return &added[i].method;
        }
    }
    for (uint32_t i = 0; list != 0 && i < list->count; i++) {
        struct objc_method method = entry_of(list, i);
        if (strcmp(method.selector, selector) == 0) {
            return add(class, method); /* where it can be changed */
        }
    }
    return 0;
}

/* Those of the class itself, added ones first; the caller frees the list. */
Method *class_copyMethodList(Class class, unsigned *ret_count)
{
    const struct list *list = data_of(class)->methods;
    for (uint32_t i = 0; list != 0 && i < list->count; i++) {
        (void)own_method(class, entry_of(list, i).selector);
    }
    Method *methods = calloc(METHODS_MAX + 1, sizeof *methods);
    *ret_count = 0;
    for (unsigned i = 0; i < added_count; i++) {
        if (added[i].class == class) {
            methods[(*ret_count)++] = &added[i].method;
        }
    }
    return methods;
}

SEL method_getName(Method method)
{
    return (SEL)(const void *)method->selector;
}

Method class_getInstanceMethod(Class class, SEL selector)
{
    Method found = 0;
    for (; class != 0 && found == 0; class = class->super) {
        found = own_method(class, sel_getName(selector));
    }
    return found;
}

IMP method_getImplementation(Method method)
{
    return method->function;
}

const char *method_getTypeEncoding(Method method)
{
    return method->types;
}

IMP method_setImplementation(Method method, IMP function)
{
    IMP before = method->function;
    method->function = function;
    return before;
}

BOOL class_addMethod(Class class, SEL selector, IMP function, const char *types)
{
    if (own_method(class, sel_getName(selector)) != 0) {
        return 0;
    }
    (void)add(class, (struct objc_method){sel_getName(selector), types, function});
    return 1;
}

/* --- messages --- */

static id nothing(id self, SEL selector)
{
    (void)self;
    (void)selector;
    return 0;
}

/* What objc_msgSend() jumps to (objc_send.S). */
IMP sim_objc_find(id object, SEL selector);
IMP sim_objc_find(id object, SEL selector)
{
    static uint32_t is_locked; /* tables change when a class or method is first used */
    while (__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE) != 0) {
    }
    Method method = object != 0 ? class_getInstanceMethod(object_getClass(object), selector) : 0;
    __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
    if (object != 0 && method == 0) {
        printf("%s does not answer %s\n", class_getName(object_getClass(object)),
               sel_getName(selector));
        abort();
    }
    return object != 0 ? method->function : (IMP)nothing;
}

/* What a class' messages to super say. */
struct super {
    id object;
    Class class; /* the one whose method sends it */
};

/* What objc_msgSendSuper2() jumps to. */
IMP sim_objc_find_super(const struct super *super, SEL selector);
IMP sim_objc_find_super(const struct super *super, SEL selector)
{
    Method method = class_getInstanceMethod(super->class->super, selector);
    if (method == 0) {
        printf("super of %s does not answer %s\n", class_getName(super->class),
               sel_getName(selector));
        abort();
    }
    return method->function;
}

id objc_alloc(Class class)
{
    Class *object = calloc(1, data_of(class)->instance_size);
    *object = class;
    return (id)(void *)object;
}

id objc_alloc_init(Class class)
{
    return ((id(*)(id, SEL))objc_msgSend)(objc_alloc(class), (SEL)(const void *)"init");
}
