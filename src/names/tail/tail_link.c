// SPDX-License-Identifier: Apache-2.0
/* Links to other images, for use without a running process: calls of their functions, and the
 * symbol of each word that calls and jumps use. */

#include "mem_heap.h"
#include "mem_sort.h"
#include "tail_layout.h"
#include "tail_scan.h"

static bool pack_calls(struct tail_scan *s, struct sonde__tail_bytes *bytes)
{
    size_t size = s->leaving_call_count * TAIL_LEAVING_CALL_BYTES;
    uint8_t *to = sonde__mem_alloc(size);
    if (to == NULL) {
        return false;
    }
    SONDE__SORT_BY(s->leaving_calls, s->leaving_call_count, back);
    bytes->leaving_calls = to;
    bytes->leaving_calls_size = size;
    for (size_t i = 0; i < s->leaving_call_count; i++, to += TAIL_LEAVING_CALL_BYTES) {
        sonde__base_put_le32(to, s->leaving_calls[i].back);
        sonde__base_put_le32(to + 4, s->leaving_calls[i].cell);
    }
    return true;
}

static void add_word(const struct tail_scan *s, uint32_t cell, struct sonde__tail_bytes *bytes)
{
    const struct tail_cell *found = tail_cell(&s->slots, s->code->base + cell);
    if (found != NULL && found->kind == TAIL_SLOT_EXTERNAL) {
        bytes->words[bytes->word_count++] = (struct sonde__tail_word){cell, found->symbol};
    }
}

static bool list_words(const struct tail_scan *s, struct sonde__tail_bytes *bytes)
{
    size_t kept = 0;
    bytes->words =
        sonde__mem_alloc_array(s->external_count + s->leaving_call_count, sizeof *bytes->words);
    if (bytes->words == NULL) {
        return false;
    }
    for (size_t i = 0; i < s->external_count; i++) {
        add_word(s, s->externals[i].cell, bytes);
    }
    for (size_t i = 0; i < s->leaving_call_count; i++) {
        add_word(s, s->leaving_calls[i].cell, bytes);
    }
    SONDE__SORT_BY(bytes->words, bytes->word_count, cell);
    for (size_t i = 0; i < bytes->word_count; i++) {
        if (kept == 0 || bytes->words[kept - 1].cell != bytes->words[i].cell) {
            bytes->words[kept++] = bytes->words[i];
        }
    }
    bytes->word_count = kept;
    return true;
}

enum sonde_status tail_link(struct tail_scan *s, struct sonde__tail_bytes *bytes)
{
    if (pack_calls(s, bytes) && list_words(s, bytes)) {
        return SONDE_OK;
    }
    sonde__tail_bytes_done(bytes);
    return SONDE_MEMORY;
}
