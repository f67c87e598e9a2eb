// SPDX-License-Identifier: Apache-2.0
#include "api_names.h"

#include <assert.h>

#include "base_mem.h"
#include "base_sized.h"
#include "base_status.h"
#include "mem_heap.h"
#include "target_self.h"

struct names_path {
    struct names_path *next;
    char text[];
};

struct names_image {
    const char *path;
    uint64_t start, bias;
    struct sonde__build_id build_id;
    _Atomic(const struct sonde__symbol_index *) index; /* null: not opened, or none */
    bool tried;
};

struct names_table {
    struct names_table *next;
    uint64_t generation;   /* of the table's snapshot */
    uint64_t stripes_left; /* for retired tables, as in capture_images.h */
    uint32_t count;
    struct names_image images[];
};

/* --- the table --- */

/* A list is enough, because a process has some dozen images. Null: no memory. */
static const char *keep_path(struct sonde_symbolizer *symbolizer, const char *text)
{
    size_t size = sonde__base_str_length(text) + 1;
    struct names_path *path;
    for (path = symbolizer->paths; path != NULL; path = path->next) {
        if (sonde__base_str_compare(path->text, text) == 0) {
            return path->text;
        }
    }
    path = sonde__mem_alloc(sizeof *path + size);
    if (path == NULL) {
        return NULL;
    }
    sonde__base_mem_copy(path->text, text, size);
    path->next = symbolizer->paths;
    symbolizer->paths = path;
    return path->text;
}

static bool is_same(const struct names_image *entry, const struct sonde__image *image)
{
    return entry->start == image->start && entry->bias == image->bias &&
           entry->build_id.size == image->build_id.size &&
           sonde__base_mem_compare(entry->build_id.bytes, image->build_id.bytes,
                                   image->build_id.size) == 0;
}

/* Find the table's entry for an image of the snapshot; null: none. */
static struct names_image *entry_of(struct names_table *table, const struct sonde__image_set *set,
                                    const struct sonde__image *image)
{
    if (table == NULL) {
        return NULL;
    }
    if (set != NULL && table->generation == set->generation && image >= set->images &&
        image < set->images + set->image_count) {
        return &table->images[image - set->images];
    }
    for (uint32_t i = 0; i < table->count; i++) {
        if (is_same(&table->images[i], image)) {
            return &table->images[i];
        }
    }
    return NULL;
}

static void fill(struct names_table *old, const struct sonde__image *image, const char *path,
                 struct names_image *entry)
{
    struct names_image *known = image->build_id.size != 0 ? entry_of(old, NULL, image) : NULL;
    entry->path = path;
    entry->start = image->start;
    entry->bias = image->bias;
    entry->build_id = image->build_id;
    if (known != NULL) {
        atomic_store_explicit(&entry->index, atomic_load(&known->index), memory_order_relaxed);
        entry->tried = known->tried;
    }
}

/* Free retired tables that no handler can still read. */
static void reclaim(struct sonde_symbolizer *symbolizer)
{
    struct names_table **link = &symbolizer->retired;
    uint64_t idle = *link != NULL ? sonde__capture_stripes_idle() : 0;
    while (*link != NULL) {
        struct names_table *table = *link;
        table->stripes_left &= ~idle;
        if (table->stripes_left == 0) {
            *link = table->next;
            sonde__mem_free(table);
        } else {
            link = &table->next;
        }
    }
}

static enum sonde_status replace(struct sonde_symbolizer *symbolizer,
                                 const struct sonde__image_set *set, struct names_table *old)
{
    struct names_table *table =
        sonde__mem_alloc_zeroed(sizeof *table + set->image_count * sizeof *table->images);
    if (table == NULL) {
        return SONDE_MEMORY;
    }
    table->generation = set->generation;
    table->count = set->image_count;
    for (uint32_t i = 0; i < set->image_count; i++) {
        const char *path = keep_path(symbolizer, set->images[i].path);
        if (path == NULL) {
            sonde__mem_free(table);
            return SONDE_MEMORY;
        }
        fill(old, &set->images[i], path, &table->images[i]);
    }
    atomic_store(&symbolizer->table, table);
    if (old != NULL) {
        old->stripes_left = UINT64_MAX;
        old->next = symbolizer->retired;
        symbolizer->retired = old;
    }
    return SONDE_OK;
}

enum sonde_status names_update(struct sonde_symbolizer *symbolizer)
{
    struct names_table *table = atomic_load(&symbolizer->table);
    struct sonde__capture_pin pin;
    enum sonde_status status = SONDE_OK;
    SONDE_TRY(sonde__target_self_refresh(false));
    reclaim(symbolizer);
    pin = sonde__capture_pin();
    if (table == NULL || table->generation != pin.images->generation) {
        status = replace(symbolizer, pin.images, table);
    }
    sonde__capture_unpin(pin);
    return status;
}

void names_done(struct sonde_symbolizer *symbolizer)
{
    sonde__mem_free(atomic_load(&symbolizer->table));
    while (symbolizer->retired != NULL) {
        struct names_table *table = symbolizer->retired;
        symbolizer->retired = table->next;
        sonde__mem_free(table);
    }
    while (symbolizer->paths != NULL) {
        struct names_path *path = symbolizer->paths;
        symbolizer->paths = path->next;
        sonde__mem_free(path);
    }
}

/* --- symbol files --- */

/* False: no memory; the next call tries again. */
static bool open_index(struct sonde_symbolizer *symbolizer, const struct sonde__image *image,
                       struct names_image *entry)
{
    /* the vdso is whole in memory and has no file */
    bool is_vdso = (image->flags & SONDE__IMAGE_VDSO) != 0;
    const void *memory =
        is_vdso ? (const void *)(uintptr_t)image->start : NULL; // NOLINT(performance-no-int-to-ptr)
    const struct sonde__symbol_index *index = NULL;
    enum sonde_status status =
        sonde__symfile_index(symbolizer->files, image, memory,
                             is_vdso ? (size_t)(image->end - image->start) : 0, &index, NULL);
    if (status == SONDE_OK) {
        atomic_store_explicit(&entry->index, index, memory_order_release);
    }
    entry->tried = status != SONDE_MEMORY;
    return status != SONDE_MEMORY;
}

enum sonde_status sonde_symbolizer_prepare(struct sonde_symbolizer *symbolizer)
{
    struct sonde__capture_pin pin;
    struct names_table *table;
    enum sonde_status status;
    if (symbolizer == NULL) {
        return SONDE_USAGE;
    }
    pthread_mutex_lock(&symbolizer->mutex);
    status = names_update(symbolizer);
    pin = sonde__capture_pin();
    table = atomic_load(&symbolizer->table);
    for (uint32_t i = 0; status == SONDE_OK && i < pin.images->image_count; i++) {
        struct names_image *entry = entry_of(table, pin.images, &pin.images->images[i]);
        if (entry != NULL && !entry->tried &&
            !open_index(symbolizer, &pin.images->images[i], entry)) {
            status = SONDE_MEMORY;
        }
    }
    sonde__capture_unpin(pin);
    pthread_mutex_unlock(&symbolizer->mutex);
    return status;
}

/* --- one pc --- */

static_assert((int)SONDE__NAME_SYMTAB == SONDE_NAME_SYMTAB &&
                  (int)SONDE__NAME_DYNSYM == SONDE_NAME_DYNSYM &&
                  (int)SONDE__NAME_PLT == SONDE_NAME_PLT,
              "the same numbers");

/* A handler can identify an image only by build-id. In normal context the snapshot was just
 * compared with the loader's counters (names_update). */
static const struct sonde__image *find_image(struct sonde__capture_finder *finder, uint64_t pc,
                                             bool is_current)
{
    const struct sonde__image *image =
        finder->snapshot != NULL ? sonde__image_find(finder->snapshot, pc) : NULL;
    return is_current && image != NULL && image->build_id.size == 0
               ? image
               : sonde__capture_check_image(finder, image, pc);
}

bool names_find(struct sonde_symbolizer *symbolizer, const struct sonde__capture_pin *pin,
                uint64_t lookup_pc, bool may_open, struct names_answer *ret_answer)
{
    struct sonde__capture_finder finder; /* its image is large, and set when it is used */
    finder.snapshot = pin->images;
    const struct sonde__image *image = find_image(&finder, lookup_pc, may_open);
    struct names_table *table = atomic_load_explicit(&symbolizer->table, memory_order_acquire);
    const struct sonde__symbol_index *index;
    struct names_image *entry;
    *ret_answer = (struct names_answer){.path = "", .function = {.name = ""}};
    if (image == NULL) {
        return true;
    }
    ret_answer->image_start = image->start;
    ret_answer->bias = image->bias;
    entry = entry_of(table, pin->images, image);
    if (entry == NULL) {
        /* loaded after the snapshot; the finder's own entry ends with this function */
        ret_answer->path = image != &finder.made && image->path[0] != '\0' ? image->path : "?";
        return true;
    }
    ret_answer->path = entry->path[0] != '\0' ? entry->path : "?";
    ret_answer->build_id = &entry->build_id;
    if (may_open && !entry->tried && !open_index(symbolizer, image, entry)) {
        return false;
    }
    index = atomic_load_explicit(&entry->index, memory_order_acquire);
    sonde__symbol_function(index, lookup_pc - image->bias, &ret_answer->function);
    ret_answer->function.start += image->bias;
    return true;
}

void names_calls(struct sonde_symbolizer *symbolizer, const struct sonde__capture_pin *pin,
                 uint64_t lookup_pc, const struct names_answer *names)
{
    const struct sonde__image *image = sonde__image_find(pin->images, lookup_pc);
    symbolizer->answer.count = 0;
    symbolizer->answer.function = names->function;
    if (image != NULL && (image->flags & SONDE__IMAGE_VDSO) == 0) {
        sonde__symfile_calls(symbolizer->files, image, NULL, 0, lookup_pc - image->bias,
                             &symbolizer->answer);
    }
}

static void give_symbol(const struct names_answer *answer, uint64_t pc,
                        struct sonde_symbol *ret_symbol)
{
    bool named = answer->function.name[0] != '\0';
    const struct sonde_symbol symbol = {.name = answer->function.name,
                                        .name_offset = named ? pc - answer->function.start : 0,
                                        .image = answer->path,
                                        .image_offset =
                                            answer->path[0] != '\0' ? pc - answer->bias : pc,
                                        .source = answer->function.source};
    sonde__base_sized_give(ret_symbol, &symbol, sizeof symbol);
}

enum sonde_status sonde_symbolize(struct sonde_symbolizer *symbolizer,
                                  const struct sonde_stack *stack, uint32_t index,
                                  struct sonde_symbol *ret_symbol)
{
    enum sonde_status status;
    if (symbolizer == NULL || stack == NULL || !sonde__base_sized_is_set(ret_symbol) ||
        index >= stack->count) {
        return SONDE_USAGE;
    }
    pthread_mutex_lock(&symbolizer->mutex);
    status = names_update(symbolizer);
    if (status == SONDE_OK) {
        struct sonde__capture_pin pin = sonde__capture_pin();
        struct names_answer answer;
        status = names_find(symbolizer, &pin, sonde_stack_lookup_pc(stack, index), true, &answer)
                     ? SONDE_OK
                     : SONDE_MEMORY;
        sonde__capture_unpin(pin);
        if (status == SONDE_OK) {
            give_symbol(&answer, stack->pcs[index], ret_symbol);
        }
    }
    pthread_mutex_unlock(&symbolizer->mutex);
    return status;
}

enum sonde_status sonde_symbolize_prepared(struct sonde_symbolizer *symbolizer,
                                           const struct sonde_stack *stack, uint32_t index,
                                           struct sonde_symbol *ret_symbol)
{
    struct sonde__capture_pin pin;
    struct names_answer answer;
    if (symbolizer == NULL || stack == NULL || !sonde__base_sized_is_set(ret_symbol) ||
        index >= stack->count) {
        return SONDE_USAGE;
    }
    pin = sonde__capture_pin();
    (void)names_find(symbolizer, &pin, sonde_stack_lookup_pc(stack, index), false, &answer);
    /* a path that only the snapshot has may be freed with it */
    if (answer.build_id == NULL && answer.path[0] != '\0') {
        answer.path = "?";
    }
    sonde__capture_unpin(pin);
    give_symbol(&answer, stack->pcs[index], ret_symbol);
    return SONDE_OK;
}
