// SPDX-License-Identifier: Apache-2.0
/* Split DWARF: a skeleton unit in the linked file, and its split unit with the DIEs in another file
 * (.dwo), or in a package of many (.dwp).
 *
 * Sources: DWARF 5 §3.1.2 and §7.3.2 (skeletons, and the values that split units take from them),
 * §7.3.5 (the index of a package); for version 4 GCC's DebugFission, which numbers the sections of
 * a package differently. Context: any thread. */
#ifndef SONDE_DWARF_SPLIT_H
#define SONDE_DWARF_SPLIT_H

#include <sonde/status.h>

#include "dwarf_unit.h"

/* Where a split unit is. */
struct sonde__dwarf_split {
    struct sonde__dwarf_sections sections; /* its own, and those needed from the skeleton's file */
    uint64_t offset;                       /* in sections.info */
};

/* Find the split unit with an id in a .dwo file's sections. False: none. */
bool sonde__dwarf_split_find(const struct sonde__dwarf_sections *file, uint64_t id,
                             uint64_t *ret_offset);

/* Find the parts of a package's sections for the split unit with an id. False: none, or the index
 * is malformed. ret_row: its row in the index, from 1. */
bool sonde__dwarf_package_find(const struct sonde__dwarf_sections *package, uint64_t id,
                               struct sonde__dwarf_sections *ret_sections, uint32_t *ret_row);

/* The same for a type unit by signature; `info` has only that unit. */
bool sonde__dwarf_package_type(const struct sonde__dwarf_sections *package, uint64_t signature,
                               struct sonde__dwarf_sections *ret_sections);

/* The signature in slot `index` of a package's type units, 0: free slot. False: no more. */
bool sonde__dwarf_package_type_at(const struct sonde__dwarf_sections *package, uint32_t index,
                                  uint64_t *ret_signature);

/* Add the sections of the skeleton's file that a split unit refers to. */
void sonde__dwarf_split_join(struct sonde__dwarf_sections *split,
                             const struct sonde__dwarf_sections *skeleton);

/* Read a split unit and its DIE, with the values from its skeleton. Loads its abbreviation table
 * into `abbrevs`. Returns OK | CORRUPT | MEMORY | LIMIT. */
SONDE_NODISCARD enum sonde_status sonde__dwarf_split_unit(const struct sonde__dwarf_split *split,
                                                          const struct sonde__dwarf_unit *skeleton,
                                                          struct sonde__dwarf_abbrevs *abbrevs,
                                                          struct sonde__dwarf_unit *ret_unit);

#endif
