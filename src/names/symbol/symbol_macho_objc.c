// SPDX-License-Identifier: Apache-2.0
/* struct class_t       { isa; superclass; cache, vtable; ro + flags in the lowest bits }
 * struct class_ro_t    { u32 flags, start, size, reserved; ivar_layout, name, methods, ... }
 * struct category_t    { name, class, methods of objects, methods of classes, ... }
 * struct method_list_t { u32 size_and_flags, count; methods }
 * a method is { selector, types, code }: pointers; or offsets of 32 bits from themselves, where the
 * first is to a pointer to the selector. */
#include "symbol_macho_objc.h"

#include <string.h>

#include "arch_plt.h"
#include "base_search.h"
#include "mem_heap.h"
#include "mem_sort.h"

enum {
    CLASS_RO = 32,
    RO_NAME = 24,
    RO_METHODS = 32,
    LIST_HEAD = 8,
    METHOD_BYTES = 24,
    SMALL_METHOD_BYTES = 12,
    NAME_BYTES = SONDE__MACHO_OBJC_NAME_BYTES,
    WORK_FACTOR = 8,
};

#define FLAGS_OF_POINTER      ((uint64_t)7)
#define LIST_IS_SMALL         0x80000000u
#define LIST_HAS_DIRECT_NAMES 0x40000000u
#define LIST_SIZE_MASK        0xfffcu
#define CLASS_PREFIX          "_OBJC_CLASS_$_"

/* --- pointers --- */

static bool see_pointer(void *ctx, const struct sonde__macho_fixup *fixup)
{
    struct sonde__macho_objc *o = ctx;
    o->is_failed = !SONDE__MEM_ADD(o->pointers, o->count, o->capacity,
                                   (struct objc_pointer){fixup->vaddr,
                                                         fixup->import == NULL ? fixup->target : 0,
                                                         fixup->import});
    return !o->is_failed;
}

static const struct objc_pointer *pointer_at(const struct sonde__macho_objc *o, uint64_t vaddr)
{
    size_t first = SONDE__SEARCH(0, o->count, i, o->pointers[i].at < vaddr);
    return first < o->count && o->pointers[first].at == vaddr ? &o->pointers[first] : NULL;
}

static uint64_t load(const struct sonde__macho_objc *o, uint64_t vaddr, unsigned size)
{
    const uint8_t *data = sonde__macho_at_vaddr(o->macho, vaddr, size);
    return data != NULL ? sonde__base_le(data, size) : 0;
}

/* What the pointer at a vaddr points to; 0: nothing of this image. */
static uint64_t follow(const struct sonde__macho_objc *o, uint64_t vaddr)
{
    const struct objc_pointer *pointer = pointer_at(o, vaddr);
    return pointer != NULL ? pointer->value : load(o, vaddr, 8);
}

/* Spend work. False: none is left. */
static bool spend(struct sonde__macho_objc *o, uint64_t amount)
{
    bool is_enough = o->work_left >= amount;
    o->work_left -= is_enough ? amount : o->work_left;
    return is_enough;
}

/* Is it a name in at most `size` bytes? Also spends work for one that is not: many pointers may
 * lead to the same bytes. */
static bool is_name(struct sonde__macho_objc *o, const char *text, uint64_t size)
{
    uint64_t i = 0;
    while (i < size && i < NAME_BYTES && (uint8_t)text[i] > ' ' && text[i] != 0x7f &&
           strchr("[]()\"'", text[i]) == NULL) {
        i++;
    }
    return spend(o, i) && i > 0 && i < size && i < NAME_BYTES && text[i] == '\0';
}

/* The name of a class, category or selector; null: not a name. */
static const char *text_at(struct sonde__macho_objc *o, uint64_t vaddr)
{
    uint64_t left = 0;
    const char *text = (const char *)sonde__macho_from_vaddr(o->macho, vaddr, &left);
    return text != NULL && is_name(o, text, left) ? text : NULL;
}

enum sonde_status sonde__macho_objc_open(const struct sonde__macho *macho,
                                         struct sonde__macho_objc *ret_objc)
{
    struct sonde__macho_section section;
    bool has_objc = false;
    memset(ret_objc, 0, sizeof *ret_objc);
    ret_objc->macho = macho;
    for (uint32_t i = 0; macho->is64 && !has_objc && sonde__macho_section(macho, i, &section);
         i++) {
        has_objc = section.data != NULL && (strncmp(section.name, "__objc_classlist", 16) == 0 ||
                                            strncmp(section.name, "__objc_catlist", 14) == 0 ||
                                            strcmp(section.name, "__objc_stubs") == 0);
    }
    if (has_objc) {
        (void)sonde__macho_each_fixup(macho, see_pointer, ret_objc);
        SONDE__SORT_BY(ret_objc->pointers, ret_objc->count, at);
        ret_objc->work_left = (uint64_t)(macho->file.end - macho->file.begin) * WORK_FACTOR;
    }
    return ret_objc->is_failed ? SONDE_MEMORY : SONDE_OK;
}

void sonde__macho_objc_close(struct sonde__macho_objc *objc)
{
    sonde__mem_free(objc->pointers);
    memset(objc, 0, sizeof *objc);
}

/* --- methods --- */

struct walk {
    struct sonde__macho_objc *o;
    bool (*each)(void *ctx, const struct sonde__macho_method *method);
    void *ctx;
    bool is_done;
};

/* Read a method at a vaddr. False: it is none. */
static bool read_method(struct sonde__macho_objc *o, uint64_t at, bool is_small,
                        struct sonde__macho_method *method)
{
    uint64_t name = is_small ? at + (uint64_t)(int32_t)load(o, at, 4) : at;
    method->selector = text_at(o, follow(o, name));
    method->code = is_small ? at + 8 + (uint64_t)(int32_t)load(o, at + 8, 4) : follow(o, at + 16);
    return method->selector != NULL;
}

static void read_list(struct walk *walk, uint64_t list, struct sonde__macho_method *method)
{
    struct sonde__macho_objc *o = walk->o;
    uint64_t left = 0;
    const uint8_t *data = list != 0 ? sonde__macho_from_vaddr(o->macho, list, &left) : NULL;
    if (data == NULL || left < LIST_HEAD) {
        return;
    }
    uint32_t flags = sonde__base_le32(data), count = sonde__base_le32(data + 4);
    bool is_small = (flags & LIST_IS_SMALL) != 0;
    uint32_t bytes = is_small ? SMALL_METHOD_BYTES : METHOD_BYTES;
    if ((flags & LIST_SIZE_MASK) != bytes || (flags & LIST_HAS_DIRECT_NAMES) != 0 ||
        count > (left - LIST_HEAD) / bytes) {
        return;
    }
    uint64_t cost =
        16 + strlen(method->class_name) + (method->category != NULL ? strlen(method->category) : 0);
    for (uint32_t i = 0; i < count && !walk->is_done; i++) {
        if (!spend(o, cost) ||
            !read_method(o, list + LIST_HEAD + (uint64_t)i * bytes, is_small, method)) {
            return;
        }
        walk->is_done = method->code != 0 && !walk->each(walk->ctx, method);
    }
}

/* The description of the class at a vaddr; 0: none. */
static uint64_t description(const struct sonde__macho_objc *o, uint64_t class)
{
    return class != 0 ? follow(o, class + CLASS_RO) & ~FLAGS_OF_POINTER : 0;
}

static void read_class(struct walk *walk, uint64_t class)
{
    struct sonde__macho_objc *o = walk->o;
    uint64_t ro = description(o, class), meta = description(o, follow(o, class));
    struct sonde__macho_method method = {.class_name = text_at(o, follow(o, ro + RO_NAME))};
    if (ro == 0 || method.class_name == NULL) {
        return;
    }
    read_list(walk, follow(o, ro + RO_METHODS), &method);
    method.is_class_method = true;
    if (meta != 0) {
        read_list(walk, follow(o, meta + RO_METHODS), &method);
    }
}

/* The class's name of a category, which may extend a class of another image. */
static const char *extended_class(struct sonde__macho_objc *o, uint64_t at)
{
    const struct objc_pointer *pointer = pointer_at(o, at);
    size_t prefix = sizeof CLASS_PREFIX - 1;
    if (pointer == NULL || pointer->import == NULL) {
        uint64_t ro = description(o, follow(o, at));
        return ro != 0 ? text_at(o, follow(o, ro + RO_NAME)) : NULL;
    }
    return strncmp(pointer->import, CLASS_PREFIX, prefix) == 0 &&
                   is_name(o, pointer->import + prefix, NAME_BYTES)
               ? pointer->import + prefix
               : NULL;
}

static void read_category(struct walk *walk, uint64_t category)
{
    struct sonde__macho_objc *o = walk->o;
    struct sonde__macho_method method = {.category = text_at(o, follow(o, category)),
                                         .class_name = extended_class(o, category + 8)};
    if (category == 0 || method.category == NULL || method.class_name == NULL) {
        return;
    }
    read_list(walk, follow(o, category + 16), &method);
    method.is_class_method = true;
    read_list(walk, follow(o, category + 24), &method);
}

void sonde__macho_objc_methods(struct sonde__macho_objc *objc,
                               bool (*each)(void *ctx, const struct sonde__macho_method *method),
                               void *ctx)
{
    struct walk walk = {.o = objc, .each = each, .ctx = ctx};
    struct sonde__macho_section section;
    for (uint32_t i = 0; sonde__macho_section(objc->macho, i, &section); i++) {
        /* also "__objc_catlist2", of classes that Swift makes at run time */
        bool is_categories = strncmp(section.name, "__objc_catlist", 14) == 0;
        if (section.data == NULL ||
            (!is_categories && strcmp(section.name, "__objc_classlist") != 0)) {
            continue;
        }
        for (uint64_t at = 0; section.size - at >= 8 && !walk.is_done && spend(objc, 1); at += 8) {
            uint64_t object = follow(objc, section.vaddr + at);
            if (is_categories) {
                read_category(&walk, object);
            } else {
                read_class(&walk, object);
            }
        }
    }
}

/* --- stubs --- */

/* The place of the pointer to the selector that a stub at `code` loads; 0: no stub begins there.
 * arm64:  adrp x1, page; ldr x1, [x1, offset]; ...     x86-64: mov offset(%rip), %rsi; jmp ... */
static uint64_t sent_at(const struct sonde__macho *macho, uint64_t vaddr, const uint8_t *code,
                        uint64_t left)
{
    if (macho->cpu == SONDE__CPU_X86_64) {
        bool is_stub = left >= 12 && code[0] == 0x48 && code[1] == 0x8b && code[2] == 0x35 &&
                       ((code[7] == 0xff && code[8] == 0x25) || code[7] == 0xe9);
        return is_stub ? vaddr + 7 + (uint64_t)(int32_t)sonde__base_le32(code + 3) : 0;
    }
    return macho->cpu == SONDE__CPU_ARM64 && left >= 12
               ? sonde__arch_aarch64_cell(sonde__base_le32(code), sonde__base_le32(code + 4), vaddr,
                                          1, 1)
               : 0;
}

/* Stubs of a section are as far apart as their code says: a new one begins where a selector is
 * loaded. */
static bool give_senders(struct sonde__macho_objc *o, const struct sonde__macho_section *section,
                         const struct sonde__macho_section *selectors,
                         bool (*each)(void *ctx, const struct sonde__macho_sender *sender),
                         void *ctx)
{
    struct sonde__macho_sender sender = {0};
    unsigned step = o->macho->cpu == SONDE__CPU_ARM64 ? 4 : 1;
    for (uint64_t at = 0; at < section->size; at += step) {
        if (!spend(o, 1)) {
            return false; /* sections that overlap */
        }
        uint64_t vaddr = section->vaddr + at;
        uint64_t cell = sent_at(o->macho, vaddr, section->data + at, section->size - at);
        if (cell - selectors->vaddr >= selectors->size) {
            continue;
        }
        sender.end = vaddr;
        if (sender.selector != NULL && !each(ctx, &sender)) {
            return false;
        }
        sender.start = vaddr;
        sender.selector = text_at(o, follow(o, cell));
    }
    sender.end = section->vaddr + section->size;
    return sender.selector == NULL || each(ctx, &sender);
}

void sonde__macho_objc_senders(struct sonde__macho_objc *objc,
                               bool (*each)(void *ctx, const struct sonde__macho_sender *sender),
                               void *ctx)
{
    struct sonde__macho_section section, selectors = {.size = 0};
    bool wants_more = true;
    for (uint32_t i = 0; sonde__macho_section(objc->macho, i, &section); i++) {
        if (strcmp(section.name, "__objc_selrefs") == 0) {
            selectors = section;
        }
    }
    for (uint32_t i = 0; wants_more && sonde__macho_section(objc->macho, i, &section); i++) {
        if (section.data != NULL && strcmp(section.name, "__objc_stubs") == 0) {
            wants_more = give_senders(objc, &section, &selectors, each, ctx);
        }
    }
}

void sonde__macho_objc_selectors(struct sonde__macho_objc *objc,
                                 bool (*each)(void *ctx, const struct sonde__macho_sender *word),
                                 void *ctx)
{
    struct sonde__macho_section section;
    bool wants_more = true;
    for (uint32_t i = 0; wants_more && sonde__macho_section(objc->macho, i, &section); i++) {
        bool is_words = strcmp(section.name, "__objc_selrefs") == 0 &&
                        section.vaddr <= UINT64_MAX - section.size;
        for (uint64_t at = 0; is_words && wants_more && section.size - at >= 8; at += 8) {
            struct sonde__macho_sender word = {.start = section.vaddr + at,
                                               .end = section.vaddr + at + 8};
            word.selector = text_at(objc, follow(objc, word.start));
            wants_more = spend(objc, 1) && (word.selector == NULL || each(ctx, &word));
        }
    }
}
