// SPDX-License-Identifier: Apache-2.0
/* Abbreviations compiled to steps, for readers that walk many DIEs.
 *
 * Most DIEs are skipped, and most attributes have a fixed size, so sizes are added up. Only
 * attributes of variable size, and those that the reader keeps, need a step. A repeated attribute
 * is kept once, so a DIE never has more steps than bytes and slots. Context: any thread. */
#ifndef SONDE_DWARF_PLAN_H
#define SONDE_DWARF_PLAN_H

#include "dwarf_unit.h"

enum { SONDE__DWARF_SLOTS = 16 };

struct sonde__dwarf_step {
    uint8_t kind;
    uint8_t slot;
    uint8_t size;  /* of the value, or of a block's size */
    uint16_t skip; /* bytes of fixed size after it */
    uint32_t attr; /* index in the table's attributes */
};

struct sonde__dwarf_plan {
    uint32_t first; /* step */
    uint16_t count;
    uint16_t skip; /* bytes of fixed size before the first step */
    uint8_t kind;  /* the reader's kind of DIE; 0: nothing is kept */
    bool children;
};

/* The plans of one abbreviation table, in the order of its entries. Zero it first. */
struct sonde__dwarf_plans {
    struct sonde__dwarf_plan *plans;
    size_t count, capacity;
    struct sonde__dwarf_step *steps;
    size_t step_count, step_capacity;
    const struct sonde__dwarf_attr *attrs; /* of the table */
};

/* What a reader keeps: a kind for each tag, and a slot (or -1) for each attribute of that kind. */
struct sonde__dwarf_wanted {
    uint8_t (*kind)(unsigned tag);
    int (*slot)(unsigned kind, unsigned name);
};

/* The kept attributes of a DIE: bits in `present`, raw values (for an inline string its address,
 * for a rare form the decoded value), and the attributes. */
struct sonde__dwarf_die {
    uint32_t present; /* 1 << slot */
    uint64_t raw[SONDE__DWARF_SLOTS];
    const struct sonde__dwarf_attr *attr[SONDE__DWARF_SLOTS];
};

/* Make the plans of a table, which must not change, for units with the sizes of this one. wanted
 * may be null. False: no memory. */
bool sonde__dwarf_plans_make(const struct sonde__dwarf_abbrevs *abbrevs,
                             const struct sonde__dwarf_unit *unit,
                             const struct sonde__dwarf_wanted *wanted,
                             struct sonde__dwarf_plans *plans);
void sonde__dwarf_plans_done(struct sonde__dwarf_plans *plans);

/* Read a DIE by its plan. *at is after its abbreviation code, and is advanced past the DIE. False:
 * malformed. */
bool sonde__dwarf_plan_read(const struct sonde__dwarf_sections *sections,
                            const struct sonde__dwarf_unit *unit,
                            const struct sonde__dwarf_plans *plans,
                            const struct sonde__dwarf_plan *plan, const uint8_t **at,
                            const uint8_t *end, struct sonde__dwarf_die *ret_die);

#endif
