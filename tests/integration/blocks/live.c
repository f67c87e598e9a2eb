// SPDX-License-Identifier: Apache-2.0
#include "live.h"

#include <stdio.h>
#include <string.h>

#include "blockheap_graph.h"
#include "corpus.h"
#include "test.h"

struct corpus_live corpus_live;

static char letter_of(uint8_t kind)
{
    switch (kind) {
    case SONDE_BLOCK_STRONG:
        return 's';
    case SONDE_BLOCK_WEAK:
        return 'w';
    case SONDE_BLOCK_BLOCK:
        return 'b';
    case SONDE_BLOCK_BYREF:
        return 'r';
    case SONDE_BLOCK_OBJECT:
        return 'c';
    case SONDE_BLOCK_UNRETAINED:
        return 'u';
    default:
        return 'd';
    }
}

static void describe(const struct sonde__blockheap_captures *captures, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < captures->count && used < size; i++) {
        const struct sonde__blockheap_capture *c = &captures->items[i];
        used += (size_t)snprintf(text + used, size - used, " %c%u%s", letter_of(c->kind), c->offset,
                                 c->owned ? "!" : "");
    }
}

static bool has(const struct sonde__blockheap_captures *captures,
                const struct corpus_capture *truth, bool escapes)
{
    bool owned = strchr("sbrc", truth->kind) != NULL;
    for (uint32_t i = 0; i < captures->count; i++) {
        const struct sonde__blockheap_capture *c = &captures->items[i];
        char letter = letter_of(c->kind);
        bool covers =
            truth->offset >= c->offset && truth->offset < c->offset + (c->size != 0 ? c->size : 8);
        if (strchr(corpus_live.inlined ? "dpuc" : "dpu", truth->kind) != NULL && covers &&
            (letter == 'd' || letter == 'c')) {
            return true; /* plain bytes of an unknown owner */
        }
        if (strchr("dp", truth->kind) == NULL && c->offset == truth->offset) {
            /* an object that is not owned may go unrecognised */
            if (truth->kind == 'u' ? !c->owned && (letter == 'u' || letter == 'd' || !escapes)
                                   : letter == truth->kind && c->owned == owned) {
                return true;
            }
            /* the release of a box's variable tells its kind: a block counts as an object */
            if (truth->kind == 'b' && truth->byref >= 0 && letter == 's' && c->owned) {
                return true;
            }
        }
    }
    return false;
}

/* No capture is wrongly reported as owned or weak. A struct may be an offset that nothing
 * retains. */
static bool says_more(const struct sonde__blockheap_captures *captures,
                      const struct corpus_block *truth, int32_t byref)
{
    for (uint32_t i = 0; i < captures->count; i++) {
        const struct sonde__blockheap_capture *c = &captures->items[i];
        bool known = (!c->owned || c->kind == SONDE_BLOCK_OBJECT) && c->kind != SONDE_BLOCK_WEAK;
        for (uint32_t t = 0; t < truth->count && !known; t++) {
            known = truth->captures[t].byref == byref && truth->captures[t].offset == c->offset;
        }
        if (!known) {
            return true;
        }
    }
    return false;
}

static bool check_byref(const struct corpus_block *truth, const void *block, uint32_t offset,
                        char *text, size_t size)
{
    static struct sonde__blockheap_captures captures;
    struct sonde__block_byref byref;
    uint64_t address;
    memcpy(&address, (const char *)block + offset, 8);
    CHECK_OK(sonde__blockheap_byref(corpus_live.heap, address, NULL, &byref, &captures));
    CHECK_EQ(byref.address, byref.asked);
    describe(&captures, text, size);
    for (uint32_t i = 0; i < truth->count; i++) {
        if (truth->captures[i].byref == (int32_t)offset &&
            !has(&captures, &truth->captures[i], true)) {
            return false;
        }
    }
    return !says_more(&captures, truth, (int32_t)offset);
}

void corpus_live_check(const struct shown *shown)
{
    const struct corpus_block *truth = corpus_find(shown->name);
    struct sonde__block_literal literal;
    char text[600], box[600] = "";
    bool good = true;
    CHECK(truth != NULL);
    CHECK_OK(sonde__block_literal_read(sonde__blockheap_memory(corpus_live.heap),
                                       (uintptr_t)shown->block, &literal));
    const struct sonde__blockheap_captures *captures =
        sonde__blockheap_captures(corpus_live.heap, literal.descriptor, literal.flags, 0);
    CHECK(captures != NULL);
    describe(captures, text, sizeof text);
    for (uint32_t i = 0; i < truth->count; i++) {
        const struct corpus_capture *t = &truth->captures[i];
        good = good && (t->byref >= 0 || has(captures, t, !shown->here));
        if (good && t->kind == 'r') {
            good = check_byref(truth, shown->block, t->offset, box, sizeof box);
        }
    }
    good = good && !says_more(captures, truth, -1);
    corpus_live.right += good;
    corpus_live.wrong += !good;
    if (!good) {
        printf("    %s:%s (%s ) truth%s found%s\n", shown->name, text, box, shown->owned,
               shown->found);
    }
}
