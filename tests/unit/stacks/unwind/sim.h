// SPDX-License-Identifier: Apache-2.0
/* A made-up address space for tests of the walk: one image with hand-made CFI and code, one stack,
 * read through a door that knows nothing else. Either architecture, on any host. */
#ifndef SONDE_TEST_SIM_H
#define SONDE_TEST_SIM_H

#include "unwind_rules.h"
#include "unwind_walk.h"

#define SIM_CODE  0x400000u
#define SIM_STACK 0x7ff000u
#define SIM_WORDS 8192

struct sim {
    unsigned arch;
    uint8_t cfi[1 << 16];
    size_t cfi_size;
    size_t cie_at;
    uint8_t code[0x1000];
    uint64_t stack[SIM_WORDS];
    struct sonde__image image;
    struct sonde__image_range range;
    struct sonde__image_set set;
    struct sonde__regs regs;
    bool infer, return_address;
    struct sonde__scans *scans;
    unsigned code_reads; /* by walks since it was set */
    uint32_t skip;
    _Alignas(8) uint8_t table[1 << 19];
    uint64_t pcs[4096];
    uint8_t how[4096];
    struct sonde_stack result;
};

/* Start with a CIE: "zR", or "zRS" for signal frames; CFA sp + 8 with the return address at -8
 * (x86-64), sp + 0 (aarch64). */
void sim_open(struct sim *sim, unsigned arch);
void sim_cie(struct sim *sim, bool is_signal);
/* An FDE of the last CIE: [SIM_CODE + start, + size). */
void sim_fde(struct sim *sim, uint32_t start, uint32_t size, const void *program,
             size_t program_size);
#define SIM_FDE(sim_, start_, ...)                                                                 \
    sim_fde(sim_, start_, 0x100, (const uint8_t[]){__VA_ARGS__},                                   \
            sizeof((const uint8_t[]){__VA_ARGS__}))

/* The word at SIM_STACK + offset. */
void sim_poke(struct sim *sim, uint32_t offset, uint64_t value);
/* Five bytes `call target` that end at SIM_CODE + end (x86-64). */
void sim_call(struct sim *sim, uint32_t end, uint32_t target);

/* Registers for frame 0: pc SIM_CODE + pc, sp SIM_STACK + sp. */
void sim_start(struct sim *sim, uint32_t pc, uint32_t sp);
void sim_set(struct sim *sim, unsigned reg, uint64_t value);

/* The door to the made-up memory; ctx: the sim. */
bool sim_read(void *ctx, uint64_t address, void *ret_bytes, size_t size);

/* Walk in place and, if there is CFI, by a compiled table; fails the test if they differ. The stack
 * is cut at `capacity` frames, `outer` of them outermost ones. */
void sim_walk(struct sim *sim, uint32_t capacity, uint32_t outer);
/* The walk gave exactly these pcs (as offsets from SIM_CODE, ended by UINT32_MAX) and ended so. */
void sim_expect(const struct sim *sim, enum sonde_end_reason end, const uint32_t *pcs);
#define SIM_EXPECT(sim_, end_, ...)                                                                \
    sim_expect(sim_, end_, (const uint32_t[]){__VA_ARGS__, UINT32_MAX})

#endif
