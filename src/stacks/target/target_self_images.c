// SPDX-License-Identifier: Apache-2.0
/* Builds snapshots in two passes over the loader's list (measure, fill), in one mapping. It uses
 * no heap, so that it works while an allocator is being replaced or traced. */
#include "target_self_images.h"

#include "base_mem.h"
#include "os.h"
#include "unwind_rules.h"

struct build {
    struct self_snapshot *snapshot; /* null: measuring */
    const struct self_snapshot *previous;
    char *text; /* place of the next path */
    size_t text_left;
    uint32_t image_count, range_count, images_max, ranges_max;
    size_t text_bytes;
    bool compile;
    bool overflow; /* the list grew between the passes */
};

static struct self_table *find_table(const struct build *build, const struct sonde__image *image)
{
    const struct self_snapshot *previous = build->previous;
    bool unchanged = previous != NULL &&
                     previous->counters.adds == build->snapshot->counters.adds &&
                     previous->counters.subs == build->snapshot->counters.subs;
    for (uint32_t i = 0; previous != NULL && i < previous->set.image_count; i++) {
        const struct sonde__image *old = &previous->images[i];
        /* the same build at the same place has the same records; without a build-id only the
         * loader's counters show that */
        if (previous->tables[i] != NULL && old->bias == image->bias &&
            old->cfi.eh_frame == image->cfi.eh_frame &&
            old->build_id.size == image->build_id.size &&
            sonde__base_mem_compare(old->build_id.bytes, image->build_id.bytes,
                                    image->build_id.size) == 0 &&
            (image->build_id.size != 0 || unchanged)) {
            return previous->tables[i];
        }
    }
    return NULL;
}

static struct self_table *compile_table(const struct sonde__image *image)
{
    const size_t head = (sizeof(struct self_table) + 15) & ~(size_t)15;
    const size_t page = sonde__os_page_size();
    struct self_table *table;
    size_t size, used;
    if (image->encodings.info.data != NULL || /* those have priority, and need no compilation */
        image->cfi.eh_frame == NULL ||
        sonde__unwind_rules_size(&image->cfi, image->arch, &size) != SONDE_OK || size == 0) {
        return NULL;
    }
    size = (size + head + page - 1) & ~(page - 1);
    table = sonde__os_map(size);
    if (table == NULL) {
        return NULL;
    }
    if (sonde__unwind_rules_build(&image->cfi, image->arch, (char *)table + head, size - head,
                                  &table->rules) != SONDE_OK) {
        sonde__os_unmap(table, size);
        return NULL;
    }
    used = (head + sonde__unwind_rules_bytes(table->rules) + page - 1) & ~(page - 1);
    if (used < size) {
        sonde__os_unmap((char *)table + used, size - used);
        size = used;
    }
    table->mapped_bytes = size;
    return table;
}

static void add_range(struct build *build, uint64_t start, uint64_t end, uint32_t image)
{
    struct sonde__image_range *ranges = build->snapshot->ranges;
    uint32_t at = build->range_count++;
    while (at > 0 && ranges[at - 1].start > start) {
        ranges[at] = ranges[at - 1];
        at--;
    }
    ranges[at].start = start;
    ranges[at].end = end;
    ranges[at].image = image;
}

/* Bytes for an image's path: the loader's, or the kernel's if it may replace it. */
static size_t path_bytes(const struct sonde__image *image, const char *path)
{
    size_t size = sonde__base_str_length(path) + 1;
    return size < SELF_PATH_MAX && self_path_is_asked(image, path) ? SELF_PATH_MAX : size;
}

static char *copy_text(struct build *build, const char *text, size_t size)
{
    char *copy = build->text;
    if (size > build->text_left) {
        build->overflow = true;
        return NULL;
    }
    sonde__base_mem_copy(copy, text, sonde__base_str_length(text) + 1);
    build->text += size;
    build->text_left -= size;
    return copy;
}

static void add_table(struct build *build, struct sonde__image *image)
{
    struct self_table **table = &build->snapshot->tables[build->image_count];
    *table = find_table(build, image);
    if (*table == NULL && build->compile) {
        *table = compile_table(image);
    }
    if (*table != NULL) {
        (*table)->uses++;
        image->rules = (*table)->rules;
    }
}

static void add_image(struct build *build, struct self_object *object)
{
    struct self_snapshot *snapshot = build->snapshot;
    struct sonde__image *image = &object->image;
    uint32_t index = build->image_count;
    uint64_t start, end;
    if (index >= build->images_max) {
        build->overflow = true;
        return;
    }
    char *copy = copy_text(build, object->path, path_bytes(image, object->path));
    image->path = copy != NULL ? copy : "";
    snapshot->paths[index] = self_path_is_asked(image, object->path) ? copy : NULL;
    snapshot->dynamics[index] = object->dynamic;
    for (uint32_t at = 0; self_loader_code(object, &at, &start, &end);) {
        if (build->range_count >= build->ranges_max) {
            build->overflow = true;
            return;
        }
        add_range(build, start, end, index);
    }
    add_table(build, image);
    snapshot->images[index] = *image;
    build->image_count++;
}

static void take_object(void *ctx, struct self_object *object)
{
    struct build *build = ctx;
    uint64_t start, end;
    if (build->snapshot != NULL) {
        add_image(build, object);
        return;
    }
    build->image_count++;
    build->text_bytes += path_bytes(&object->image, object->path);
    for (uint32_t at = 0; self_loader_code(object, &at, &start, &end);) {
        build->range_count++;
    }
}

static struct self_snapshot *lay_out(struct build *build)
{
    size_t images = sizeof(struct self_snapshot);
    size_t ranges = images + build->image_count * sizeof(struct sonde__image);
    size_t tables = ranges + build->range_count * sizeof(struct sonde__image_range);
    size_t dynamics = tables + build->image_count * sizeof(struct self_table *);
    size_t paths = dynamics + build->image_count * sizeof(const void *);
    size_t text = paths + build->image_count * sizeof(char *);
    size_t page = sonde__os_page_size();
    size_t size = (text + build->text_bytes + page - 1) & ~(page - 1);
    char *block = sonde__os_map(size);
    struct self_snapshot *snapshot = (struct self_snapshot *)(void *)block;
    if (block == NULL) {
        return NULL;
    }
    snapshot->mapped_bytes = size;
    snapshot->images = (struct sonde__image *)(void *)(block + images);
    snapshot->ranges = (struct sonde__image_range *)(void *)(block + ranges);
    snapshot->tables = (struct self_table **)(void *)(block + tables);
    snapshot->dynamics = (const void **)(void *)(block + dynamics);
    snapshot->paths = (char **)(void *)(block + paths);
    build->text = block + text;
    build->text_left = size - text;
    build->images_max = build->image_count;
    build->ranges_max = build->range_count;
    return snapshot;
}

struct self_snapshot *self_snapshot_build(const struct self_snapshot *previous,
                                          const struct self_counters *counters, bool compile)
{
    struct self_loader loader;
    struct build build = {.previous = previous, .compile = compile};
    self_loader_open(&loader);
    self_loader_each(&loader, take_object, &build);
    struct self_snapshot *snapshot = lay_out(&build);
    if (snapshot == NULL) {
        return NULL;
    }
    build.snapshot = snapshot;
    snapshot->counters = *counters;
    snapshot->compiled = compile;
    build.image_count = build.range_count = 0;
    self_loader_each(&loader, take_object, &build);
    snapshot->set.images = snapshot->images;
    snapshot->set.ranges = snapshot->ranges;
    snapshot->set.image_count = build.image_count;
    snapshot->set.range_count = build.range_count;
    snapshot->set.unloads = counters->subs;
    if (build.overflow) { /* impossible under the loader's lock, but never publish a wrong list */
        self_snapshot_free(snapshot);
        return NULL;
    }
    self_snapshot_mark_needed(snapshot, previous); /* uses the loader's paths */
    self_snapshot_ask_paths(snapshot);
    return snapshot;
}

void self_snapshot_free(struct self_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->set.image_count; i++) {
        struct self_table *table = snapshot->tables[i];
        if (table != NULL && --table->uses == 0) {
            sonde__os_unmap(table, table->mapped_bytes);
        }
    }
    sonde__os_unmap(snapshot, snapshot->mapped_bytes);
}
