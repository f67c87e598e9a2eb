// SPDX-License-Identifier: Apache-2.0
/* The walk gives only pcs. A frame begins where the walk reads the word with the next pc. */
#include "target_place.h"

#include <string.h>

#include "os_context.h"
#include "target_process.h"

/* Limit of words of a walk that are remembered: some three for each frame. */
#define WORDS_MAX 64u

struct reading {
    struct sonde__window *window;
    uint32_t count;
    struct {
        uint64_t address, value;
    } words[WORDS_MAX];
};

static bool read_noting(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    struct reading *r = ctx;
    if (!sonde__window_read(r->window, address, ret_bytes, size)) {
        return false;
    }
    for (size_t at = 0; at + 8 <= size && r->count < WORDS_MAX; at += 8) {
        memcpy(&r->words[r->count].value, (const uint8_t *)ret_bytes + at, 8);
        r->words[r->count++].address = address + at;
    }
    return true;
}

/* Find the word that holds `pc`, from index *from on. 0: not read. */
static uint64_t place_of(const struct reading *r, uint64_t pc, uint64_t above, uint32_t *from)
{
    for (uint32_t i = *from; i < r->count; i++) {
        if (r->words[i].value == pc && r->words[i].address >= above) {
            *from = i + 1;
            return r->words[i].address;
        }
    }
    return 0;
}

void sonde__target_place(struct sonde__target *target, const struct sonde__os_wait *wait,
                         struct sonde__target_place *ret_place)
{
    struct sonde__target_process *p = (struct sonde__target_process *)target;
    struct reading reading = {.window = p->window};
    struct sonde__regs regs;
    struct sonde_stack stack;
    uint8_t how[SONDE__PLACE_FRAMES];
    uint32_t from = 0;
    uint64_t above = sonde__os_wait_sp(wait);
    memset(ret_place, 0, sizeof *ret_place);
    if (!sonde__target_is_live(target) || !sonde__os_wait_is_blocked(wait)) {
        return;
    }
    sonde__os_wait_regs(wait, &regs);
    sonde_stack_init(&stack, ret_place->pcs, how, SONDE__PLACE_FRAMES, 0);
    sonde__window_forget(p->window);
    sonde__target_walk(target, &regs, true, read_noting, &reading, &stack);
    ret_place->count = stack.count;
    for (uint32_t i = 0; i + 1 < stack.count; i++) {
        uint64_t at = place_of(&reading, stack.pcs[i + 1], above, &from);
        ret_place->begins[i] = at != 0 ? at + sizeof(uint64_t) : 0;
        above = at != 0 ? at : above;
    }
}
