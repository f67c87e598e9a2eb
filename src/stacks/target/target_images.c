// SPDX-License-Identifier: Apache-2.0
#include "target_images.h"

#include <stdio.h>
#include <string.h>

#include "arch_regs.h"
#include "base_bytes.h"
#include "host_process.h"
#include "mem_heap.h"
#include "os.h"
#include "unwind_rules.h"

enum {
    HEAD_BYTES = 65536,    /* of an image's memory: ELF and program headers, usually the build-id */
    HITS_TO_COMPILE = 512, /* frames walked in place before a table pays: about one build's cost */
};
#define FILE_BYTES_MAX   ((uint64_t)1 << 36)
#define MEMORY_BYTES_MAX ((uint64_t)1 << 29) /* of an image copied from memory */

/* The maps [first, last] of one file, or of the vdso. */
struct group {
    const struct sonde__host_map *maps;
    uint32_t first, last;
    bool executable;
};

struct builder {
    const struct sonde__target_source *from;
    struct sonde__target_images *old;
    struct sonde__target_images made;
    uint8_t *head;
};

static void drop_loaded(struct sonde__target_loaded *loaded)
{
    if (loaded->rules_memory != NULL) {
        sonde__os_unmap(loaded->rules_memory, loaded->rules_size);
    }
    if (loaded->memory != NULL) {
        sonde__os_unmap(loaded->memory, loaded->memory_size);
    }
    sonde__host_file_unmap(&loaded->file);
    sonde__mem_free(loaded->path);
    sonde__mem_free(loaded->file_path);
    *loaded = (struct sonde__target_loaded){0};
}

static bool has_users(const struct sonde__target_retired *retired)
{
    return retired != NULL && atomic_load_explicit(&retired->users, memory_order_acquire) != 0;
}

static void drop_retired(struct sonde__target_retired *retired)
{
    for (uint32_t i = 0; i < retired->count; i++) {
        drop_loaded(&retired->loaded[i]);
    }
    retired->count = 0;
}

/* Drop an image, now or when it has no users. Without memory to note it, it is never freed. */
static void retire(struct sonde__target_retired *retired, struct sonde__target_loaded *loaded)
{
    if (!has_users(retired)) {
        drop_loaded(loaded);
    } else if (loaded->path != NULL && sonde__mem_grow(&retired->loaded, retired->count,
                                                       &retired->capacity, sizeof *loaded)) {
        retired->loaded[retired->count++] = *loaded;
    }
}

/* Drop all images, but not `retired`. */
static void drop_images(struct sonde__target_images *images)
{
    for (uint32_t i = 0; i < images->image_count; i++) {
        retire(images->retired, &images->loaded[i]);
    }
    sonde__mem_free(images->images);
    sonde__mem_free(images->loaded);
    sonde__mem_free(images->ranges);
    *images = (struct sonde__target_images){.retired = images->retired};
}

void sonde__target_images_done(struct sonde__target_images *images)
{
    struct sonde__target_retired *retired = images->retired;
    drop_images(images);
    images->retired = NULL;
    if (retired != NULL) {
        drop_retired(retired);
        sonde__mem_free(retired->loaded);
        sonde__mem_free(retired);
    }
}

struct sonde__target_retired *sonde__target_images_share(struct sonde__target_images *images)
{
    if (images->retired == NULL) {
        images->retired = sonde__mem_alloc_zeroed(sizeof *images->retired);
    }
    if (images->retired != NULL) {
        atomic_fetch_add_explicit(&images->retired->users, 1, memory_order_relaxed);
    }
    return images->retired;
}

void sonde__target_images_replace(struct sonde__target_images *images,
                                  const struct sonde__target_images *made)
{
    struct sonde__target_retired *retired = images->retired;
    if (retired != NULL && !has_users(retired)) {
        drop_retired(retired);
    }
    drop_images(images);
    *images = *made;
    images->retired = retired;
}

static bool is_machine(const struct sonde__elf *elf, unsigned arch)
{
    return elf->is64 && elf->type != SONDE__ET_CORE && elf->arch == arch;
}

/* Find the bias from the map that begins at the file page of a segment's start. */
static bool find_bias(const struct sonde__elf *elf, const struct group *g, uint64_t *ret_bias)
{
    for (unsigned pass = 0; pass < 2; pass++) { /* the first page of a segment, then any */
        for (uint32_t m = g->first; m <= g->last; m++) {
            const struct sonde__host_map *map = &g->maps[m];
            struct sonde__elf_segment s;
            for (uint32_t i = 0; sonde__elf_segment(elf, i, &s); i++) {
                uint64_t skew = s.offset & 0xfff;
                bool starts = map->offset == s.offset - skew;
                bool inside = map->offset >= s.offset - skew && map->offset < s.offset + s.filesz;
                bool same_kind =
                    (map->flags & SONDE__MAP_UNKNOWN) != 0 ||
                    ((s.flags & SONDE__PF_X) != 0) == ((map->flags & SONDE__MAP_EXECUTE) != 0);
                if (s.type == SONDE__PT_LOAD && same_kind && (pass == 0 ? starts : inside)) {
                    *ret_bias = map->start - (s.vaddr - skew) - (map->offset - (s.offset - skew));
                    return true;
                }
            }
        }
    }
    return false;
}

/* Are these the first bytes of an ELF whose program headers are not among them? Tools that add
 * segments to a program (patchelf, LIEF for Node.js' single executables) put them at its end. */
static bool has_headers_elsewhere(const uint8_t *head, size_t size)
{
    enum { PHOFF = 32 };
    static const uint8_t magic[4] = {0x7f, 'E', 'L', 'F'};
    return size >= SONDE__ELF_EHDR64_BYTES && memcmp(head, magic, sizeof magic) == 0 &&
           sonde__base_le64(head + PHOFF) >= size;
}

/* Read the headers from memory. False: not readable, not there (*ret_read: false), or not those of
 * an ELF of this machine. */
static bool open_head(struct builder *b, const struct group *g, struct sonde__elf *ret_elf,
                      bool *ret_read)
{
    const struct sonde__host_map *map = &g->maps[g->first];
    uint64_t size = g->maps[g->last].end - map->start;
    size_t got = 0;
    *ret_read = false;
    if (map->offset != 0) {
        return false;
    }
    got = b->from->read(b->from->ctx, map->start, b->head,
                        size < HEAD_BYTES ? (size_t)size : (size_t)HEAD_BYTES);
    *ret_read = got >= SONDE__ELF_EHDR64_BYTES && !has_headers_elsewhere(b->head, got);
    return *ret_read && sonde__elf_open_image(b->head, got, 0, ret_elf, NULL) == SONDE_OK &&
           is_machine(ret_elf, b->from->arch);
}

static bool same_id(const struct sonde__build_id *a, const struct sonde__build_id *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* Open the image's file, if it is the mapped one. memory_id: the build-id in memory, or null.
 * trusted: the way it is opened makes it right unless a build-id differs. */
static bool open_file(struct builder *b, const struct group *g, const char *root, const char *path,
                      bool trusted, const struct sonde__build_id *memory_id,
                      struct sonde__target_loaded *loaded)
{
    const struct sonde__host_map *map = &g->maps[g->first];
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde__build_id id = {0};
    bool right = false;
    if (sonde__host_file_map(root, path, FILE_BYTES_MAX, &file, NULL) != SONDE_OK) {
        return false;
    }
    if (sonde__elf_open(file.data, file.size, &elf, NULL) == SONDE_OK &&
        is_machine(&elf, b->from->arch)) {
        (void)sonde__elf_build_id(&elf, &id);
        if (memory_id != NULL && memory_id->size != 0) {
            right = same_id(&id, memory_id);
        } else {
            right = trusted || ((map->flags & SONDE__MAP_DELETED) == 0 && file.inode == map->inode);
        }
    }
    if (!right) {
        sonde__host_file_unmap(&file);
        return false;
    }
    loaded->file = file;
    loaded->elf = elf;
    loaded->readable = true;
    return true;
}

/* The same by another path than the image's own, which is kept as file_path. */
static bool open_other(struct builder *b, const struct group *g, const char *path,
                       const struct sonde__build_id *memory_id, struct sonde__target_loaded *loaded)
{
    if (!open_file(b, g, "", path, true, memory_id, loaded)) {
        return false;
    }
    loaded->file_path = sonde__mem_copy_string(path);
    if (loaded->file_path == NULL) {
        sonde__host_file_unmap(&loaded->file);
        loaded->readable = false;
    }
    return loaded->readable;
}

/* For a running process, the kernel still has a file that was deleted or replaced. */
static bool open_live(struct builder *b, const struct group *g, bool is_main,
                      const struct sonde__build_id *memory_id, struct sonde__target_loaded *loaded)
{
    const struct sonde__host_map *map = &g->maps[g->first];
    char path[96];
    if (b->from->live_pid == 0) {
        return false;
    }
    sonde__host_program_file(b->from->live_pid, path, sizeof path);
    if (is_main && open_other(b, g, path, memory_id, loaded)) {
        return true;
    }
    sonde__host_mapped_file(b->from->live_pid, map->start, map->end, path, sizeof path);
    return open_other(b, g, path, memory_id, loaded);
}

/* Open the given substitute for the main program, else the file at the image's path, else the
 * one that the process has mapped. *ret_moved: it is neither of the first two. */
static bool find_file(struct builder *b, const struct group *g, bool is_main,
                      const struct sonde__build_id *memory_id, struct sonde__target_loaded *loaded,
                      bool *ret_moved)
{
    if (is_main && b->from->main_instead != NULL &&
        open_other(b, g, b->from->main_instead, memory_id, loaded)) {
        b->made.instead_used = true;
        return true;
    }
    if (open_file(b, g, b->from->root, g->maps[g->first].path, b->from->trust_path, memory_id,
                  loaded)) {
        return true;
    }
    *ret_moved = true;
    return open_live(b, g, is_main, memory_id, loaded);
}

/* Copy the image's memory in its layout; holes are zero. */
static bool copy_memory(struct builder *b, const struct group *g, uint64_t bias,
                        struct sonde__target_loaded *loaded)
{
    uint64_t start = g->maps[g->first].start;
    uint64_t size = g->maps[g->last].end - start;
    uint8_t *memory;
    if (size > MEMORY_BYTES_MAX || (memory = sonde__os_map((size_t)size)) == NULL) {
        return false;
    }
    for (uint32_t i = g->first; i <= g->last; i++) {
        const struct sonde__host_map *map = &g->maps[i];
        (void)b->from->read(b->from->ctx, map->start, memory + (map->start - start),
                            (size_t)(map->end - map->start));
    }
    if (sonde__elf_open_image(memory, (size_t)size, bias, &loaded->elf, NULL) != SONDE_OK) {
        sonde__os_unmap(memory, (size_t)size);
        return false;
    }
    loaded->memory = memory;
    loaded->memory_size = (size_t)size;
    loaded->readable = true;
    return true;
}

/* Take over an unchanged image of the last snapshot. */
static bool keep_old(struct builder *b, const struct group *g, struct sonde__image *ret_image,
                     struct sonde__target_loaded *ret_loaded)
{
    const struct sonde__host_map *map = &g->maps[g->first];
    for (uint32_t i = 0; i < b->old->image_count; i++) {
        struct sonde__target_loaded *loaded = &b->old->loaded[i];
        if (loaded->path != NULL && loaded->start == map->start && loaded->inode == map->inode &&
            loaded->device == map->device && strcmp(loaded->path, map->path) == 0 &&
            b->old->images[i].end == g->maps[g->last].end) {
            *ret_image = b->old->images[i];
            *ret_loaded = *loaded;
            return true;
        }
    }
    return false;
}

static bool is_main_group(const struct builder *b, const struct group *g)
{
    uint64_t address = b->from->main_address;
    const struct sonde__host_map *map = &g->maps[g->first];
    if (address != 0) {
        return address >= map->start && address < g->maps[g->last].end;
    }
    return b->from->main_path != NULL && strcmp(map->path, b->from->main_path) == 0;
}

/* Load an image. False: no ELF image of this machine (a JIT's file, data). */
static bool load_image(struct builder *b, const struct group *g, struct sonde__image *ret_image,
                       struct sonde__target_loaded *ret_loaded)
{
    const struct sonde__host_map *map = &g->maps[g->first];
    bool vdso = strcmp(map->path, "[vdso]") == 0;
    bool is_main = is_main_group(b, g);
    bool head_read, has_head, moved = false;
    struct sonde__elf head;
    struct sonde__build_id id = {0};
    struct sonde__image image = {.start = map->start, .end = g->maps[g->last].end};
    struct sonde__target_loaded loaded = {
        .start = map->start, .device = map->device, .inode = map->inode};
    has_head = open_head(b, g, &head, &head_read);
    if (has_head) {
        (void)sonde__elf_build_id(&head, &id);
    }
    if (!vdso && (has_head || !head_read) &&
        find_file(b, g, is_main, has_head ? &id : NULL, &loaded, &moved)) {
        (void)sonde__elf_build_id(&loaded.elf, &id);
    } else if (!has_head) {
        return false;
    }
    if (!find_bias(loaded.readable ? &loaded.elf : &head, g, &image.bias)) {
        drop_loaded(&loaded);
        return false;
    }
    image.flags |= vdso ? (uint32_t)SONDE__IMAGE_VDSO : 0;
    image.flags |= moved ? (uint32_t)SONDE__IMAGE_DELETED : 0;
    if (!loaded.readable) {
        (void)copy_memory(b, g, image.bias, &loaded);
    }
    if (loaded.readable) {
        (void)sonde__elf_cfi(&loaded.elf, &image.cfi);
        (void)sonde__elf_go(&loaded.elf, &image.go);
        if (id.size == 0) {
            (void)sonde__elf_build_id(&loaded.elf, &id);
        }
    }
    image.file = loaded.file_path;
    image.build_id = id;
    image.arch = (uint8_t)b->from->arch;
    image.flags |= is_main ? (uint32_t)SONDE__IMAGE_MAIN : 0;
    *ret_image = image;
    *ret_loaded = loaded;
    return true;
}

static bool add_image(struct builder *b, const struct group *g, uint32_t *ret_index)
{
    struct sonde__target_images *made = &b->made;
    struct sonde__image image;
    struct sonde__target_loaded loaded;
    size_t capacity = made->image_capacity;
    *ret_index = SONDE__IMAGE_NONE;
    if (!sonde__mem_grow(&made->loaded, made->image_count, &capacity, sizeof loaded)) {
        return false;
    }
    if (!sonde__mem_grow(&made->images, made->image_count, &made->image_capacity, sizeof image)) {
        return false;
    }
    if (!keep_old(b, g, &image, &loaded)) {
        if (!load_image(b, g, &image, &loaded)) {
            return true;
        }
        /* a core without a list of files has only the given program's name */
        bool nameless = g->maps[g->first].path[0] == '\0' && loaded.file_path != NULL;
        loaded.path = sonde__mem_copy_string(nameless ? loaded.file_path : g->maps[g->first].path);
        if (loaded.path == NULL) {
            drop_loaded(&loaded);
            return false;
        }
        image.path = loaded.path;
    }
    *ret_index = made->image_count;
    made->images[made->image_count] = image;
    made->loaded[made->image_count] = loaded;
    made->image_count++;
    return true;
}

static bool holds_code(const struct builder *b, uint32_t image, const struct sonde__host_map *map)
{
    struct sonde__elf_segment s;
    uint64_t vaddr;
    if ((map->flags & SONDE__MAP_UNKNOWN) == 0 || image == SONDE__IMAGE_NONE) {
        return (map->flags & SONDE__MAP_EXECUTE) != 0;
    }
    vaddr = map->start - b->made.images[image].bias;
    for (uint32_t i = 0;
         b->made.loaded[image].readable && sonde__elf_segment(&b->made.loaded[image].elf, i, &s);
         i++) {
        if (s.type == SONDE__PT_LOAD && (s.flags & SONDE__PF_X) != 0 &&
            vaddr >= (s.vaddr & ~(uint64_t)0xfff) && vaddr < s.vaddr + s.memsz) {
            return true;
        }
    }
    return false;
}

static bool add_group(struct builder *b, const struct group *g)
{
    uint32_t image;
    if (!g->executable) {
        return true;
    }
    if (!add_image(b, g, &image)) {
        return false;
    }
    for (uint32_t i = g->first; i <= g->last; i++) {
        const struct sonde__host_map *map = &g->maps[i];
        if (holds_code(b, image, map)) {
            if (!SONDE__MEM_ADD(b->made.ranges, b->made.range_count, b->made.range_capacity,
                                (struct sonde__image_range){map->start, map->end, image})) {
                return false;
            }
        }
    }
    return true;
}

/* Do two neighbours in the map belong to one image? The caller skips anonymous memory in between
 * (.bss). A second mapping of a file starts again at a lower offset. */
static bool same_file(const struct sonde__host_map *a, const struct sonde__host_map *b)
{
    return a->inode == b->inode && a->device == b->device && strcmp(a->path, b->path) == 0 &&
           b->offset != 0 && b->offset >= a->offset;
}

/* Is the map a segment of the group's file at the right place? All segments of a file smaller
 * than a page are in its first page; a second mapping of it is at none of their places. */
static bool is_segment(struct builder *b, const struct group *g, const struct sonde__host_map *map)
{
    const struct sonde__host_map *first = &g->maps[g->first];
    struct sonde__elf head;
    struct sonde__elf_segment s;
    uint64_t bias;
    bool is_read;
    if (first->inode != map->inode || first->device != map->device ||
        strcmp(first->path, map->path) != 0 || !open_head(b, g, &head, &is_read) ||
        !find_bias(&head, g, &bias)) {
        return false;
    }
    for (uint32_t i = 0; sonde__elf_segment(&head, i, &s); i++) {
        uint64_t skew = s.offset & 0xfff;
        if (s.type == SONDE__PT_LOAD && map->offset == s.offset - skew &&
            map->start == bias + s.vaddr - skew && map->start >= g->maps[g->last].end) {
            return true;
        }
    }
    return false;
}

static bool walk_maps(struct builder *b, const struct sonde__host_maps *maps)
{
    const uint32_t code = SONDE__MAP_EXECUTE | SONDE__MAP_UNKNOWN;
    struct group g = {maps->items, 0, 0, false};
    bool open = false;
    for (uint32_t i = 0; i < maps->count; i++) {
        const struct sonde__host_map *map = &maps->items[i];
        bool file = map->path[0] == '/' || strcmp(map->path, "[vdso]") == 0;
        if (open && file && (same_file(&maps->items[g.last], map) || is_segment(b, &g, map))) {
            g.last = i;
            g.executable |= (map->flags & code) != 0;
            continue;
        }
        if (!file && (map->flags & SONDE__MAP_EXECUTE) == 0) {
            continue; /* anonymous data, maybe inside an image */
        }
        if (open && !add_group(b, &g)) {
            return false;
        }
        g.first = g.last = i;
        g.executable = (map->flags & code) != 0;
        open = true;
    }
    return !open || add_group(b, &g);
}

/* Give the images that were taken over back to the old snapshot, which stays. */
static void undo(struct builder *b)
{
    for (uint32_t i = 0; i < b->made.image_count; i++) {
        for (uint32_t j = 0; j < b->old->image_count; j++) {
            if (b->old->loaded[j].path == b->made.loaded[i].path) {
                b->made.loaded[i] = (struct sonde__target_loaded){0};
                break;
            }
        }
    }
    sonde__target_images_done(&b->made);
}

enum sonde_status sonde__target_images_build(struct sonde__target_images *images,
                                             const struct sonde__host_maps *maps,
                                             const struct sonde__target_source *from)
{
    struct builder b = {.from = from, .old = images};
    uint64_t generation = images->set.generation + 1;
    b.head = sonde__mem_alloc(HEAD_BYTES);
    if (b.head == NULL || !walk_maps(&b, maps)) {
        undo(&b);
        sonde__mem_free(b.head);
        return SONDE_MEMORY;
    }
    sonde__mem_free(b.head);
    for (uint32_t i = 0; i < b.made.image_count; i++) {
        for (uint32_t j = 0; j < images->image_count; j++) {
            if (images->loaded[j].path == b.made.loaded[i].path) {
                images->loaded[j] = (struct sonde__target_loaded){0}; /* taken over */
                break;
            }
        }
    }
    sonde__target_images_replace(images, &b.made);
    images->set = (struct sonde__image_set){images->images, images->ranges, images->image_count,
                                            images->range_count, generation};
    return SONDE_OK;
}

/* A table makes the walk faster and never changes it, so a failed build is not an error. */
static void compile(struct sonde__image *image, struct sonde__target_loaded *loaded)
{
    size_t size = 0, page = sonde__os_page_size(), used;
    void *memory;
    loaded->compiled = true;
    if (sonde__unwind_rules_size(&image->cfi, image->arch, &size) != SONDE_OK || size == 0) {
        return;
    }
    size = (size + page - 1) / page * page;
    memory = sonde__os_map(size);
    if (memory == NULL) {
        return;
    }
    if (sonde__unwind_rules_build(&image->cfi, image->arch, memory, size, &image->rules) !=
        SONDE_OK) {
        image->rules = NULL;
        sonde__os_unmap(memory, size);
        return;
    }
    used = (sonde__unwind_rules_bytes(image->rules) + page - 1) / page * page;
    if (used < size) {
        sonde__os_unmap((uint8_t *)memory + used, size - used);
    }
    loaded->rules_memory = memory;
    loaded->rules_size = used < size ? used : size;
}

void sonde__target_images_hit(struct sonde__target_images *images, const uint64_t *pcs,
                              uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__image_range *range = sonde__image_range_find(&images->set, pcs[i]);
        if (range != NULL && range->image != SONDE__IMAGE_NONE) {
            struct sonde__target_loaded *loaded = &images->loaded[range->image];
            if (++loaded->hits >= HITS_TO_COMPILE && !loaded->compiled) {
                compile(&images->images[range->image], loaded);
            }
        }
    }
}
