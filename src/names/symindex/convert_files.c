// SPDX-License-Identifier: Apache-2.0
/* Files of line tables: composed as in sonde__dwarf_file_path(), split at the last slash, and
 * interned. Units list the same headers again and again from one merged string table, so most are
 * recognised by the addresses of their strings alone. */
#include <string.h>

#include "convert.h"

/* A directory has at most three parts: comp_dir, the table's directory, folders in the name. */
struct path {
    char text[3 * CONVERT_NAME_MAX + 3];
    size_t size;
};

static void add_part(struct path *path, const char *part, size_t size)
{
    if (size == 0) {
        return;
    }
    if (path->size != 0 && path->text[path->size - 1] != '/') {
        path->text[path->size++] = '/';
    }
    memcpy(path->text + path->size, part, size);
    path->size += size;
}

uint32_t convert_file_of(struct convert *c, uint32_t directory, uint32_t base)
{
    uint64_t key = (uint64_t)directory << 32 | base;
    uint32_t id = convert_map_find(&c->file_ids, key);
    if (id != 0 || !CONVERT_ROOM(c, files, file_count, file_capacity)) {
        return id;
    }
    id = (uint32_t)c->file_count++;
    c->files[id] = (struct file){directory, base};
    convert_map_set(c, &c->file_ids, key, id);
    return id;
}

static uint32_t compose(struct convert *c, const struct sonde__dwarf_file *f)
{
    struct path path;
    const char *comp_dir = c->unit.comp_dir != NULL ? c->unit.comp_dir : "";
    size_t size = strnlen(f->name, CONVERT_NAME_MAX);
    const char *base = f->name + size;
    while (base > f->name && base[-1] != '/') {
        base--;
    }
    path.size = 0;
    if (size == 0 || !convert_work(c, size)) {
        return 0;
    }
    if (f->name[0] != '/') {
        size_t directory_size = strnlen(f->directory, CONVERT_NAME_MAX);
        if (f->directory[0] != '/' && strncmp(comp_dir, f->directory, CONVERT_NAME_MAX) != 0) {
            add_part(&path, comp_dir, strnlen(comp_dir, CONVERT_NAME_MAX));
        }
        add_part(&path, f->directory, directory_size);
    }
    if (base > f->name) { /* without the slash, except in "/file" */
        size_t folder_size = (size_t)(base - f->name) - 1;
        add_part(&path, f->name, folder_size == 0 ? 1 : folder_size);
    }
    return convert_file_of(c, convert_string_copy(c, path.text, path.size),
                           convert_text(c, base, size - (size_t)(base - f->name)));
}

/* The file of a name, directory and comp_dir at known addresses. */
static uint32_t at_places(struct convert *c, const struct sonde__dwarf_file *f)
{
    struct file_place place = {f->name, f->directory, c->unit.comp_dir, 0};
    uint64_t key = (uintptr_t)place.name * 0x100000001b3u ^
                   (uintptr_t)place.directory * 0x9e3779b97f4a7c15u ^ (uintptr_t)place.comp_dir;
    uint32_t known = convert_map_find(&c->file_places, key);
    if (known != 0) {
        const struct file_place *k = &c->places[known - 1];
        if (k->name == place.name && k->directory == place.directory &&
            k->comp_dir == place.comp_dir) {
            return k->file;
        }
    }
    place.file = compose(c, f);
    if (place.file != 0 && known == 0 && CONVERT_ROOM(c, places, place_count, place_capacity)) {
        c->places[c->place_count++] = place;
        convert_map_set(c, &c->file_places, key, (uint32_t)c->place_count);
    }
    return place.file;
}

uint32_t convert_file(struct convert *c, uint64_t number)
{
    if (number >= c->lines.file_count) {
        return 0;
    }
    if (c->unit_files[number] == CONVERT_NONE) {
        c->unit_files[number] = at_places(c, &c->lines.files[number]);
    }
    return c->unit_files[number];
}
