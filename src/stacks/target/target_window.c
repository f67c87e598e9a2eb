// SPDX-License-Identifier: Apache-2.0
#include "target_window.h"

#include <string.h>

#include "os.h"

void sonde__window_forget(struct sonde__window *window)
{
    memset(window->slots, 0, sizeof window->slots);
    window->os_error = 0;
    window->copy = NULL;
    window->copy_start = window->copy_end = 0;
    window->beyond_copy = false;
}

/* Read from `address` to the end of its window; the memory before it may be a guard page. */
static bool fill(struct sonde__window *w, unsigned slot, uint64_t address)
{
    uint64_t offset = address % SONDE__WINDOW_BYTES;
    int32_t os_error = 0;
    size_t got = sonde__os_read_process(w->pid, address, w->bytes[slot] + offset,
                                        (size_t)(SONDE__WINDOW_BYTES - offset), &os_error);
    w->slots[slot].start = address;
    w->slots[slot].end = address + got;
    if (got == 0) {
        w->os_error = os_error;
    }
    return got > 0;
}

static bool read_part(struct sonde__window *w, uint64_t address, uint8_t *to, size_t size)
{
    unsigned slot = (unsigned)(address / SONDE__WINDOW_BYTES % SONDE__WINDOW_COUNT);
    bool there = address >= w->slots[slot].start && address < w->slots[slot].end;
    if (!there && !fill(w, slot, address)) {
        return false;
    }
    if (size > w->slots[slot].end - address) {
        return false;
    }
    memcpy(to, w->bytes[slot] + address % SONDE__WINDOW_BYTES, size);
    return true;
}

bool sonde__window_read(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    struct sonde__window *w = ctx;
    uint8_t *to = ret_bytes;
    uint64_t left;
    if (size > UINT64_MAX - address) {
        return false;
    }
    if (w->copy != NULL && address >= w->copy_start && address + size <= w->copy_end) {
        memcpy(to, w->copy + (address - w->copy_start), size);
        return true;
    }
    if (w->copy != NULL && address < w->copy_end && address + size > w->copy_start) {
        /* A partial copy would mix two moments. The walk reads ahead in blocks, and then asks
         * again for the one word that it needs. */
        return false;
    }
    if (w->copy != NULL && address >= w->copy_end) {
        w->beyond_copy = true;
    }
    while (size > 0) {
        size_t part;
        left = SONDE__WINDOW_BYTES - address % SONDE__WINDOW_BYTES;
        part = size < left ? size : (size_t)left;
        if (!read_part(w, address, to, part)) {
            return false;
        }
        address += part;
        to += part;
        size -= part;
    }
    return true;
}
