// SPDX-License-Identifier: Apache-2.0
#include "capture_window.h"

#include "base_mem.h"
#include "capture_code.h"
#include "capture_walk.h"
#include "os_context.h"
#include "unwind_memory.h"
#include "unwind_walk.h"

enum { PAGE = 4096, ALIGN = SONDE__READER_BLOCK, FIRST_MIN = 1024 };
_Static_assert(SONDE__WINDOW_BYTES >= PAGE + ALIGN, "a page, and what is before it in its block");

static void plan(uint64_t address, uint64_t least, struct sonde__os_part *part)
{
    uint64_t end = (address & ~(uint64_t)(PAGE - 1)) + PAGE;
    part->address = address & ~(uint64_t)(ALIGN - 1);
    while (end - address < least && end + PAGE - part->address <= SONDE__WINDOW_BYTES) {
        end += PAGE;
    }
    part->size = (size_t)(end - part->address);
    part->got = 0;
}

void sonde__capture_window_plan(uint64_t sp, uint32_t expected_bytes, struct sonde__os_part *part)
{
    plan(sp, expected_bytes != 0 ? expected_bytes : FIRST_MIN, part);
}

struct walked {
    struct sonde__os_part *window;
    uint64_t end; /* of the bytes read */
};

static bool read_window(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    struct walked *walked = ctx;
    struct sonde__os_part *window = walked->window;
    uint8_t *bytes = ret_bytes;
    while (size > 0) {
        size_t part;
        if (address < window->address || address - window->address >= window->got) {
            plan(address, PAGE, window);
            window->got = sonde__os_read(window->address, window->bytes, window->size);
            if (address - window->address >= window->got) {
                return false;
            }
        }
        part = window->got - (size_t)(address - window->address);
        part = part < size ? part : size;
        walked->end = address + part > walked->end ? address + part : walked->end;
        sonde__base_mem_copy(bytes, (uint8_t *)window->bytes + (address - window->address), part);
        bytes += part;
        address += part;
        size -= part;
        if (size > 0 && address == 0) {
            return false; /* past the end of the address space */
        }
    }
    return true;
}

uint32_t sonde__capture_window_walk(struct sonde_stack *stack, const struct sonde__os_wait *wait,
                                    const struct sonde__image_set *images,
                                    struct sonde__os_part *window)
{
    struct sonde__capture_finder finder;
    struct sonde__capture_code code;
    const uint64_t sp = sonde__os_wait_sp(wait);
    struct walked walked = {window, sp};
    struct sonde__walk walk;
    sonde__base_mem_set(&walk, 0, sizeof walk);
    finder.snapshot = images;
    walk.find_image = sonde__capture_find_image;
    walk.find_ctx = &finder;
    walk.find_code = sonde__capture_find_code;
    walk.code_ctx = &code;
    sonde__capture_code_init(&code);
    sonde__os_wait_regs(wait, &walk.regs);
    walk.memory.read = read_window;
    walk.memory.ctx = &walked;
    walk.first_exact = true;
    walk.infer = true;
    walk.scans = &sonde__capture_scans;
    sonde__unwind_walk(&walk, stack);
    if (sonde__capture_is_cut(stack)) {
        struct sonde__capture_count count;
        sonde__capture_count_begin(&count);
        sonde__unwind_walk(&walk, &count.stack);
        sonde__capture_count_end(&count, stack);
    }
    sonde__capture_code_done(&code);
    return walked.end - sp < UINT32_MAX ? (uint32_t)(walked.end - sp) : UINT32_MAX;
}
