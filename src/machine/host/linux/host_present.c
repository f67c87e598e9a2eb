// SPDX-License-Identifier: Apache-2.0
/* PAGEMAP_SCAN (Linux 6.7, Documentation/admin-guide/mm/pagemap.rst) skips ranges without page
 * tables; before it, the file has a word for every page. */
#include "host_present.h"

#include <sys/ioctl.h>

#include "base_text.h"
#include "os.h"

/* struct pm_scan_arg and page_region of <linux/fs.h>, which may be too old for them */
struct scan_arguments {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct region {
    uint64_t start, end, categories;
};
#define SCAN       _IOWR('f', 16, struct scan_arguments)
#define IS_PRESENT ((uint64_t)1 << 3)
#define IS_SWAPPED ((uint64_t)1 << 4)

/* Bits 63 and 62 of a word in the file: present, swapped. */
#define WORD_THERE ((uint64_t)3 << 62)
enum { REGIONS = 128, WORDS = 512 };
#define LISTED_MAX ((uint64_t)1 << 36)

int32_t sonde__host_present_open(int32_t pid)
{
    char buffer[48];
    struct sonde__text path;
    int32_t fd;
    sonde__base_text_init(&path, buffer, sizeof buffer);
    sonde__base_text_str(&path, "/proc/");
    sonde__base_text_dec(&path, (uint64_t)pid);
    sonde__base_text_str(&path, "/pagemap");
    return sonde__os_open(buffer, &fd, NULL) == SONDE_OK ? fd : -1;
}

/* False: the kernel does not support it. */
static bool scan(int32_t fd, uint64_t start, uint64_t end, struct sonde__host_range *ranges,
                 size_t capacity, size_t *ret_count, uint64_t *ret_next)
{
    struct region regions[REGIONS];
    struct scan_arguments arguments = {.size = sizeof arguments,
                                       .start = start,
                                       .end = end,
                                       .vec = (uint64_t)(uintptr_t)regions,
                                       .vec_len = capacity < REGIONS ? capacity : REGIONS,
                                       .category_anyof_mask = IS_PRESENT | IS_SWAPPED,
                                       .return_mask = IS_PRESENT | IS_SWAPPED};
    int count = ioctl(fd, SCAN, &arguments);
    if (count < 0 || arguments.walk_end <= start || arguments.walk_end > end) {
        return false;
    }
    *ret_count = 0;
    for (int i = 0; i < count; i++) { /* a partly swapped range is returned in parts */
        struct sonde__host_range *last = *ret_count > 0 ? &ranges[*ret_count - 1] : NULL;
        if (last != NULL && last->end == regions[i].start) {
            last->end = regions[i].end;
        } else {
            ranges[(*ret_count)++] = (struct sonde__host_range){regions[i].start, regions[i].end};
        }
    }
    *ret_next = arguments.walk_end;
    return true;
}

static size_t list(int32_t fd, uint64_t start, uint64_t end, struct sonde__host_range *ranges,
                   size_t capacity, uint64_t *ret_next)
{
    uint64_t words[WORDS], page = sonde__os_page_size(), at = start;
    size_t count = 0;
    while (at < end) {
        uint64_t left = (end - at) / page;
        size_t wanted = 8 * (size_t)(left < WORDS ? left : WORDS), got = 0;
        if (sonde__os_pread(fd, words, wanted, at / page * 8, &got, NULL) != SONDE_OK || got < 8) {
            ranges[count++] = (struct sonde__host_range){at, end};
            at = end;
            break;
        }
        for (size_t i = 0; i < got / 8; i++, at += page) {
            bool is_there = (words[i] & WORD_THERE) != 0;
            if (is_there && count > 0 && ranges[count - 1].end == at) {
                ranges[count - 1].end = at + page;
            } else if (is_there && count + 1 == capacity) { /* keep one entry for a failed read */
                *ret_next = at;
                return count;
            } else if (is_there) {
                ranges[count++] = (struct sonde__host_range){at, at + page};
            }
        }
    }
    *ret_next = at;
    return count;
}

size_t sonde__host_present(int32_t fd, uint64_t start, uint64_t end,
                           struct sonde__host_range *ret_ranges, size_t capacity,
                           uint64_t *ret_next, uint64_t *ret_unasked)
{
    size_t count;
    if (fd < 0 || capacity < 2) {
        ret_ranges[0] = (struct sonde__host_range){start, end};
        *ret_next = end;
        return 1;
    }
    if (scan(fd, start, end, ret_ranges, capacity, &count, ret_next)) {
        return count;
    }
    if (end - start > LISTED_MAX) {
        *ret_unasked += end - start - LISTED_MAX;
        count = list(fd, start, start + LISTED_MAX, ret_ranges, capacity, ret_next);
        if (*ret_next == start + LISTED_MAX) {
            *ret_next = end;
        } else { /* the caller continues from there, and the rest is counted then */
            *ret_unasked -= end - start - LISTED_MAX;
        }
        return count;
    }
    return list(fd, start, end, ret_ranges, capacity, ret_next);
}
