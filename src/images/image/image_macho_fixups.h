// SPDX-License-Identifier: Apache-2.0
/* Shared by image_macho_fixups.c and image_macho_binds.c. Context: handler. */
#ifndef SONDE_IMAGE_MACHO_FIXUPS_H
#define SONDE_IMAGE_MACHO_FIXUPS_H

#include "image_macho.h"

struct fixups {
    const struct sonde__macho *macho;
    bool (*each)(void *ctx, const struct sonde__macho_fixup *fixup);
    void *ctx;
    /* Steps left: a file has no more pointers than bytes, unless it is hostile. */
    uint64_t left;
    const char *damage;
};

static inline void fixups_damage(struct fixups *out, const char *what)
{
    if (out->damage == NULL) {
        out->damage = what;
    }
}

/* Charge a step. False: stop. */
static inline bool fixups_charge(struct fixups *out)
{
    if (out->left == 0) {
        fixups_damage(out, "more pointers than the file has bytes");
        return false;
    }
    out->left--;
    return true;
}

void fixups_walk_chains(struct fixups *out);

#endif
