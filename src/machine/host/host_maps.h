// SPDX-License-Identifier: Apache-2.0
/* The memory map of a process, from /proc/PID/maps or the records of a core. Context: any
 * thread. */
#ifndef SONDE_HOST_MAPS_H
#define SONDE_HOST_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

enum sonde__host_map_flags {
    SONDE__MAP_READ = 1,
    SONDE__MAP_WRITE = 2,
    SONDE__MAP_EXECUTE = 4,
    SONDE__MAP_SHARED = 8,
    SONDE__MAP_DELETED = 16, /* its file was deleted */
};

struct sonde__host_map {
    uint64_t start, end; /* end > start */
    uint64_t offset;     /* in the file */
    uint64_t device;     /* major << 32 | minor */
    uint64_t inode;      /* 0: no file */
    uint32_t flags;
    const char *path; /* "" for anonymous memory; "[vdso]", "[stack]" etc. unchanged */
};

struct sonde__host_maps {
    struct sonde__host_map *items; /* sorted by start, disjoint */
    uint32_t count;
    uint32_t bad_lines; /* malformed or unordered lines, left out */
    char *text;         /* holds the paths */
    size_t text_size;
};

/* Parse the text of a maps file; the text is copied. Returns OK | MEMORY. Release: maps_done. */
SONDE_NODISCARD enum sonde_status sonde__host_maps_parse(const char *text, size_t size,
                                                         struct sonde__host_maps *ret_maps);

/* Read and parse /proc/PID/maps. The process may change its map meanwhile: a mapping listed twice
 * is taken once. Returns OK | ABSENT (no such process) | DENIED | LIMIT | MEMORY | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_maps_read(int32_t pid,
                                                        struct sonde__host_maps *ret_maps,
                                                        struct sonde_error *ret_error);
void sonde__host_maps_done(struct sonde__host_maps *maps);

#endif
