// SPDX-License-Identifier: Apache-2.0
/* Chooses one of several names of an address, and counts the others. */
#include "base_hash.h"
#include "symbol_layout.h"

/* Only this many bytes of names are compared, to bound the cost of a hostile string table. Longer
 * mangled names exist, but differ earlier. */
#define NAME_COMPARED_MAX 1024u
/* Limit of names of one address that are compared for repetitions (.symtab and .dynsym have the
 * same symbols): all pairs of their hashes, which are on the stack, are compared. Further names
 * count as different. */
#define DISTINCT_NAMES_MAX 256u

struct name_view {
    const char *text;
    uint32_t length;
    uint32_t underscores; /* leading */
    uint64_t hash;
    bool versioned; /* text ends at an '@' */
};

static struct name_view view_name(const char *text)
{
    struct name_view view = {.text = text, .hash = SONDE__HASH_EMPTY};
    uint32_t i;
    while (view.underscores < NAME_COMPARED_MAX && text[view.underscores] == '_') {
        view.underscores++;
    }
    for (i = 0; i < NAME_COMPARED_MAX && text[i] != '\0' && text[i] != '@'; i++) {
        view.hash = sonde__base_hash_byte(view.hash, (uint8_t)text[i]);
    }
    view.versioned = i < NAME_COMPARED_MAX && text[i] == '@' && i != 0;
    view.length = i;
    return view;
}

static bool is_better_text(const struct name_view *a, uint32_t rank_a, const struct name_view *b,
                           uint32_t rank_b)
{
    uint32_t weak_a = rank_a & SYMBOL_RANK_WEAK, weak_b = rank_b & SYMBOL_RANK_WEAK;
    if (a->versioned != b->versioned) {
        return b->versioned;
    }
    if (a->underscores != b->underscores) {
        return a->underscores < b->underscores;
    }
    if (weak_a != weak_b) {
        return weak_a < weak_b;
    }
    if (a->length != b->length) {
        return a->length < b->length;
    }
    return memcmp(a->text, b->text, a->length) < 0;
}

uint32_t symbol_choose(const struct sonde__symbol_index *index, const symbol_key *keys,
                       uint32_t count, uint32_t *ret_names)
{
    uint64_t hashes[DISTINCT_NAMES_MAX];
    struct name_view best_view = {0};
    uint32_t best = 0, best_rank = 0, names = 0, distinct = 0;
    if (count == 1) {
        *ret_names = 1;
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t ref = (uint32_t)keys[i], rank, major, best_major, seen = 0;
        const struct sonde__elf_symbols *table = &index->tables[symbol_ref_table(ref)];
        struct symbol_raw raw;
        struct name_view view;
        if ((ref & SYMBOL_REF_PLT) != 0 && i != 0) {
            continue; /* a stub with its own symbol: the name is the stub's, not an alias */
        }
        raw = symbol_read(table, symbol_ref_index(ref));
        rank = symbol_rank(ref, &raw);
        view = view_name(table->strings + raw.name);
        while (seen < distinct && hashes[seen] != view.hash) {
            seen++;
        }
        if (seen == distinct) {
            names++;
            if (distinct < DISTINCT_NAMES_MAX) {
                hashes[distinct++] = view.hash;
            }
        }
        major = rank & ~SYMBOL_RANK_WEAK;
        best_major = best_rank & ~SYMBOL_RANK_WEAK;
        if (i == 0 || major < best_major ||
            (major == best_major && is_better_text(&view, rank, &best_view, best_rank))) {
            best = i;
            best_rank = rank;
            best_view = view;
        }
    }
    *ret_names = names;
    return best;
}
