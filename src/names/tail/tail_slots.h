// SPDX-License-Identifier: Apache-2.0
/* Targets of GOT words and linkage stubs. Context: any thread. */
#ifndef SONDE_TAIL_SLOTS_H
#define SONDE_TAIL_SLOTS_H

#include <sonde/status.h>

#include "image_elf.h"

enum tail_slot_kind {
    TAIL_SLOT_UNKNOWN,  /* unknown, or set by a resolver */
    TAIL_SLOT_OWN,      /* a function of this image */
    TAIL_SLOT_EXTERNAL, /* a function of another image */
};

struct tail_slots {
    struct tail_cell {
        uint64_t vaddr;
        uint64_t to;     /* OWN: vaddr */
        uint32_t symbol; /* EXTERNAL: the dynamic symbol's index */
        uint8_t kind;
    } * cells; /* by vaddr */
    size_t cell_count, cell_capacity;
    struct tail_stub {
        uint64_t start, cell;
    } * stubs; /* by start */
    size_t stub_count, stub_capacity;
    struct tail_plt {
        uint64_t start, end;
    } plts[4]; /* sections of stubs */
    unsigned plt_count;
};

/* Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status tail_slots_read(const struct sonde__elf *elf, unsigned arch,
                                                  struct tail_slots *ret_slots);
void tail_slots_done(struct tail_slots *slots);

/* The word at a vaddr; null: unknown, or conflicting relocations. */
const struct tail_cell *tail_cell(const struct tail_slots *slots, uint64_t vaddr);
/* The target of a word; ret_to: for OWN only. */
enum tail_slot_kind tail_slot(const struct tail_slots *slots, uint64_t vaddr, uint64_t *ret_to);
/* Is a stub at this vaddr? ret_cell: the word that it jumps through. */
bool tail_stub(const struct tail_slots *slots, uint64_t vaddr, uint64_t *ret_cell);
bool tail_in_plt(const struct tail_slots *slots, uint64_t vaddr);

#endif
