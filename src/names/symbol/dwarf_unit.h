// SPDX-License-Identifier: Apache-2.0
/* DWARF units, abbreviations and attribute values of one object file; DWARF 2 to 5.
 *
 * All input is read through the bounded cursor; an error in a unit affects only that unit. Sections
 * must outlive the reader. Source: DWARF 5 §7.5 (units, abbreviations, forms), §7.26 to §7.28
 * (string offsets, addresses, ranges). Context: any thread; one reader is used by one thread at a
 * time; several threads may read units if each has its own abbreviation cache. */
#ifndef SONDE_DWARF_UNIT_H
#define SONDE_DWARF_UNIT_H

#include <sonde/status.h>

#include "base_bytes.h"
#include "base_search.h"
#include "base_status.h"
#include "dwarf_sections.h"

struct sonde__dwarf_attr {
    uint16_t name;
    uint16_t form;
    int64_t implicit; /* DW_FORM_implicit_const */
};

struct sonde__dwarf_abbrev {
    uint64_t code;
    uint32_t first; /* index of its first attribute */
    uint16_t count;
    uint16_t tag;
    bool children;
};

/* One abbreviation table: dense codes are found by index, others by a binary search. */
struct sonde__dwarf_abbrevs {
    uint64_t offset; /* of the table in .debug_abbrev: the key of a cache */
    struct sonde__dwarf_abbrev *entries;
    struct sonde__dwarf_attr *attrs;
    size_t count, capacity;
    size_t attr_count, attr_capacity;
    bool dense; /* entries[i].code == i + 1 */
    bool valid;
};

struct sonde__dwarf_unit {
    uint64_t offset;     /* of the unit's header in .debug_info */
    uint64_t end;        /* of the unit in .debug_info */
    uint64_t die_offset; /* of its first DIE */
    uint64_t abbrev_offset;
    uint16_t version;
    uint8_t offset_size; /* 4 or 8 */
    uint8_t address_size;
    uint8_t type; /* DW_UT_* */
    /* from the unit's DIE, by sonde__dwarf_unit_root() */
    uint16_t tag;
    uint16_t language;
    const char *name;
    const char *comp_dir;
    const char *dwo_name;
    uint64_t low_pc;
    uint64_t high_pc; /* 0: none */
    uint64_t ranges;  /* offset in .debug_ranges or .debug_rnglists */
    uint64_t stmt_list;
    uint64_t str_offsets_base, addr_base, rnglists_base;
    uint64_t dwo_id;            /* shared by a skeleton and its split unit */
    uint64_t gnu_ranges_base;   /* of a skeleton; for its split unit */
    uint64_t split_ranges_base; /* of a split unit before version 5; added to range offsets */
    bool has_low_pc, has_ranges, has_stmt_list, has_dwo_id;
};

/* A decoded attribute value. */
struct sonde__dwarf_value {
    enum {
        SONDE__DWARF_NONE,     /* a form that can only be skipped */
        SONDE__DWARF_CONSTANT, /* u */
        SONDE__DWARF_ADDRESS,  /* u */
        SONDE__DWARF_OFFSET,   /* u: in another section; a range list is resolved already */
        SONDE__DWARF_REF,      /* u: absolute offset in .debug_info */
        SONDE__DWARF_STRING,   /* s */
        SONDE__DWARF_ALT,      /* u: offset in the supplementary file's .debug_info */
    } kind;
    uint64_t u;
    const char *s;
};

/* Read the unit header at `offset`; the next one is at ret_unit->end.
 * Returns OK | ABSENT (end of the section) | CORRUPT (the next unit cannot be found)
 * | UNSUPPORTED (unknown version or address size: skip to ret_unit->end). */
SONDE_NODISCARD enum sonde_status
sonde__dwarf_unit_read(const struct sonde__dwarf_sections *sections, uint64_t offset,
                       struct sonde__dwarf_unit *ret_unit);

/* Read the unit's own DIE into `unit`. `abbrevs` is the unit's table.
 * Returns OK | CORRUPT. */
SONDE_NODISCARD enum sonde_status
sonde__dwarf_unit_root(const struct sonde__dwarf_sections *sections,
                       const struct sonde__dwarf_abbrevs *abbrevs, struct sonde__dwarf_unit *unit);

/* Load the abbreviation table at an offset into `abbrevs`, unless it has that table already (zeroed
 * initially). Returns OK | CORRUPT | MEMORY | LIMIT. Free with _done(). */
SONDE_NODISCARD enum sonde_status
sonde__dwarf_abbrevs_load(const struct sonde__dwarf_sections *sections, uint64_t offset,
                          struct sonde__dwarf_abbrevs *abbrevs);
void sonde__dwarf_abbrevs_done(struct sonde__dwarf_abbrevs *abbrevs);

/* The abbreviation of a code, or null. */
static inline const struct sonde__dwarf_abbrev *
sonde__dwarf_abbrev_find(const struct sonde__dwarf_abbrevs *abbrevs, uint64_t code)
{
    if (abbrevs->dense) {
        return code - 1 < abbrevs->count ? &abbrevs->entries[code - 1] : NULL;
    }
    size_t at = SONDE__SEARCH(0, abbrevs->count, i, abbrevs->entries[i].code < code);
    return at < abbrevs->count && abbrevs->entries[at].code == code ? &abbrevs->entries[at] : NULL;
}

/* How a form is encoded (DWARF 5 §7.5.6). */
enum sonde__dwarf_encoding {
    SONDE__DWARF_UNKNOWN,
    SONDE__DWARF_FIXED, /* `size` bytes; 0: the form implies the value */
    SONDE__DWARF_ULEB,
    SONDE__DWARF_SLEB,
    SONDE__DWARF_TEXT,        /* up to a NUL */
    SONDE__DWARF_BLOCK,       /* after its size, a ULEB */
    SONDE__DWARF_SIZED_BLOCK, /* after its size of `size` bytes */
    SONDE__DWARF_INDIRECT,    /* after its form, a ULEB */
};
enum sonde__dwarf_of {
    SONDE__DWARF_OF_NOTHING, /* no number */
    SONDE__DWARF_OF_CONSTANT,
    SONDE__DWARF_OF_ADDRESS,
    SONDE__DWARF_OF_OFFSET,
    SONDE__DWARF_OF_REF, /* from the unit's header */
    SONDE__DWARF_OF_REF_ADDR,
    SONDE__DWARF_OF_REF_ALT, /* in the supplementary file */
    SONDE__DWARF_OF_STR,
    SONDE__DWARF_OF_LINE_STR,
    SONDE__DWARF_OF_STR_ALT, /* in the supplementary file */
    SONDE__DWARF_OF_STR_INDEX,
    SONDE__DWARF_OF_ADDR_INDEX,
    SONDE__DWARF_OF_RANGES_INDEX,
};
struct sonde__dwarf_form {
    uint8_t encoding; /* enum sonde__dwarf_encoding */
    uint8_t size;
    uint8_t of; /* enum sonde__dwarf_of */
};
/* Sizes that depend on the unit, in the table. */
enum { SONDE__DWARF_ADDRESS_SIZE = 0xfd, SONDE__DWARF_OFFSET_SIZE, SONDE__DWARF_REF_ADDR_SIZE };
enum { SONDE__DWARF_FORMS = 0x2d }; /* forms of version 5 by number; 0: none */
extern const struct sonde__dwarf_form sonde__dwarf_forms[SONDE__DWARF_FORMS];
struct sonde__dwarf_form sonde__dwarf_form_of_gnu(unsigned number);

static inline struct sonde__dwarf_form sonde__dwarf_form(const struct sonde__dwarf_unit *unit,
                                                         unsigned number)
{
    struct sonde__dwarf_form form =
        number < SONDE__DWARF_FORMS ? sonde__dwarf_forms[number] : sonde__dwarf_form_of_gnu(number);
    if (form.size >= SONDE__DWARF_ADDRESS_SIZE) {
        /* version 2: references have the size of an address (changed by DWARF 3 §7.4) */
        bool address = form.size == SONDE__DWARF_ADDRESS_SIZE ||
                       (form.size == SONDE__DWARF_REF_ADDR_SIZE && unit->version == 2);
        form.size = address ? unit->address_size : unit->offset_size;
    }
    return form;
}

/* Decode the raw number of a form. */
struct sonde__dwarf_value sonde__dwarf_value_of(const struct sonde__dwarf_sections *sections,
                                                const struct sonde__dwarf_unit *unit,
                                                struct sonde__dwarf_form form, uint64_t raw);

/* Skip or read one attribute value. A malformed one fails the cursor. */
void sonde__dwarf_skip(const struct sonde__dwarf_unit *unit, const struct sonde__dwarf_attr *attr,
                       struct sonde__bytes *at);
struct sonde__dwarf_value sonde__dwarf_read(const struct sonde__dwarf_sections *sections,
                                            const struct sonde__dwarf_unit *unit,
                                            const struct sonde__dwarf_attr *attr,
                                            struct sonde__bytes *at);

/* Entry `index` of .debug_addr for the unit. False: outside. */
bool sonde__dwarf_address(const struct sonde__dwarf_sections *sections,
                          const struct sonde__dwarf_unit *unit, uint64_t index,
                          uint64_t *ret_address);

/* Call fn for each [low, high) of a range list (DWARF 5 §2.17.3) except empty and discarded ones.
 * False: malformed; the ranges before the error were passed. */
bool sonde__dwarf_each_range(const struct sonde__dwarf_sections *sections,
                             const struct sonde__dwarf_unit *unit, uint64_t offset,
                             void (*each)(void *ctx, uint64_t low, uint64_t high), void *ctx);

/* Did a linker write this address for discarded code? 0 (GNU ld, -Wl,--gc-sections; an ELF image
 * with a header has no code there) and the two highest addresses (lld). */
static inline bool sonde__dwarf_discarded(const struct sonde__dwarf_unit *unit, uint64_t address)
{
    uint64_t top = unit->address_size == 4 ? UINT32_MAX : UINT64_MAX;
    return address == 0 || address >= top - 1;
}

#endif
