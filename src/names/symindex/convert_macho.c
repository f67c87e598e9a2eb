// SPDX-License-Identifier: Apache-2.0
/* Functions of a Mach-O (symbol_macho_names.h). A dSYM and its image may be linked to different
 * addresses; the image's are converted to the dSYM's. */
#include <stdio.h>
#include <string.h>

#include "convert.h"
#include "symbol_macho_names.h"

struct names {
    struct convert *c;
    struct candidates *to;
    uint64_t shift; /* from the image's addresses */
};

/* "import@plt", as stubs are shown everywhere. */
static uint32_t stub_name(struct convert *c, const char *target)
{
    char text[CONVERT_NAME_MAX];
    int size = snprintf(text, sizeof text, "%.*s@plt", (int)sizeof text - 5, target);
    return convert_string_copy(c, text, (size_t)size);
}

static bool add(void *ctx, const struct sonde__macho_name *name)
{
    struct names *names = ctx;
    struct convert *c = names->c;
    uint64_t start = name->start + names->shift - c->base;
    uint64_t end = name->end + names->shift - c->base;
    struct candidate candidate = {.end = end < c->size ? end : c->size,
                                  .rank = name->bind == SONDE__STB_LOCAL  ? RANK_LOCAL
                                          : name->bind == SONDE__STB_WEAK ? RANK_WEAK
                                                                          : 0u};
    if (start >= c->size || start >= UINT32_MAX) {
        return true;
    }
    size_t size = strnlen(name->name, CONVERT_NAME_MAX);
    if (!convert_work(c, size)) { /* many symbols, or stubs, may have one name */
        return false;
    }
    candidate.start = (uint32_t)start;
    candidate.name = name->source == SONDE__MACHO_NAME_STUB
                         ? stub_name(c, name->name)
                         : convert_string_copy(c, name->name, size);
    convert_candidate(c, names->to, candidate);
    return c->status == SONDE_OK;
}

void convert_macho_symbols(struct convert *c, struct candidates *to)
{
    const struct sonde__macho *debug = c->source->macho_debug;
    const struct sonde__macho *image = c->source->macho_image;
    struct names names = {.c = c, .to = to};
    if (image != NULL) {
        names.shift = debug->base - image->base;
    }
    if (sonde__macho_each_name(image != NULL ? image : debug, image != NULL ? debug : NULL, add,
                               &names) != SONDE_OK) {
        c->status = SONDE_MEMORY;
    }
}
