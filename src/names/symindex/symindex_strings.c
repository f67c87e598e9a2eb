// SPDX-License-Identifier: Apache-2.0
/* Names and paths of an index, decoded on first use. */
#include <string.h>

#include "mem_heap.h"
#include "symindex.h"

/* As the writer; a damaged file may have longer ones. */
#define NAME_MAX_BYTES 16384u
/* Limit of the memory for strings, in sizes of the file. Decoded names of ceph take three times
 * their stored size; in a damaged file a few bytes could expand to a long name each. */
#define STRINGS_FACTOR 32u
#define STRINGS_FIRST  ((size_t)1 << 20)

static bool has_room(const struct sonde__symindex_strings *strings)
{
    return strings->arena.bytes < STRINGS_FIRST + STRINGS_FACTOR * (size_t)strings->index->size;
}

const char *sonde__symindex_text(const struct sonde__symindex *index, uint32_t place)
{
    const struct sonde__symindex_part *text = &index->parts[SYMINDEX_TEXT];
    /* the last byte is NUL and ends every string */
    if (place >= text->size || text->data[text->size - 1] != 0) {
        return "";
    }
    return (const char *)text->data + place;
}

enum sonde_status sonde__symindex_strings_init(struct sonde__symindex_strings *strings,
                                               const struct sonde__symindex *index)
{
    *strings = (struct sonde__symindex_strings){.index = index};
    sonde__arena_init(&strings->arena);
    strings->names = sonde__mem_alloc_zeroed((size_t)index->names * sizeof *strings->names);
    strings->files = sonde__mem_alloc_zeroed((size_t)index->files * sizeof *strings->files);
    if (strings->names == NULL || strings->files == NULL) {
        sonde__symindex_strings_done(strings);
        return SONDE_MEMORY;
    }
    return SONDE_OK;
}

void sonde__symindex_strings_done(struct sonde__symindex_strings *strings)
{
    sonde__arena_done(&strings->arena);
    sonde__mem_free(strings->names);
    sonde__mem_free(strings->files);
    *strings = (struct sonde__symindex_strings){0};
}

static uint64_t uleb(const uint8_t **p, const uint8_t *end)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *p < end && shift < 35; shift += 7) {
        uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    return UINT64_MAX;
}

/* Decode the names of a block up to the wanted one; each builds on the one before. */
static const char *decode_name(struct sonde__symindex_strings *strings, uint32_t number)
{
    const struct sonde__symindex *index = strings->index;
    const struct sonde__symindex_part *names = &index->parts[SYMINDEX_NAMES];
    uint32_t block = number / SYMINDEX_NAME_BLOCK;
    uint32_t at = sonde__base_le32(index->parts[SYMINDEX_NAME_BLOCKS].data + (size_t)block * 4);
    const uint8_t *end = names->data + names->size;
    const uint8_t *p;
    char text[NAME_MAX_BYTES];
    size_t size = 0;
    if (at >= names->size || !has_room(strings)) {
        return "";
    }
    p = names->data + at;
    for (uint32_t i = block * SYMINDEX_NAME_BLOCK; i <= number; i++) {
        uint64_t common = uleb(&p, end);
        uint64_t more = uleb(&p, end);
        if (common > size || more > sizeof text - common || more > (size_t)(end - p)) {
            return "";
        }
        memcpy(text + common, p, (size_t)more);
        size = (size_t)(common + more);
        p += more;
    }
    const char *copy = sonde__arena_copy_text(&strings->arena, text, size);
    return copy != NULL ? copy : "";
}

const char *sonde__symindex_name(struct sonde__symindex_strings *strings, uint32_t name)
{
    if (name == 0 || name > strings->index->names) {
        return "";
    }
    if (strings->names[name - 1] == NULL) {
        strings->names[name - 1] = decode_name(strings, name - 1);
    }
    return strings->names[name - 1];
}

const char *symindex_path(struct sonde__arena *arena, const char *directory, size_t directory_size,
                          const char *base, size_t base_size)
{
    char *path = sonde__arena_alloc(arena, directory_size + base_size + 2);
    if (path == NULL) {
        return "";
    }
    memcpy(path, directory, directory_size);
    if (directory_size != 0 && path[directory_size - 1] != '/') {
        path[directory_size++] = '/';
    }
    memcpy(path + directory_size, base, base_size);
    path[directory_size + base_size] = '\0';
    return path;
}

static const char *compose(struct sonde__symindex_strings *strings, uint32_t file)
{
    const struct sonde__symindex *index = strings->index;
    const uint8_t *p = index->parts[SYMINDEX_FILES].data + (size_t)file * 8;
    uint32_t number = sonde__base_le32(p);
    const char *base = sonde__symindex_text(index, sonde__base_le32(p + 4));
    const char *directory = "";
    if (!has_room(strings)) {
        return "";
    }
    if (number != 0 && number < index->directories) {
        directory = sonde__symindex_text(
            index, sonde__base_le32(index->parts[SYMINDEX_DIRECTORIES].data + (size_t)number * 4));
    }
    return symindex_path(&strings->arena, directory, strnlen(directory, (size_t)3 * NAME_MAX_BYTES),
                         base, strnlen(base, NAME_MAX_BYTES));
}

const char *sonde__symindex_file(struct sonde__symindex_strings *strings, uint32_t file)
{
    if (file == 0 || file >= strings->index->files) {
        return "";
    }
    if (strings->files[file] == NULL) {
        strings->files[file] = compose(strings, file);
    }
    return strings->files[file];
}

uint32_t sonde__symindex_calls(struct sonde__symindex_strings *strings, uint64_t vaddr,
                               struct sonde__call ret_calls[SONDE__CALLS_MAX])
{
    struct sonde__symindex_frame frames[SONDE__CALLS_MAX + 1];
    size_t count = sonde__symindex_find(strings->index, vaddr, frames, SONDE__CALLS_MAX + 1);
    if (count > SONDE__CALLS_MAX) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        ret_calls[i] = (struct sonde__call){.name = sonde__symindex_name(strings, frames[i].name),
                                            .file = sonde__symindex_file(strings, frames[i].file),
                                            .line = frames[i].line};
    }
    return (uint32_t)count;
}
