// SPDX-License-Identifier: Apache-2.0
/* Classes of Objective-C objects, read and not believed: the first word leads to a class, which
 * lies in an image or has a name that can be one. Three forms: Apple's (objc-runtime-new.h, class_t
 * and class_ro_t), GCC's and GNUstep's (both with the name at 16). What is read of it: name, size,
 * and which variables are strong. */
#include <string.h>

#include "blockheap_inside.h"

enum { NAME_MAX_ = 96, SIZE_MAX_ = 1 << 16, LAYOUT_MAX = 64, WORDS_KNOWN = 256, SUPERS_MAX = 32 };

/* Apple's class_ro_t. */
struct class_data {
    uint32_t flags, instance_start, instance_size, reserved;
    uint64_t strong_layout, name;
};

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
        if (!is_letter && (i == 0 || !((c >= '0' && c <= '9') || c == '.'))) {
            return false;
        }
    }
    return length > 0;
}

static bool read_name(struct sonde__blockheap *heap, uint64_t address, char name[NAME_MAX_])
{
    size_t length;
    return address != 0 &&
           sonde__block_read_text(&heap->memory, address, name, NAME_MAX_, &length) &&
           is_name(name, length);
}

/* The layout: bytes of 0xSN, S words to skip, then N strong ones, from the class' own first
 * variable on; 0 ends it. */
static void add_strong(struct sonde__blockheap *heap, const struct class_data *data,
                       struct sonde__blockheap_object *object)
{
    uint8_t codes[LAYOUT_MAX] = {0};
    uint32_t word = data->instance_start / 8;
    if (data->strong_layout == 0 ||
        (!heap->memory.read(heap->memory.ctx, data->strong_layout, codes, sizeof codes) &&
         !heap->memory.read(heap->memory.ctx, data->strong_layout, codes, 8))) {
        return;
    }
    for (unsigned i = 0; i < LAYOUT_MAX && codes[i] != 0; i++) {
        word += codes[i] >> 4;
        for (unsigned n = codes[i] & 15; n > 0; n--, word++) {
            if (word < WORDS_KNOWN) {
                object->strong[word / 64] |= (uint64_t)1 << word % 64;
            }
        }
    }
}

static bool read_data(struct sonde__blockheap *heap, uint64_t class_at, uint64_t *ret_super,
                      struct class_data *ret_data)
{
    uint64_t words[5]; /* isa, superclass, two of the cache, data with bits of its own */
    if (!heap->memory.read(heap->memory.ctx, class_at, words, sizeof words) ||
        !heap->memory.read(heap->memory.ctx, words[4] & ~(uint64_t)7, ret_data, sizeof *ret_data)) {
        return false;
    }
    *ret_super = words[1];
    return ret_data->instance_start <= ret_data->instance_size &&
           ret_data->instance_size <= SIZE_MAX_;
}

static bool apples(struct sonde__blockheap *heap, uint64_t class_at,
                   struct sonde__blockheap_object *object)
{
    struct class_data data;
    uint64_t super;
    if (!read_data(heap, class_at, &super, &data) || !read_name(heap, data.name, object->name)) {
        return false;
    }
    object->size = data.instance_size;
    object->has_strong = data.strong_layout != 0;
    add_strong(heap, &data, object);
    for (unsigned i = 0; i < SUPERS_MAX && super != 0 && read_data(heap, super, &super, &data);
         i++) {
        object->has_strong |= data.strong_layout != 0;
        add_strong(heap, &data, object);
    }
    return true;
}

/* isa, superclass, name, version, info, size of an instance. */
static bool gnus(struct sonde__blockheap *heap, uint64_t class_at,
                 struct sonde__blockheap_object *object)
{
    uint64_t words[6];
    if (!heap->memory.read(heap->memory.ctx, class_at, words, sizeof words) ||
        !read_name(heap, words[2], object->name)) {
        return false;
    }
    object->size = words[5] <= SIZE_MAX_ ? (uint32_t)words[5] : 0;
    return true;
}

bool sonde__blockheap_object_at(struct sonde__blockheap *heap, uint64_t address,
                                struct sonde__blockheap_object *ret_object)
{
    struct sonde__blockheap_object object = {.size = 0};
    uint64_t isa;
    if (address == 0 || address % 8 != 0 ||
        !heap->memory.read(heap->memory.ctx, address, &isa, sizeof isa) || isa % 8 != 0 ||
        isa == 0 || sonde__blockheap_class_at(heap, isa) != NULL ||
        blockheap_image_at(heap, isa) == NULL) {
        return false;
    }
    object.class_at = isa;
    if (!apples(heap, isa, &object) && !gnus(heap, isa, &object)) {
        return false;
    }
    *ret_object = object;
    return true;
}
