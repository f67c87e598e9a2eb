// SPDX-License-Identifier: Apache-2.0
/* Regions of the address space, from Linux' list of mappings.
 *
 * A program asks for one after the other. An emulator writes the list anew for each reader, so a
 * thread that goes on from its last answer has it from the list that it read then, as long as no
 * image and no primitive has changed a mapping. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "host.h"

enum { KNOWN_MAX = 512 };

struct region {
    uint64_t start, end;
    int32_t protection;
};

static uint32_t changes; /* of mappings */

/* The answers that a thread has ready. */
static __thread struct {
    struct region regions[KNOWN_MAX];
    uint32_t count, at, changes;
    uint64_t asked, end; /* the last answer */
} known;

void host_note_mappings(void)
{
    __atomic_fetch_add(&changes, 1, __ATOMIC_SEQ_CST);
}

/* Reads a file without the heap: a suspended thread may hold its lock. */
struct lines {
    int fd;
    char bytes[2048];
    ssize_t size, at;
};

static int next_char(struct lines *lines)
{
    if (lines->at == lines->size) {
        lines->size = read(lines->fd, lines->bytes, sizeof lines->bytes);
        lines->at = 0;
    }
    return lines->size > 0 ? lines->bytes[lines->at++] : -1;
}

/* The line without what does not fit. */
static int next_line(struct lines *lines, char *ret_line, unsigned capacity)
{
    unsigned length = 0;
    int c = next_char(lines);
    if (c < 0) {
        return 0;
    }
    for (; c >= 0 && c != '\n'; c = next_char(lines)) {
        if (length < capacity - 1) {
            ret_line[length++] = (char)c;
        }
    }
    ret_line[length] = '\0';
    return 1;
}

/* From the one that holds `address`, or the first one after it. */
static void read_regions(uint64_t address)
{
    char line[96], mode[8];
    known.changes = __atomic_load_n(&changes, __ATOMIC_SEQ_CST);
    known.count = known.at = 0;
    struct lines lines = {.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    while (known.count < KNOWN_MAX && next_line(&lines, line, sizeof line)) {
        unsigned long start, end, inode;
        if (sscanf(line, "%lx-%lx %7s %*x %*s %lu", &start, &end, mode, &inode) == 4 &&
            address < end) {
            known.regions[known.count++] =
                (struct region){start, end,
                                (mode[0] == 'r') | (mode[1] == 'w') << 1 | (mode[2] == 'x') << 2 |
                                    (inode != 0) << 3};
        }
    }
    close(lines.fd);
}

/* Null: there is none. */
static const struct region *find_region(uint64_t address)
{
    bool goes_on = known.count > 0 && address > known.asked && address <= known.end &&
                   known.changes == __atomic_load_n(&changes, __ATOMIC_SEQ_CST);
    while (goes_on && known.at < known.count && known.regions[known.at].end <= address) {
        known.at++;
    }
    if (!goes_on || known.at == known.count) {
        read_regions(address);
    }
    return known.at < known.count ? &known.regions[known.at] : NULL;
}

int32_t host_find_region(uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
    uint64_t start, end;
    const struct region *found = find_region(address);
    if (found == NULL) {
        return -1;
    }
    *ret_start = found->start;
    *ret_end = found->end;
    int32_t protection = found->protection;
    int32_t of_image =
        host_image_protection(address > *ret_start ? address : *ret_start, &start, &end);
    if (of_image >= 0) {
        *ret_start = start > *ret_start ? start : *ret_start;
        *ret_end = end < *ret_end ? end : *ret_end;
        protection = (protection & ~7) | of_image;
    }
    known.asked = address;
    known.end = *ret_end;
    return protection;
}
