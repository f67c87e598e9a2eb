// SPDX-License-Identifier: Apache-2.0
#include "tail_message.h"

#include <stdlib.h>
#include <string.h>

#include "mem_heap.h"
#include "mem_sort.h"
#include "symbol_macho_objc.h"

/* Jumps from stubs to methods, at most; further ones are among the unknown places. */
#define MESSAGES_MAX ((size_t)1 << 20)

struct method {
    const char *selector;
    uint64_t code;
};

struct senders {
    struct tail_scan *s;
    uint64_t base;
    struct method *methods; /* by selector */
    size_t count, capacity;
};

static bool see_method(void *ctx, const struct sonde__macho_method *method)
{
    struct senders *senders = ctx;
    if (method->code - senders->base < UINT32_MAX &&
        !SONDE__MEM_ADD(senders->methods, senders->count, senders->capacity,
                        (struct method){method->selector, method->code})) {
        senders->s->no_memory = true;
    }
    return !senders->s->no_memory;
}

static int by_selector(const void *a, const void *b)
{
    const struct method *x = a, *y = b;
    int order = strcmp(x->selector, y->selector);
    return order != 0 ? order : SONDE__ORDER(x, y, code);
}

static size_t first_method(const struct senders *senders, const char *selector)
{
    return SONDE__SEARCH(0, senders->count, k, strcmp(senders->methods[k].selector, selector) < 0);
}

static bool see_sender(void *ctx, const struct sonde__macho_sender *sender)
{
    struct senders *senders = ctx;
    struct tail_scan *s = senders->s;
    uint64_t start = sender->start - senders->base, end = sender->end - senders->base;
    size_t i = first_method(senders, sender->selector);
    if (end >= UINT32_MAX || start >= end || !TAIL_ROOM(s, ranges, range_count, range_capacity)) {
        return !s->no_memory;
    }
    s->ranges[s->range_count++] =
        (struct tail_range){.start = (uint32_t)start,
                            .end = (uint32_t)end,
                            .marks = TAIL_MARK_NAMED | TAIL_MARK_MESSAGE | TAIL_MARK_OPEN};
    for (; i < senders->count && s->exit_count < MESSAGES_MAX &&
           strcmp(senders->methods[i].selector, sender->selector) == 0;
         i++) {
        if (!TAIL_ROOM(s, exits, exit_count, exit_capacity)) {
            return false;
        }
        s->exits[s->exit_count++] = (struct tail_exit){
            (uint32_t)start, (uint32_t)(senders->methods[i].code - senders->base), (uint32_t)start,
            TAIL_EXIT_CLEAN};
    }
    return true;
}

/* A selector that no method of the image has says nothing. */
static bool see_word(void *ctx, const struct sonde__macho_sender *word)
{
    const struct senders *senders = ctx;
    size_t i = first_method(senders, word->selector);
    return i == senders->count || strcmp(senders->methods[i].selector, word->selector) != 0 ||
           see_sender(ctx, word);
}

void tail_add_senders(struct tail_scan *s, const struct sonde__macho *image, uint64_t base)
{
    struct senders senders = {.s = s, .base = base};
    struct sonde__macho_objc objc;
    if (sonde__macho_objc_open(image, &objc) != SONDE_OK) {
        s->no_memory = true;
    } else {
        sonde__macho_objc_methods(&objc, see_method, &senders);
        if (senders.count != 0) {
            qsort(senders.methods, senders.count, sizeof *senders.methods, by_selector);
        }
        sonde__macho_objc_senders(&objc, see_sender, &senders);
        if (!s->no_memory) {
            sonde__macho_objc_selectors(&objc, see_word, &senders);
        }
    }
    sonde__macho_objc_close(&objc);
    sonde__mem_free(senders.methods);
}

bool tail_is_message(const char *name)
{
    return strncmp(name, "_objc_msgSend", 13) == 0;
}
