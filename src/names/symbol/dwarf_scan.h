// SPDX-License-Identifier: Apache-2.0
/* Functions and inlined calls of one unit, with their address ranges.
 *
 * Walks every DIE of the unit once: local classes and lambdas hold out-of-line bodies, so no
 * subtree may be skipped. A scope is a function with code or an inlined call; `parent` leads from
 * an inlined call to what it was inlined into. The ranges are then flattened: for each stretch of
 * addresses the innermost scope, found by one binary search. Context: any thread. */
#ifndef SONDE_DWARF_SCAN_H
#define SONDE_DWARF_SCAN_H

#include "dwarf_unit.h"

#define SONDE__DWARF_NO_SCOPE UINT32_MAX

struct sonde__dwarf_scope {
    uint64_t name_die; /* offset in .debug_info of the DIE to ask for its name */
    uint32_t parent;   /* scope that it was inlined into; SONDE__DWARF_NO_SCOPE: a function */
    uint32_t depth;    /* 0: a function */
    uint32_t call_file, call_line, call_column; /* where it was inlined */
};

struct sonde__dwarf_range {
    uint64_t low, high;
    uint32_t scope;
};

struct sonde__dwarf_segment {
    uint64_t start; /* up to the next segment's start */
    uint32_t scope; /* SONDE__DWARF_NO_SCOPE: no function covers it */
};

struct sonde__dwarf_scopes {
    struct sonde__dwarf_scope *scopes;
    size_t count, capacity;
    struct sonde__dwarf_range *ranges;
    size_t range_count, range_capacity;
    struct sonde__dwarf_segment *segments; /* sorted by start */
    size_t segment_count, segment_capacity;
    bool damaged; /* the DIEs were malformed somewhere; what came before is there */
};

/* Scan a unit. Returns OK (also when damaged) | MEMORY | LIMIT. Zeroed by the caller at first; free
 * with _done(), also after a failure. */
SONDE_NODISCARD enum sonde_status sonde__dwarf_scan(const struct sonde__dwarf_sections *sections,
                                                    const struct sonde__dwarf_unit *unit,
                                                    const struct sonde__dwarf_abbrevs *abbrevs,
                                                    struct sonde__dwarf_scopes *scopes);
void sonde__dwarf_scopes_done(struct sonde__dwarf_scopes *scopes);

/* The innermost scope at an address, or SONDE__DWARF_NO_SCOPE. */
uint32_t sonde__dwarf_scope_at(const struct sonde__dwarf_scopes *scopes, uint64_t address);

#endif
