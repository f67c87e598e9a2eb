// SPDX-License-Identifier: Apache-2.0
/* Tail calls: the image's code -> two sections. A debug file without code has none. */
#include <string.h>

#include "encode.h"
#include "tail_code.h"

static void put(struct encode *e, enum symindex_section section, const uint8_t *data, size_t size)
{
    uint8_t *to = encode_room(e, section, size);
    if (to != NULL) {
        memcpy(to, data, size);
    }
}

void encode_tails(struct encode *e)
{
    const struct sonde__symindex_source *source = e->c->source;
    struct sonde__tail_code code = {.elf = source->image != NULL ? source->image : source->debug,
                                    .base = e->c->base};
    struct sonde__symbol_index *symbols = NULL;
    struct sonde__tail_bytes bytes;
    enum sonde_status status;
    if (code.elf == NULL) {
        return; /* a Mach-O: not read yet */
    }
    if (sonde__symbol_index_create(code.elf, source->image != NULL ? source->debug : NULL, &symbols,
                                   NULL) == SONDE_OK) {
        code.symbols = symbols;
    }
    status = sonde__tail_code_make(&code, &bytes);
    sonde__symbol_index_destroy(symbols);
    if (status == SONDE_MEMORY) {
        e->c->status = status;
    }
    if (status == SONDE_OK) { /* else nothing is known: no code, or far too much */
        put(e, SYMINDEX_TAIL_GRAPH, bytes.graph, bytes.graph_size);
        put(e, SYMINDEX_TAIL_SITES, bytes.sites, bytes.sites_size);
        sonde__tail_bytes_done(&bytes);
    }
}
