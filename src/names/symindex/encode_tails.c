// SPDX-License-Identifier: Apache-2.0
/* Writes the sections of tail calls, from the image's code and the call sites of its debug
 * information. A debug file has no code; a file without debug information has no call sites. */
#include <string.h>

#include "base_status.h"
#include "encode.h"
#include "encode_sites.h"
#include "tail_code.h"

static void put_section(struct encode *e, enum symindex_section section, const uint8_t *data,
                        size_t size)
{
    uint8_t *to = size != 0 ? encode_room(e, section, size) : NULL;
    if (to != NULL) {
        memcpy(to, data, size);
    }
}

/* The ELF with the code; null: it is a Mach-O. */
static const struct sonde__elf *code_of(const struct sonde__symindex_source *source)
{
    return source->image != NULL ? source->image : source->debug;
}

static void put_all(struct encode *e, const struct sonde__tail_bytes *bytes)
{
    uint8_t *origin = encode_room(e, SYMINDEX_TAIL_ORIGIN, 12);
    put_section(e, SYMINDEX_TAIL_GRAPH, bytes->graph, bytes->graph_size);
    put_section(e, SYMINDEX_TAIL_SITES, bytes->sites, bytes->sites_size);
    put_section(e, SYMINDEX_TAIL_EXTERNALS, bytes->externals, bytes->externals_size);
    put_section(e, SYMINDEX_LEAVING_CALLS, bytes->leaving_calls, bytes->leaving_calls_size);
    encode_words(e, code_of(e->c->source), bytes->words, bytes->word_count);
    if (origin != NULL) {
        sonde__base_put_le32(origin, bytes->origin.sources);
        sonde__base_put_le32(origin + 4, bytes->origin.functions);
        sonde__base_put_le32(origin + 8, bytes->origin.calls);
    }
}

/* A dSYM may be linked to another address than the image; the index and the call sites use the
 * dSYM's. */
static enum sonde_status make_of_macho(struct encode *e, const struct sonde__tail_input *described,
                                       struct sonde__tail_bytes *ret_bytes)
{
    const struct sonde__symindex_source *source = e->c->source;
    struct sonde__tail_macho code = {
        .image = source->macho_debug, .base = e->c->base, .described = described};
    if (code.image == NULL) {
        return SONDE_UNSUPPORTED;
    }
    if (source->macho_image != NULL) {
        code.image = source->macho_image;
        code.debug = source->macho_debug;
        code.base = e->c->base - code.debug->base + code.image->base;
    }
    return sonde__tail_macho_make(&code, ret_bytes);
}

/* Returns as sonde__tail_code_make(). */
static enum sonde_status make_of_code(struct encode *e, const struct sonde__tail_input *described,
                                      struct sonde__tail_bytes *ret_bytes)
{
    const struct sonde__symindex_source *source = e->c->source;
    struct sonde__tail_code code = {
        .elf = code_of(source), .base = e->c->base, .described = described};
    struct sonde__symbol_index *symbols = NULL;
    enum sonde_status status;
    if (code.elf == NULL) {
        return make_of_macho(e, described, ret_bytes);
    }
    if (sonde__symbol_index_create(code.elf, source->image != NULL ? source->debug : NULL, &symbols,
                                   NULL) == SONDE_OK) {
        code.symbols = symbols;
    }
    status = sonde__tail_code_make(&code, ret_bytes);
    sonde__symbol_index_destroy(symbols);
    return status;
}

/* Compilers may claim to describe all tail calls of a function and still omit some. Without code to
 * check, treat every function as open. */
static enum sonde_status make_of_sites(struct encode_sites *sites,
                                       struct sonde__tail_bytes *ret_bytes)
{
    for (size_t i = 0; i < sites->input.function_count; i++) {
        sites->functions[i].flags |= SONDE__TAIL_OPEN;
    }
    SONDE_TRY(sonde__tail_make(&sites->input, ret_bytes));
    ret_bytes->origin.sources = SONDE__TAIL_FROM_SITES;
    return SONDE_OK;
}

void encode_tails(struct encode *e)
{
    struct encode_sites sites;
    struct sonde__tail_bytes bytes;
    bool described = encode_sites_make(e->c, &sites);
    enum sonde_status status = e->c->status;
    if (status == SONDE_OK) {
        status = make_of_code(e, described ? &sites.input : NULL, &bytes);
    }
    if (described && status != SONDE_OK && status != SONDE_MEMORY) { /* no code, or far too much */
        status = make_of_sites(&sites, &bytes);
    }
    encode_sites_done(&sites);
    if (status == SONDE_OK) {
        put_all(e, &bytes);
        sonde__tail_bytes_done(&bytes);
    } else if (status == SONDE_MEMORY) {
        e->c->status = status;
    }
}
