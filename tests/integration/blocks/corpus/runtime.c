// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

#include "corpus.h"

#ifndef CORPUS_FLAVOUR
#    define CORPUS_FLAVOUR APPLE
#endif
static const enum flavour corpus_flavour = CORPUS_FLAVOUR;
const struct teller *corpus_teller;

/* Objective-C's class of the Apple ABI, as the compiler writes it. */
struct class_data {
    uint32_t flags, instance_start, instance_size, reserved;
    const void *ivar_layout;
    const char *name;
    const void *methods, *protocols, *ivars, *weak_layout, *properties;
};
struct class
{
    const void *isa, *superclass, *cache, *vtable;
    const struct class_data *data;
};
struct method_list {
    uint32_t entry_bytes, count;
    struct {
        const char *selector, *types;
        void *(*function)(void *, const char *, void *, void *, void *);
    } methods[];
};

void *_objc_empty_cache;
static const struct class_data thing_data = {.instance_size = sizeof(struct object),
                                             .name = "Thing"};
struct class OBJC_CLASS_Thing __asm__(CORPUS_LABEL("OBJC_CLASS_$_Thing")) = {.data = &thing_data};
static const struct class_data block_data[] = {
    {.name = "__NSStackBlock__"}, {.name = "__NSMallocBlock__"}, {.name = "__NSGlobalBlock__"}};

struct object *corpus_new_object(void)
{
    struct object *object = calloc(1, sizeof *object);
    object->isa = &OBJC_CLASS_Thing;
    return object;
}

/* An instance of a class that a source implements, and a message to it. */
void *corpus_make(const struct class *class)
{
    const void **object = calloc(1, 8 + class->data->instance_size);
    *object = class;
    return object;
}

void corpus_send(void *object, const char *selector)
{
    const struct class *class = *(struct class **)object;
    const struct method_list *list = class->data->methods;
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        if (strcmp(list->methods[i].selector, selector) == 0) {
            list->methods[i].function(object, selector, NULL, NULL, NULL);
            return;
        }
    }
    abort();
}

/* --- objects --- */

/* Instances of other classes have no counters. */
static struct object *counted(void *value)
{
    struct object *object = value;
    return object != NULL && object->isa == &OBJC_CLASS_Thing ? object : NULL;
}

static bool is_block(const void *value);

void *objc_retainBlock(void *value)
{
    if (corpus_teller != NULL) {
        corpus_teller->value(value, 'b');
        return value;
    }
    return value != NULL ? _Block_copy(value) : NULL;
}

void *objc_retain(void *value)
{
    if (corpus_teller != NULL) {
        corpus_teller->value(value, 's');
    } else if (counted(value) != NULL) {
        counted(value)->retains++;
    } else if (is_block(value)) {
        return _Block_copy(value);
    }
    return value;
}

void objc_release(void *value)
{
    if (corpus_teller != NULL) {
        corpus_teller->value(value, 's');
    } else if (counted(value) != NULL) {
        counted(value)->releases++;
    } else if (is_block(value)) {
        _Block_release(value);
    }
}

void objc_storeStrong(void **place, void *value)
{
    if (corpus_teller != NULL) {
        corpus_teller->place(place, 's');
        *place = value;
        return;
    }
    void *old = *place;
    *place = objc_retain(value);
    objc_release(old);
}

static void tell_weak(void *place)
{
    if (corpus_teller != NULL) {
        corpus_teller->place(place, 'w');
    }
}

void *objc_initWeak(void **place, void *value)
{
    tell_weak(place);
    return *place = value;
}

void *objc_storeWeak(void **place, void *value)
{
    return objc_initWeak(place, value);
}
void objc_destroyWeak(void **place)
{
    tell_weak(place);
}

void objc_copyWeak(void **to, void **from)
{
    tell_weak(to);
    *to = *from;
}

void objc_moveWeak(void **to, void **from)
{
    objc_copyWeak(to, from);
}
void *objc_loadWeakRetained(void **place)
{
    return objc_retain(*place);
}

static void *pool[256];
static unsigned pool_count;

void *objc_autorelease(void *value)
{
    if (pool_count < sizeof pool / sizeof pool[0]) {
        pool[pool_count++] = value;
    }
    return value;
}

void corpus_drain(void)
{
    while (pool_count > 0) {
        objc_release(pool[--pool_count]);
    }
}

void *objc_autoreleaseReturnValue(void *value)
{
    return objc_autorelease(value);
}
void *objc_retainAutoreleasedReturnValue(void *value)
{
    return objc_retain(value);
}
void *objc_retainAutoreleaseReturnValue(void *value)
{
    return objc_autorelease(objc_retain(value));
}
void *objc_unsafeClaimAutoreleasedReturnValue(void *value)
{
    return value;
}
void __objc_load(void *init)
{
    (void)init;
}
void __objc_personality_v0(void)
{
    abort();
}
void __gnustep_objc_personality_v0(void)
{
    abort();
}

/* --- blocks --- */

#ifndef CORPUS_BLOCKS_ELSEWHERE
/* What a runtime is told by from outside: names that only it has. */
void corpus_mark_1(void) __asm__(CORPUS_MARK_1);
void corpus_mark_2(void) __asm__(CORPUS_MARK_2);
void corpus_mark_1(void) {}
void corpus_mark_2(void) {}

struct class _NSConcreteStackBlock[8] = {{.data = &block_data[0]}};
struct class _NSConcreteMallocBlock[8] = {{.data = &block_data[1]}};
struct class _NSConcreteGlobalBlock[8] = {{.data = &block_data[2]}};

static bool is_block(const void *value)
{
    const void *isa = value != NULL ? *(void *const *)value : NULL;
    return isa == _NSConcreteStackBlock || isa == _NSConcreteMallocBlock ||
           isa == _NSConcreteGlobalBlock;
}

static bool on_heap(const struct block *block)
{
    return corpus_flavour == LIBOBJC2 ? block->isa == _NSConcreteMallocBlock
                                      : (block->flags & NEEDS_FREE) != 0;
}

static int step(void)
{
    return corpus_flavour == APPLE ? 2 : 1;
}

/* A full count is not counted any more: the block lives for good. */
static bool is_latched(const struct block *block)
{
    int full = corpus_flavour == APPLE ? REFERENCES - 1 : REFERENCES;
    return corpus_flavour != LIBOBJC2 && on_heap(block) && (block->flags & REFERENCES) == full;
}

void *_Block_copy(const void *value)
{
    struct block *block = (struct block *)value;
    if ((block->flags & IS_GLOBAL) != 0) {
        return block;
    }
    if (is_latched(block)) {
        return block;
    }
    if (on_heap(block)) {
        *(corpus_flavour == LIBOBJC2 ? &block->reserved : &block->flags) += step();
        return block;
    }
    struct block *copy = malloc(block->descriptor[1]);
    memcpy(copy, block, block->descriptor[1]);
    copy->flags &= ~REFERENCES;
    if (corpus_flavour == LIBOBJC2) {
        copy->reserved = 1;
    } else {
        copy->flags |= NEEDS_FREE | step();
    }
    if ((block->flags & HAS_HELPERS) != 0) {
        ((void (*)(void *, const void *))block->descriptor[2])(copy, block);
    }
    if (corpus_flavour != DEBIAN) {
        copy->isa = _NSConcreteMallocBlock;
    }
    return copy;
}

void _Block_release(const void *value)
{
    struct block *block = (struct block *)value;
    if (block == NULL || (block->flags & IS_GLOBAL) != 0 || !on_heap(block) || is_latched(block)) {
        return;
    }
    int32_t *count = corpus_flavour == LIBOBJC2 ? &block->reserved : &block->flags;
    *count -= step();
    if ((*count & REFERENCES) == 0) {
        block->flags |= corpus_flavour == APPLE;
        if ((block->flags & HAS_HELPERS) != 0) {
            ((void (*)(void *))block->descriptor[3])(block);
        }
        free(block);
    }
}

static bool byref_on_heap(const struct byref *byref)
{
    return corpus_flavour == LIBOBJC2 ? byref->isa == (void *)1 : (byref->flags & NEEDS_FREE) != 0;
}

/* A block and the frame of its variable hold it: 2 references. */
static struct byref *copy_byref(struct byref *from)
{
    if (byref_on_heap(from->forwarding)) {
        from->forwarding->flags += step();
        return from->forwarding;
    }
    struct byref *copy = malloc(from->size);
    memcpy(copy, from, from->size);
    copy->flags = (from->flags & ~REFERENCES) | 2 * step();
    if (corpus_flavour == LIBOBJC2) {
        copy->isa = (void *)1;
    } else {
        copy->flags |= NEEDS_FREE;
    }
    copy->forwarding = from->forwarding = copy;
    if ((from->flags & HAS_HELPERS) != 0) {
        from->keep(copy, from);
    }
    return copy;
}

static void release_byref(struct byref *byref)
{
    byref = byref->forwarding;
    if (!byref_on_heap(byref)) {
        return;
    }
    byref->flags -= step();
    if ((byref->flags & REFERENCES) == 0) {
        if ((byref->flags & HAS_HELPERS) != 0) {
            byref->destroy(byref);
        }
        free(byref);
    }
}

static void assign(void **to, void *value, int kind)
{
    switch (kind) {
    case 3:
        *to = objc_retain(value);
        break;
    case 7:
        *to = value != NULL ? objc_retain(value) : NULL;
        break;
    case 8:
    case 24:
        *to = copy_byref(value);
        break;
    default:
        *to = value;
    }
}

static void dispose(void *value, int kind)
{
    switch (kind) {
    case 3:
    case 7:
        objc_release(value);
        break;
    case 8:
    case 24:
        release_byref(value);
        break;
    default:
        break;
    }
}
#else
#    include <dlfcn.h>
extern void *_NSConcreteStackBlock[], *_NSConcreteGlobalBlock[];

static bool is_block(const void *value)
{
    const void *isa = value != NULL ? *(void *const *)value : NULL;
    return isa == _NSConcreteStackBlock || isa == _NSConcreteGlobalBlock;
}

static void assign(void **to, void *value, int kind)
{
    ((void (*)(void **, void *, int))dlsym(RTLD_NEXT, "_Block_object_assign"))(to, value, kind);
}

static void dispose(void *value, int kind)
{
    ((void (*)(void *, int))dlsym(RTLD_NEXT, "_Block_object_dispose"))(value, kind);
}
#endif

/* What the flags operand says is captured. 128: by a byref, which does not own it. */
static char kind_of(int kind)
{
    return (kind & 128) != 0 ? 'u' : kind == 3 ? 's' : kind == 7 ? 'b' : 'r';
}

void _Block_object_assign(void *to, const void *value, int kind)
{
    if (corpus_teller != NULL) {
        corpus_teller->place(to, kind_of(kind));
        *(const void **)to = value;
    } else {
        assign(to, (void *)value, kind);
    }
}

void _Block_object_dispose(const void *value, int kind)
{
    if (corpus_teller != NULL) {
        corpus_teller->value(value, kind_of(kind));
    } else {
        dispose((void *)value, kind);
    }
}
