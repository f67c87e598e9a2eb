// SPDX-License-Identifier: Apache-2.0
#include "symfile_cache.h"

#include <string.h>

#include "base_hash.h"
#include "base_status.h"
#include "mem_heap.h"
#include "symfile_calls.h"
#include "symfile_find.h"
#include "symfile_macho.h"
#include "symfile_mini.h"
#include "symfile_open.h"

/* Chains of the table of entries: a large process has a few hundred images. */
#define BUCKET_COUNT 256u

struct entry {
    struct entry *next;
    struct sonde__build_id id;
    char *path;                   /* with `seen` the key if id.size is 0 */
    struct sonde__host_file seen; /* the file at `path` if id.size is 0; its data is not kept */
    struct sonde_error error;     /* why there is no view or index; status OK: no error */
    struct symfile_view own, debug;
    struct symfile_mini mini;          /* without a debug file */
    void *memory;                      /* copy of the image's bytes, if the view uses it */
    const struct sonde__elf *elf;      /* own, or only a debug file; null: nothing found */
    struct sonde__symfile_macho macho; /* instead of all that, if the image is a Mach-O */
    bool is_macho;
    struct sonde__symbol_index *index;
    struct symfile_calls *calls;
    bool memory_tried, debug_tried, calls_tried;
};

struct sonde__symfile_cache {
    struct sonde__symfile_options options;
    char *root, *debug_root;
    char **folders;
    struct entry *buckets[BUCKET_COUNT];
};

static bool copy_folders(struct sonde__symfile_cache *cache,
                         const struct sonde__symfile_options *options)
{
    unsigned count = options != NULL ? options->folder_count : 0;
    cache->folders = sonde__mem_alloc_zeroed((count + 1) * sizeof *cache->folders);
    for (unsigned i = 0; cache->folders != NULL && i < count; i++) {
        cache->folders[i] = sonde__mem_copy_string(options->folders[i]);
        if (cache->folders[i] == NULL) {
            return false;
        }
        cache->options.folder_count = i + 1;
    }
    cache->options.folders = (const char *const *)cache->folders;
    return cache->folders != NULL;
}

enum sonde_status sonde__symfile_cache_create(const struct sonde__symfile_options *options,
                                              struct sonde__symfile_cache **ret_cache)
{
    struct sonde__symfile_cache *cache = sonde__mem_alloc_zeroed(sizeof *cache);
    const char *root = options != NULL && options->root != NULL ? options->root : "";
    const char *debug_root =
        options != NULL && options->debug_root != NULL ? options->debug_root : "/usr/lib/debug";
    if (cache == NULL) {
        return SONDE_MEMORY;
    }
    cache->root = sonde__mem_copy_string(root);
    cache->debug_root = sonde__mem_copy_string(debug_root);
    if (cache->root == NULL || cache->debug_root == NULL || !copy_folders(cache, options)) {
        sonde__symfile_cache_destroy(cache);
        return SONDE_MEMORY;
    }
    cache->options.files = options != NULL ? options->files : NULL;
    cache->options.file_count = options != NULL ? options->file_count : 0;
    cache->options.places = options != NULL ? options->places : NULL;
    cache->options.making = options != NULL ? options->making : NULL;
    cache->options.no_inflate = options != NULL && options->no_inflate;
    cache->options.fetch = options != NULL ? options->fetch : NULL;
    cache->options.root = cache->root;
    cache->options.debug_root = cache->debug_root;
    *ret_cache = cache;
    return SONDE_OK;
}

void sonde__symfile_use_places(struct sonde__symfile_cache *cache,
                               const struct sonde__symfile_places *places)
{
    cache->options.places = places;
}

/* Drop the results of a search before a new one. */
static void clear_entry(const struct sonde__symfile_places *places, struct entry *entry)
{
    if (entry->calls != NULL) {
        places->close(entry->calls);
    }
    sonde__symbol_index_destroy(entry->index);
    symfile_view_done(&entry->own);
    symfile_view_done(&entry->debug);
    symfile_mini_close(&entry->mini);
    sonde__symfile_macho_close(&entry->macho);
    sonde__mem_free(entry->memory);
    entry->index = NULL;
    entry->calls = NULL;
    entry->memory = NULL;
    entry->elf = NULL;
    entry->is_macho = false;
    entry->debug_tried = false;
    entry->calls_tried = false;
    entry->error = (struct sonde_error){0};
}

static void destroy_entry(const struct sonde__symfile_places *places, struct entry *entry)
{
    clear_entry(places, entry);
    sonde__mem_free(entry->path);
    sonde__mem_free(entry);
}

void sonde__symfile_cache_destroy(struct sonde__symfile_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (unsigned i = 0; i < BUCKET_COUNT; i++) {
        while (cache->buckets[i] != NULL) {
            struct entry *entry = cache->buckets[i];
            cache->buckets[i] = entry->next;
            destroy_entry(cache->options.places, entry);
        }
    }
    for (unsigned i = 0; i < cache->options.folder_count; i++) {
        sonde__mem_free(cache->folders[i]);
    }
    sonde__mem_free(cache->folders);
    sonde__mem_free(cache->root);
    sonde__mem_free(cache->debug_root);
    sonde__mem_free(cache);
}

static unsigned hash_key(const struct sonde__image *image)
{
    uint64_t hash =
        image->build_id.size != 0
            ? sonde__base_hash_bytes(SONDE__HASH_EMPTY, image->build_id.bytes, image->build_id.size)
            : sonde__base_hash_text(image->path != NULL ? image->path : "");
    return sonde__base_hash_fold(hash) % BUCKET_COUNT;
}

/* The current file at the path: it is part of the key without a build-id, because the path may lead
 * to other files later. */
static struct sonde__host_file look(const struct sonde__symfile_cache *cache,
                                    const struct sonde__image *image, const char *path)
{
    struct sonde__host_file file = {0}, seen;
    if (image->build_id.size != 0 || path[0] != '/' ||
        sonde__host_file_map(cache->options.root, path, UINT64_MAX, &file, NULL) != SONDE_OK) {
        return (struct sonde__host_file){0};
    }
    seen = file;
    seen.data = NULL;
    sonde__host_file_unmap(&file);
    return seen;
}

static bool is_same_file(const struct sonde__host_file *a, const struct sonde__host_file *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns;
}

/* The image's entry, created on first use; null: no memory. */
static struct entry *find_entry(struct sonde__symfile_cache *cache,
                                const struct sonde__image *image, bool *ret_new)
{
    const char *path = image->path != NULL ? image->path : "";
    struct entry **bucket = &cache->buckets[hash_key(image)];
    const struct sonde__host_file seen = look(cache, image, path);
    struct entry *entry;
    for (entry = *bucket; entry != NULL; entry = entry->next) {
        if (symfile_same_build_id(&entry->id, &image->build_id) &&
            (entry->id.size != 0 ||
             (strcmp(entry->path, path) == 0 && is_same_file(&entry->seen, &seen)))) {
            *ret_new = false;
            return entry;
        }
    }
    entry = sonde__mem_alloc_zeroed(sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    entry->id = image->build_id;
    entry->seen = seen;
    entry->path = sonde__mem_copy_string(path);
    if (entry->path == NULL) {
        sonde__mem_free(entry);
        return NULL;
    }
    entry->next = *bucket;
    *bucket = entry;
    *ret_new = true;
    return entry;
}

/* Use the image's bytes in memory as its view; their build-id is the image's. */
static enum sonde_status open_memory(struct entry *entry, const struct sonde__image *image,
                                     const void *memory, size_t size, struct sonde_error *ret_error)
{
    enum sonde_status status;
    entry->memory = sonde__mem_alloc(size);
    if (entry->memory == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for an image's bytes",
                                image->path, 0, size);
    }
    memcpy(entry->memory, memory, size);
    status = sonde__elf_open_image(entry->memory, size, image->bias, &entry->own.elf, ret_error);
    if (status != SONDE_OK) {
        sonde__mem_free(entry->memory);
        entry->memory = NULL;
        return status;
    }
    entry->elf = &entry->own.elf;
    return SONDE_OK;
}

static bool is_open(const struct entry *entry)
{
    return entry->elf != NULL || entry->is_macho;
}

/* Open the image's file as a Mach-O, and its dSYM. */
static void open_macho(const struct sonde__symfile_cache *cache, struct entry *entry,
                       const struct sonde__image *image)
{
    const struct sonde__symfile_macho_wanted wanted = {
        .uuid = &image->build_id,
        .folders = cache->options.folders,
        .folder_count = cache->options.folder_count,
    };
    if (image->build_id.size == SONDE__MACHO_UUID_BYTES && cache->root[0] == '\0' &&
        sonde__symfile_macho_open(image->path, &wanted, &entry->macho, &entry->error) == SONDE_OK) {
        entry->is_macho = true;
        entry->error = (struct sonde_error){.status = SONDE_OK};
    }
}

/* Find the image's view: its file, its bytes in memory, or only its debug file. */
static void open_entry(const struct sonde__symfile_cache *cache, struct entry *entry,
                       const struct sonde__image *image, const void *memory, size_t memory_size)
{
    struct sonde_error error = {0};
    enum sonde_status status = symfile_find_own(&cache->options, image, &entry->own, &error);
    if (status == SONDE_OK) {
        entry->elf = &entry->own.elf;
        return;
    }
    entry->error = error;              /* reported if nothing else is found */
    if (status == SONDE_UNSUPPORTED) { /* not an ELF */
        open_macho(cache, entry, image);
        if (entry->is_macho) {
            return;
        }
    }
    if (memory != NULL && memory_size != 0) {
        entry->memory_tried = true;
        status = open_memory(entry, image, memory, memory_size, &error);
        if (status == SONDE_OK || status == SONDE_MEMORY) {
            entry->error = (struct sonde_error){.status = SONDE_OK};
            if (status == SONDE_MEMORY) {
                entry->error = error;
            }
            return;
        }
    }
    if (symfile_find_debug(&cache->options, image, NULL, &entry->debug)) {
        entry->debug_tried = true;
        entry->elf = &entry->debug.elf;
        entry->error = (struct sonde_error){.status = SONDE_OK};
    }
}

static enum sonde_status remembered(const struct entry *entry, struct sonde_error *ret_error)
{
    if (entry->error.status != SONDE_OK && ret_error != NULL) {
        *ret_error = entry->error;
    }
    return entry->error.status;
}

/* The entry of an image with its view opened. */
static enum sonde_status load_entry(struct sonde__symfile_cache *cache,
                                    const struct sonde__image *image, const void *memory,
                                    size_t memory_size, struct entry **ret_entry,
                                    struct sonde_error *ret_error)
{
    bool is_new;
    struct entry *entry = find_entry(cache, image, &is_new);
    if (entry == NULL) {
        (void)sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for a symbol file", image->path,
                               0, 0);
        return SONDE_MEMORY;
    }
    if (!is_open(entry) && !is_new && image->path != NULL &&
        strcmp(entry->path, image->path) != 0) {
        char *path = sonde__mem_copy_string(image->path); /* this path may lead to the file */
        is_new = path != NULL;
        sonde__mem_free(is_new ? entry->path : NULL);
        entry->path = is_new ? path : entry->path;
    }
    if (is_new || entry->error.status == SONDE_MEMORY ||
        (!is_open(entry) && memory != NULL && !entry->memory_tried)) {
        clear_entry(cache->options.places, entry);
        open_entry(cache, entry, image, memory, memory_size);
    }
    *ret_entry = entry;
    return is_open(entry) ? SONDE_OK : remembered(entry, ret_error);
}

enum sonde_status sonde__symfile_elf(struct sonde__symfile_cache *cache,
                                     const struct sonde__image *image, const void *memory,
                                     size_t memory_size, const struct sonde__elf **ret_elf,
                                     struct sonde_error *ret_error)
{
    struct entry *entry = NULL;
    SONDE_TRY(load_entry(cache, image, memory, memory_size, &entry, ret_error));
    if (entry->is_macho) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "not an ELF", image->path, 0, 0);
    }
    *ret_elf = entry->elf;
    return SONDE_OK;
}

enum sonde_status sonde__symfile_macho(struct sonde__symfile_cache *cache,
                                       const struct sonde__image *image,
                                       const struct sonde__symfile_macho **ret_macho,
                                       struct sonde_error *ret_error)
{
    struct entry *entry = NULL;
    SONDE_TRY(load_entry(cache, image, NULL, 0, &entry, ret_error));
    if (!entry->is_macho) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "not a Mach-O", image->path, 0, 0);
    }
    *ret_macho = &entry->macho;
    return SONDE_OK;
}

static void find_debug(const struct sonde__symfile_cache *cache, struct entry *entry,
                       const struct sonde__image *image)
{
    if (!entry->debug_tried) {
        (void)symfile_find_debug(&cache->options, image, entry->elf, &entry->debug);
        entry->debug_tried = true;
    }
}

/* An ELF with names that the image lacks, or null. */
static const struct sonde__elf *names_besides(const struct sonde__symfile_cache *cache,
                                              struct entry *entry)
{
    struct sonde__elf_section symtab;
    if (entry->debug.file.data != NULL) {
        return &entry->debug.elf;
    }
    return !cache->options.no_inflate &&
                   !sonde__elf_section_by_type(entry->elf, SONDE__SHT_SYMTAB, &symtab) &&
                   (entry->mini.scratch.data != NULL || symfile_mini_open(entry->elf, &entry->mini))
               ? &entry->mini.elf
               : NULL;
}

static enum sonde_status create_macho_index(struct entry *entry)
{
    const struct sonde__symfile_macho *macho = &entry->macho;
    return sonde__symbol_index_create_macho(&macho->own, macho->separate ? &macho->debug : NULL,
                                            &entry->index, &entry->error);
}

static enum sonde_status index_of(const struct sonde__symfile_cache *cache, struct entry *entry,
                                  const struct sonde__image *image,
                                  const struct sonde__symbol_index **ret_index,
                                  struct sonde_error *ret_error)
{
    struct sonde__elf_section symtab;
    if (entry->index == NULL) {
        const struct sonde__elf *debug = NULL;
        SONDE_TRY(remembered(entry, ret_error));
        if (entry->elf == &entry->own.elf) {
            if (!sonde__elf_section_by_type(entry->elf, SONDE__SHT_SYMTAB, &symtab)) {
                find_debug(cache, entry, image);
            }
            debug = names_besides(cache, entry);
        }
        if ((entry->is_macho ? create_macho_index(entry)
                             : sonde__symbol_index_create(entry->elf, debug, &entry->index,
                                                          &entry->error)) != SONDE_OK) {
            return remembered(entry, ret_error);
        }
    }
    *ret_index = entry->index;
    return SONDE_OK;
}

enum sonde_status sonde__symfile_index(struct sonde__symfile_cache *cache,
                                       const struct sonde__image *image, const void *memory,
                                       size_t memory_size,
                                       const struct sonde__symbol_index **ret_index,
                                       struct sonde_error *ret_error)
{
    struct entry *entry = NULL;
    SONDE_TRY(load_entry(cache, image, memory, memory_size, &entry, ret_error));
    return index_of(cache, entry, image, ret_index, ret_error);
}

void sonde__symfile_function(struct sonde__symfile_cache *cache, const struct sonde__image *image,
                             const void *memory, size_t memory_size, uint64_t vaddr,
                             struct sonde__function *ret_function)
{
    const struct sonde__symbol_index *index = NULL;
    (void)!sonde__symfile_index(cache, image, memory, memory_size, &index, NULL);
    sonde__symbol_function(index, vaddr, ret_function);
}

/* The source of the image's calls, opened once; null: none. */
static struct symfile_calls *calls_of(const struct sonde__symfile_cache *cache, struct entry *entry,
                                      const struct sonde__image *image)
{
    if (!entry->calls_tried) {
        entry->calls_tried = true;
        if (!entry->is_macho && entry->elf == &entry->own.elf &&
            !symfile_has_debug_information(entry->elf)) {
            find_debug(cache, entry, image);
        }
        entry->calls =
            cache->options.places->open(&cache->options, image, &entry->own, &entry->debug,
                                        entry->is_macho ? &entry->macho : NULL);
    }
    return entry->calls;
}

/* The same by image. An index may exist even if no file of the image does. */
static struct symfile_calls *find_calls(struct sonde__symfile_cache *cache,
                                        const struct sonde__image *image, const void *memory,
                                        size_t memory_size)
{
    struct entry *entry = NULL;
    return cache->options.places != NULL &&
                   load_entry(cache, image, memory, memory_size, &entry, NULL) != SONDE_MEMORY &&
                   entry != NULL
               ? calls_of(cache, entry, image)
               : NULL;
}

void sonde__symfile_calls(struct sonde__symfile_cache *cache, const struct sonde__image *image,
                          const void *memory, size_t memory_size, uint64_t vaddr,
                          struct sonde__answer *answer)
{
    struct symfile_calls *calls = find_calls(cache, image, memory, memory_size);
    answer->count = 0;
    if (calls != NULL) {
        cache->options.places->find(calls, vaddr, answer);
    }
}

void sonde__symfile_ask(struct sonde__symfile_cache *cache, const struct sonde__image *image,
                        const void *memory, size_t memory_size, uint64_t vaddr,
                        struct sonde__answer *ret_answer)
{
    const struct sonde__symbol_index *index = NULL;
    struct symfile_calls *calls = NULL;
    struct entry *entry = NULL;
    enum sonde_status status = load_entry(cache, image, memory, memory_size, &entry, NULL);
    if (status == SONDE_OK) {
        (void)!index_of(cache, entry, image, &index, NULL);
    }
    if (status != SONDE_MEMORY && cache->options.places != NULL) {
        calls = calls_of(cache, entry, image);
    }
    sonde__symbol_function(index, vaddr, &ret_answer->function);
    ret_answer->count = 0;
    if (calls != NULL) {
        cache->options.places->find(calls, vaddr, ret_answer);
    }
}

bool sonde__symfile_tails(struct sonde__symfile_cache *cache, const struct sonde__image *image,
                          const void *memory, size_t memory_size,
                          struct sonde__tail_graph *ret_graph, uint64_t *ret_base)
{
    struct symfile_calls *calls = find_calls(cache, image, memory, memory_size);
    return calls != NULL && cache->options.places->tails(calls, ret_graph, ret_base);
}
