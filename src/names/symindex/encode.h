// SPDX-License-Identifier: Apache-2.0
/* State shared by the parts of the encoder; included only by encode*.c. */
#ifndef SONDE_ENCODE_H
#define SONDE_ENCODE_H

#include "convert.h"
#include "symindex_layout.h"
#include "tail_make.h"

/* A growing section. */
struct section {
    uint8_t *data;
    size_t size, capacity;
};

struct encode {
    struct convert *c;
    struct section sections[SYMINDEX_KNOWN];
    uint8_t widths[SYMINDEX_WIDTH_COUNT];
    uint32_t *name_ids; /* string -> name; 0: not used as a name */
    uint32_t *sorted;   /* name - 1 -> string */
    uint32_t name_count;
    uint32_t *text_at; /* string -> 1 + its place in TEXT; 0: not there yet */
    uint32_t directory_count;
    uint32_t escape_count;
    uint32_t *directory_ids; /* string -> directory */
};

/* Append `size` zero bytes; null: no memory, with the status set. */
uint8_t *encode_room(struct encode *e, enum symindex_section section, size_t size);

/* Packs bit fields into zeroed bytes. */
struct packer {
    uint8_t *data;
    uint64_t at; /* bit */
};
static inline void encode_bits(struct packer *p, uint32_t value, unsigned width)
{
    uint8_t *to = p->data + (p->at >> 3);
    uint64_t shifted = (uint64_t)value << (p->at & 7);
    for (; shifted != 0; shifted >>= 8) {
        *to++ |= (uint8_t)shifted;
    }
    p->at += width;
}

static inline unsigned encode_width(uint32_t value)
{
    return value != 0 ? 32 - (unsigned)__builtin_clz(value) : 0;
}

void encode_ranges(struct encode *e);
void encode_calls(struct encode *e);
void encode_names(struct encode *e);
void encode_files(struct encode *e);
void encode_symbols(struct encode *e);
void encode_exports(struct encode *e);
void encode_tails(struct encode *e);
/* Write the names that words to other images are bound by. */
void encode_words(struct encode *e, const struct sonde__elf *elf,
                  const struct sonde__tail_word *words, size_t count);

#endif
