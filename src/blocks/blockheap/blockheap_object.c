// SPDX-License-Identifier: Apache-2.0
/* Reads and verifies classes of Objective-C objects: the first word must lead to a class in an
 * image, or to one with a plausible name. Three forms: Apple's (objc-runtime-new.h, class_t,
 * class_ro_t and class_rw_t; isa.h), GCC's and GNUstep's (both with the name at 16). Read are name,
 * size, strong variables, and the list of variables: Apple's (ivar_list_t), GNUstep 2.0's
 * (libobjc2, ivar.h) and GCC's (libobjc, struct objc_ivar_list). */
#include <string.h>

#include "blockheap_inside.h"

enum {
    NAME_MAX_ = SONDE__BLOCKHEAP_NAME_MAX,
    SIZE_MAX_ = 1 << 16,
    LAYOUT_MAX = 64,
    WORDS_KNOWN = 256,
    SUPERS_MAX = 32
};

/* Apple's class_ro_t. */
struct class_data {
    uint32_t flags, instance_start, instance_size, reserved;
    uint64_t strong_layout, name;
    uint64_t methods, protocols, variables;
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

/* The layout of variables, from the class' first one on: bytes 0xSN, S words to skip, then N strong
 * ones; 0 ends it. */
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

/* A pointer of Apple's runtime, without flags and signature. */
#define POINTER  0x00007ffffffffff8u
#define REALIZED 0x80000000u

/* A class that the runtime has realized has a class_rw_t instead of the compiler's class_ro_t:
 * flags with bit 31, and a pointer to that, or (bit 0) to a struct that begins with that pointer.
 */
static bool find_data(struct sonde__blockheap *heap, uint64_t at, uint64_t *ret_at)
{
    uint64_t head[2];
    if (!heap->memory.read(heap->memory.ctx, at, head, sizeof head)) {
        return false;
    }
    if ((head[0] & REALIZED) != 0) {
        at = head[1] & POINTER;
        if ((head[1] & 1) != 0 && !heap->memory.read(heap->memory.ctx, at, &at, sizeof at)) {
            return false;
        }
    }
    *ret_at = at & POINTER;
    return true;
}

static bool read_data(struct sonde__blockheap *heap, uint64_t class_at, uint64_t *ret_super,
                      struct class_data *ret_data)
{
    uint64_t words[5]; /* isa, superclass, two words of the cache, data with flags */
    uint64_t data_at;
    if (!heap->memory.read(heap->memory.ctx, class_at, words, sizeof words) ||
        !find_data(heap, words[4] & POINTER, &data_at) ||
        !heap->memory.read(heap->memory.ctx, data_at, ret_data, sizeof *ret_data)) {
        return false;
    }
    *ret_super = words[1] & POINTER;
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

/* Apple's isa can hold a count and flags, with bit 0 set. The bits of the class are those of an
 * address, which has 36 on some systems. 0: no class. */
static uint64_t class_of(const struct sonde__blockheap *heap, uint64_t isa)
{
    static const uint64_t masks[] = {POINTER, 0x0000000ffffffff8u};
    if ((isa & 1) == 0) {
        return isa;
    }
    for (unsigned i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        if (blockheap_image_at(heap, isa & masks[i]) != NULL) {
            return isa & masks[i];
        }
    }
    return 0;
}

bool sonde__blockheap_object_at(struct sonde__blockheap *heap, uint64_t address,
                                struct sonde__blockheap_object *ret_object)
{
    struct sonde__blockheap_object object = {.size = 0};
    uint64_t isa;
    if (address == 0 || address % 8 != 0 ||
        !heap->memory.read(heap->memory.ctx, address, &isa, sizeof isa) ||
        (isa = class_of(heap, isa)) % 8 != 0 || isa == 0 ||
        sonde__blockheap_class_at(heap, isa) != NULL || blockheap_image_at(heap, isa) == NULL) {
        return false;
    }
    object.class_at = isa;
    if (!apples(heap, isa, &object) && !gnus(heap, isa, &object)) {
        return false;
    }
    *ret_object = object;
    return true;
}

/* --- variables --- */

enum {
    VARIABLES_MAX = 4096,
    ENTRY_MAX = 256,
    APPLES_ENTRY = 32,   /* address of the offset, name, type, alignment, size */
    GNUSTEPS_ENTRY = 32, /* name, type, address of the offset, size, flags */
    GCCS_ENTRY = 24,     /* name, type, offset */
};

struct variables {
    uint64_t first;
    uint32_t count, entry_size;
    bool is_apples, is_gccs;
};

static bool in_image(const struct sonde__blockheap *heap, uint64_t address)
{
    return address % 4 == 0 && blockheap_image_at(heap, address) != NULL;
}

static bool take_list(struct variables *list, uint64_t first, uint32_t count, uint64_t entry_size,
                      uint32_t least)
{
    if (count == 0 || count > VARIABLES_MAX || entry_size < least || entry_size > ENTRY_MAX) {
        return false;
    }
    list->first = first;
    list->count = count;
    list->entry_size = (uint32_t)entry_size;
    return true;
}

/* Lists are only read in images, where compilers put them. */
static bool read_list(struct sonde__blockheap *heap, uint64_t at, bool is_apples,
                      struct variables *ret_list)
{
    uint32_t head[4]; /* Apple: size of an entry, count. GNUstep: count, padding, size. */
    struct variables list = {.is_apples = is_apples};
    if (!in_image(heap, at) || !heap->memory.read(heap->memory.ctx, at, head, sizeof head)) {
        return false;
    }
    *ret_list = list;
    if (is_apples) {
        return take_list(ret_list, at + 8, head[1], head[0] & ~3u, APPLES_ENTRY);
    }
    if (head[3] == 0 && head[2] >= GNUSTEPS_ENTRY && head[2] <= ENTRY_MAX) {
        return take_list(ret_list, at + 16, head[0], head[2], GNUSTEPS_ENTRY);
    }
    ret_list->is_gccs = true; /* GCC has the first name here, GNUstep a size */
    return take_list(ret_list, at + 8, head[0], GCCS_ENTRY, GCCS_ENTRY);
}

/* Read an entry: the offset in the object, and the address of the name. */
static bool read_variable(struct sonde__blockheap *heap, const struct variables *list, uint32_t i,
                          uint32_t *ret_offset, uint64_t *ret_name)
{
    uint64_t entry[3], place;
    uint32_t offset;
    if (!heap->memory.read(heap->memory.ctx, list->first + (uint64_t)i * list->entry_size, entry,
                           sizeof entry)) {
        return false;
    }
    place = list->is_apples ? entry[0] : entry[2];
    if (list->is_gccs) {
        offset = (uint32_t)place;
    } else if (!in_image(heap, place) ||
               !heap->memory.read(heap->memory.ctx, place, &offset, sizeof offset)) {
        return false;
    }
    *ret_offset = offset;
    *ret_name = list->is_apples ? entry[1] : entry[0];
    return true;
}

/* Find the name of the variable at an offset in the list. */
static bool find_variable(struct sonde__blockheap *heap, uint64_t at, bool is_apples,
                          uint32_t offset, char name[NAME_MAX_])
{
    struct variables list;
    uint32_t place;
    uint64_t name_at;
    if (!read_list(heap, at, is_apples, &list)) {
        return false;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        if (read_variable(heap, &list, i, &place, &name_at) && place == offset) {
            return blockheap_image_at(heap, name_at) != NULL && read_name(heap, name_at, name);
        }
    }
    return false;
}

/* Read name, list of variables and superclass of a class. */
static bool read_class(struct sonde__blockheap *heap, uint64_t class_at, char name[NAME_MAX_],
                       bool *ret_is_apples, uint64_t *ret_list, uint64_t *ret_super)
{
    struct class_data data;
    uint64_t words[7]; /* isa, superclass, name, version, info, size of an instance, variables */
    if (read_data(heap, class_at, ret_super, &data) && read_name(heap, data.name, name)) {
        *ret_is_apples = true;
        *ret_list = data.variables;
        return true;
    }
    if (!heap->memory.read(heap->memory.ctx, class_at, words, sizeof words) ||
        !read_name(heap, words[2], name)) {
        return false;
    }
    *ret_is_apples = false;
    *ret_super = words[1];
    *ret_list = words[6];
    return true;
}

bool sonde__blockheap_object_variable(struct sonde__blockheap *heap, uint64_t class_at,
                                      uint32_t offset, struct sonde__blockheap_variable *ret_name)
{
    struct sonde__blockheap_variable found;
    bool is_apples;
    uint64_t list, super;
    for (unsigned i = 0; i < SUPERS_MAX && blockheap_image_at(heap, class_at) != NULL &&
                         read_class(heap, class_at, found.of, &is_apples, &list, &super);
         i++) {
        if (find_variable(heap, list, is_apples, offset, found.name)) {
            *ret_name = found;
            return true;
        }
        class_at = super;
    }
    return false;
}
