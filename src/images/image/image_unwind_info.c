// SPDX-License-Identifier: Apache-2.0
#include "image_unwind_info.h"

#include "base_bytes.h"

enum {
    VERSION = 1,
    HEADER_BYTES = 28, /* version; then place and count of encodings, personalities, the index */
    INDEX_ENTRY_BYTES = 12, /* first function, place of the page, place of its LSDAs */
    PAGE_REGULAR = 2,
    PAGE_COMPRESSED = 3,
    REGULAR_ENTRY_BYTES = 8,    /* function, encoding */
    COMPRESSED_ENTRY_BYTES = 4, /* function from the page's first, index of the encoding */
    ENCODING_BYTES = 4,
};

/* A page of the second level. */
struct page {
    const uint8_t *entries;
    const uint8_t *encodings; /* a compressed page's own encodings */
    uint32_t count;           /* entries; 0: no page */
    uint32_t encoding_count;
    uint32_t first, end; /* range of functions by the index, from the base */
    bool is_compressed;
};

static bool is_inside(const struct sonde__unwind_info *info, uint64_t at, uint64_t count,
                      unsigned unit)
{
    return at <= info->size && count <= (info->size - at) / unit;
}

bool sonde__unwind_info_open(const uint8_t *data, size_t size, uint64_t base,
                             struct sonde__unwind_info *ret_info)
{
    struct sonde__unwind_info info = {.data = data, .size = size, .base = base};
    if (data == NULL || size < HEADER_BYTES || sonde__base_le32(data) != VERSION) {
        return false;
    }
    info.common_at = sonde__base_le32(data + 4);
    info.common_count = sonde__base_le32(data + 8);
    info.index_at = sonde__base_le32(data + 20);
    info.index_count = sonde__base_le32(data + 24);
    if (info.index_count == 0 ||
        !is_inside(&info, info.common_at, info.common_count, ENCODING_BYTES) ||
        !is_inside(&info, info.index_at, info.index_count, INDEX_ENTRY_BYTES)) {
        return false;
    }
    info.index_count--; /* the last one has no page */
    *ret_info = info;
    return true;
}

/* The first function of page `index` <= index_count, from the base. */
static uint32_t index_start(const struct sonde__unwind_info *info, uint32_t index)
{
    return sonde__base_le32(info->data + info->index_at + (size_t)index * INDEX_ENTRY_BYTES);
}

/* Open page `index` < index_count. A malformed page has no entries. */
static struct page open_page(const struct sonde__unwind_info *info, uint32_t index)
{
    struct page page = {.first = index_start(info, index), .end = index_start(info, index + 1)};
    struct sonde__bytes view;
    sonde__base_bytes_init(&view, info->data, info->size);
    (void)sonde__base_bytes_seek(&view, (uint64_t)info->index_at +
                                            (uint64_t)index * INDEX_ENTRY_BYTES + 4);
    uint32_t at = sonde__base_bytes_u32(&view);
    (void)sonde__base_bytes_seek(&view, at);
    uint32_t kind = sonde__base_bytes_u32(&view);
    uint64_t entries_at = (uint64_t)at + sonde__base_bytes_u16(&view);
    uint32_t count = sonde__base_bytes_u16(&view);
    if (at == 0 || view.failed || (kind != PAGE_REGULAR && kind != PAGE_COMPRESSED)) {
        return page;
    }
    page.is_compressed = kind == PAGE_COMPRESSED;
    if (page.is_compressed) {
        uint64_t encodings_at = (uint64_t)at + sonde__base_bytes_u16(&view);
        page.encoding_count = sonde__base_bytes_u16(&view);
        if (view.failed || !is_inside(info, encodings_at, page.encoding_count, ENCODING_BYTES)) {
            return page;
        }
        page.encodings = info->data + encodings_at;
    }
    unsigned unit = page.is_compressed ? COMPRESSED_ENTRY_BYTES : REGULAR_ENTRY_BYTES;
    if (is_inside(info, entries_at, count, unit)) {
        page.entries = info->data + entries_at;
        page.count = count;
    }
    return page;
}

/* The start of entry `index` < count, from the base; it may exceed 32 bits. */
static uint64_t entry_start(const struct page *page, uint32_t index)
{
    if (!page->is_compressed) {
        return sonde__base_le32(page->entries + (size_t)index * REGULAR_ENTRY_BYTES);
    }
    uint32_t word = sonde__base_le32(page->entries + (size_t)index * COMPRESSED_ENTRY_BYTES);
    return (uint64_t)page->first + (word & 0xffffff);
}

static uint64_t entry_end(const struct page *page, uint32_t index)
{
    uint64_t end = index + 1 < page->count ? entry_start(page, index + 1) : page->end;
    return end < page->end ? end : page->end;
}

/* Returns 0 if the index of the encoding is invalid. */
static uint32_t entry_encoding(const struct sonde__unwind_info *info, const struct page *page,
                               uint32_t index)
{
    if (!page->is_compressed) {
        return sonde__base_le32(page->entries + (size_t)index * REGULAR_ENTRY_BYTES + 4);
    }
    uint32_t which = sonde__base_le32(page->entries + (size_t)index * COMPRESSED_ENTRY_BYTES) >> 24;
    if (which < info->common_count) {
        return sonde__base_le32(info->data + info->common_at + (size_t)which * ENCODING_BYTES);
    }
    which -= info->common_count;
    return which < page->encoding_count
               ? sonde__base_le32(page->encodings + (size_t)which * ENCODING_BYTES)
               : 0;
}

/* How many of the ascending starts of a page, or of the index, are at or below `offset`. */
static uint32_t count_entries(const struct page *page, uint64_t offset)
{
    uint32_t low = 0, high = page->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (entry_start(page, middle) <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint32_t count_pages(const struct sonde__unwind_info *info, uint64_t offset)
{
    uint32_t low = 0, high = info->index_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index_start(info, middle) <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool sonde__unwind_info_find(const struct sonde__unwind_info *info, uint64_t vaddr,
                             struct sonde__unwind_info_entry *ret_entry)
{
    uint64_t offset = vaddr - info->base;
    uint32_t pages = info->data != NULL && vaddr >= info->base ? count_pages(info, offset) : 0;
    if (pages == 0) {
        return false;
    }
    struct page page = open_page(info, pages - 1);
    uint32_t entries = count_entries(&page, offset);
    if (entries == 0 || offset >= entry_end(&page, entries - 1) ||
        offset < entry_start(&page, entries - 1)) {
        return false;
    }
    ret_entry->start = info->base + entry_start(&page, entries - 1);
    ret_entry->end = info->base + entry_end(&page, entries - 1);
    ret_entry->encoding = entry_encoding(info, &page, entries - 1);
    return true;
}

void sonde__unwind_info_begin(const struct sonde__unwind_info *info,
                              struct sonde__unwind_info_walk *ret_walk)
{
    *ret_walk = (struct sonde__unwind_info_walk){
        .info = info, .left = sonde__unwind_info_count_max(info), .covered = info->base};
}

bool sonde__unwind_info_next(struct sonde__unwind_info_walk *walk,
                             struct sonde__unwind_info_entry *ret_entry)
{
    const struct sonde__unwind_info *info = walk->info;
    for (; info->data != NULL && walk->page < info->index_count; walk->page++, walk->entry = 0) {
        struct page page = open_page(info, walk->page);
        while (walk->entry < page.count && walk->left > 0) {
            walk->left--;
            uint32_t entry = walk->entry++;
            uint64_t start = info->base + entry_start(&page, entry);
            uint64_t end = info->base + entry_end(&page, entry);
            if (start >= walk->covered && start < end) {
                ret_entry->start = start;
                ret_entry->end = walk->covered = end;
                ret_entry->encoding = entry_encoding(info, &page, entry);
                return true;
            }
        }
    }
    return false;
}

bool sonde__unwind_info_range(const struct sonde__unwind_info *info, uint64_t *ret_start,
                              uint64_t *ret_end)
{
    if (info->data == NULL || info->index_count == 0) {
        return false;
    }
    *ret_start = info->base + index_start(info, 0);
    *ret_end = info->base + index_start(info, info->index_count);
    return *ret_start < *ret_end;
}

uint32_t sonde__unwind_info_count_max(const struct sonde__unwind_info *info)
{
    uint64_t count = 0;
    for (uint32_t i = 0; info->data != NULL && i < info->index_count; i++) {
        count += open_page(info, i).count;
    }
    uint64_t room = info->size / COMPRESSED_ENTRY_BYTES;
    count = count < room ? count : room;
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}
