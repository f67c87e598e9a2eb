// SPDX-License-Identifier: Apache-2.0
/* A line of /proc/PID/maps (Linux Documentation/filesystems/proc.rst):
 *
 *     start-end rwxp offset major:minor inode      path
 *
 * The kernel escapes only newlines in a path (\012), so a path with these four characters is
 * ambiguous, and " (deleted)" after a path may be part of the name. Callers that open the path
 * compare the file's build-id with the one in memory, so a misread path is noticed there. */
#include "host_maps.h"

#include <string.h>

#include "base_text.h"
#include "mem_heap.h"

struct line {
    char *at;
    char *end;
};

static bool take_hex(struct line *l, char behind, uint64_t *ret_value)
{
    uint64_t value = 0;
    char *start = l->at;
    for (; l->at < l->end && sonde__base_hex_digit(*l->at) < 16; l->at++) {
        if (value >> 60 != 0) {
            return false;
        }
        value = value << 4 | sonde__base_hex_digit(*l->at);
    }
    if (l->at == start || l->at == l->end || *l->at != behind) {
        return false;
    }
    l->at++;
    *ret_value = value;
    return true;
}

static bool take_inode(struct line *l, uint64_t *ret_value)
{
    uint64_t value = 0;
    char *start = l->at;
    for (; l->at < l->end && *l->at >= '0' && *l->at <= '9'; l->at++) {
        if (value > (UINT64_MAX - 9) / 10) {
            return false;
        }
        value = value * 10 + (uint64_t)(*l->at - '0');
    }
    *ret_value = value;
    return l->at > start;
}

static bool take_flags(struct line *l, uint32_t *ret_flags)
{
    uint32_t flags = 0;
    if (l->end - l->at < 5 || l->at[4] != ' ') {
        return false;
    }
    flags |= l->at[0] == 'r' ? (uint32_t)SONDE__MAP_READ : 0;
    flags |= l->at[1] == 'w' ? (uint32_t)SONDE__MAP_WRITE : 0;
    flags |= l->at[2] == 'x' ? (uint32_t)SONDE__MAP_EXECUTE : 0;
    flags |= l->at[3] == 's' ? (uint32_t)SONDE__MAP_SHARED : 0;
    l->at += 5;
    *ret_flags = flags;
    return true;
}

/* Remove " (deleted)" and undo the escapes, in place. */
static void take_path(struct line *l, struct sonde__host_map *map)
{
    static const char deleted[] = " (deleted)";
    size_t suffix = sizeof deleted - 1;
    char *to;
    while (l->at < l->end && *l->at == ' ') {
        l->at++;
    }
    map->path = to = l->at;
    if ((size_t)(l->end - l->at) > suffix && memcmp(l->end - suffix, deleted, suffix) == 0) {
        l->end -= suffix;
        map->flags |= SONDE__MAP_DELETED;
    }
    while (l->at < l->end) {
        if (l->end - l->at >= 4 && memcmp(l->at, "\\012", 4) == 0) {
            *to++ = '\n';
            l->at += 4;
        } else {
            *to++ = *l->at++;
        }
    }
    *to = '\0';
}

static bool parse_line(char *begin, char *end, struct sonde__host_map *ret_map)
{
    struct line l = {begin, end};
    struct sonde__host_map map = {0};
    uint64_t major, minor;
    if (!take_hex(&l, '-', &map.start) || !take_hex(&l, ' ', &map.end) ||
        !take_flags(&l, &map.flags) || !take_hex(&l, ' ', &map.offset) ||
        !take_hex(&l, ':', &major) || !take_hex(&l, ' ', &minor) || !take_inode(&l, &map.inode) ||
        map.end <= map.start || (l.at < l.end && *l.at != ' ')) {
        return false;
    }
    map.device = major << 32 | (minor & UINT32_MAX);
    take_path(&l, &map);
    *ret_map = map;
    return true;
}

enum sonde_status sonde__host_maps_parse(const char *text, size_t size,
                                         struct sonde__host_maps *ret_maps)
{
    struct sonde__host_maps maps = {0};
    size_t capacity = 0;
    char *at, *end;
    maps.text = sonde__mem_alloc(size + 1);
    if (maps.text == NULL) {
        return SONDE_MEMORY;
    }
    memcpy(maps.text, text, size);
    maps.text[size] = '\0';
    maps.text_size = size;
    for (at = maps.text, end = at + size; at < end;) {
        struct sonde__host_map map;
        char *newline = memchr(at, '\n', (size_t)(end - at));
        char *line_end = newline != NULL ? newline : end;
        if (line_end > at && parse_line(at, line_end, &map) &&
            (maps.count == 0 || map.start >= maps.items[maps.count - 1].end)) {
            if (maps.count == UINT32_MAX ||
                !sonde__mem_grow(&maps.items, maps.count, &capacity, sizeof map)) {
                sonde__host_maps_done(&maps);
                return SONDE_MEMORY;
            }
            maps.items[maps.count++] = map;
        } else if (line_end > at) {
            maps.bad_lines++;
        }
        at = line_end + 1;
    }
    *ret_maps = maps;
    return SONDE_OK;
}

void sonde__host_maps_done(struct sonde__host_maps *maps)
{
    sonde__mem_free(maps->items);
    sonde__mem_free(maps->text);
    *maps = (struct sonde__host_maps){0};
}
