// SPDX-License-Identifier: Apache-2.0
/* The exports trie of a Mach-O (loader.h, "export info").
 *
 * A node is the size of its symbol's data (0: no symbol ends here), that data, the number of its
 * children, and for each child the next piece of the name and the child's place. Places are
 * absolute, so a hostile trie may lead in circles or repeatedly into the same nodes. A good one
 * has each edge once, so the reader reads no more bytes of edges than the trie has. Context:
 * handler. */
#include "image_macho.h"

void sonde__macho_exports_begin(const struct sonde__macho *macho,
                                struct sonde__macho_exports *ret_exports)
{
    struct sonde__macho_exports *e = ret_exports;
    e->trie = sonde__base_bytes_part(&macho->file, macho->exports.offset, macho->exports.size);
    e->base = macho->base;
    e->work_left = (uint64_t)(e->trie.end - e->trie.begin);
    e->damaged = e->trie.failed;
    e->depth = 0;
    e->began = false;
    e->name[0] = '\0';
}

/* Read the node's own symbol, if any; leaves *b at its children. */
static bool read_symbol(struct sonde__macho_exports *e, struct sonde__bytes *b,
                        struct sonde__macho_export *ret_export)
{
    uint64_t size = sonde__base_bytes_uleb(b);
    struct sonde__bytes data;
    const uint8_t *at;
    if (size == 0 || b->failed) {
        return false;
    }
    at = sonde__base_bytes_take(b, size);
    if (at == NULL) {
        return false;
    }
    sonde__base_bytes_init(&data, at, (size_t)size);
    ret_export->flags = sonde__base_bytes_uleb(&data);
    ret_export->vaddr = 0;
    if ((ret_export->flags & SONDE__EXPORT_REEXPORT) == 0) {
        ret_export->vaddr = sonde__base_bytes_uleb(&data);
        if ((ret_export->flags & SONDE__EXPORT_KIND_MASK) != SONDE__EXPORT_KIND_ABSOLUTE) {
            ret_export->vaddr += e->base;
        }
    }
    e->damaged = e->damaged || data.failed;
    return !data.failed;
}

/* Enter the node at `offset`, whose name has `length` bytes. True: it has a symbol. */
static bool enter(struct sonde__macho_exports *e, uint64_t offset, uint32_t length,
                  struct sonde__macho_export *ret_export)
{
    struct sonde__bytes b = e->trie;
    bool found;
    uint8_t children;
    if (!sonde__base_bytes_seek(&b, offset)) {
        e->damaged = true;
        return false;
    }
    found = read_symbol(e, &b, ret_export);
    children = sonde__base_bytes_u8(&b);
    if (b.failed || (children != 0 && e->depth == SONDE__MACHO_EXPORT_DEPTH_MAX)) {
        e->damaged = true;
    } else if (children != 0) {
        e->levels[e->depth].at = (uint32_t)sonde__base_bytes_offset(&b);
        e->levels[e->depth].left = children;
        e->levels[e->depth].name = length;
        e->depth++;
    }
    return found;
}

/* Take the next edge of the deepest level. True: it leads to a symbol. */
static bool step(struct sonde__macho_exports *e, struct sonde__macho_export *ret_export)
{
    uint32_t level = e->depth - 1;
    uint32_t length = e->levels[level].name;
    struct sonde__bytes b = e->trie;
    const char *piece;
    uint64_t node, cost;
    (void)sonde__base_bytes_seek(&b, e->levels[level].at);
    piece = sonde__base_bytes_string(&b);
    node = sonde__base_bytes_uleb(&b);
    cost = sonde__base_bytes_offset(&b) - e->levels[level].at;
    if (b.failed || cost > e->work_left) {
        e->damaged = true;
        e->depth = 0;
        return false;
    }
    e->work_left -= cost;
    e->levels[level].at = (uint32_t)sonde__base_bytes_offset(&b);
    if (--e->levels[level].left == 0) {
        e->depth--;
    }
    while (*piece != '\0') {
        if (length + 1 >= sizeof e->name) {
            e->damaged = true;
            return false;
        }
        e->name[length++] = *piece++;
    }
    e->name[length] = '\0';
    return enter(e, node, length, ret_export);
}

bool sonde__macho_exports_next(struct sonde__macho_exports *exports,
                               struct sonde__macho_export *ret_export)
{
    bool found = false;
    if (!exports->began) {
        exports->began = true;
        found = exports->work_left != 0 && enter(exports, 0, 0, ret_export);
    }
    while (!found && exports->depth != 0) {
        found = step(exports, ret_export);
    }
    ret_export->name = exports->name;
    return found;
}
