// SPDX-License-Identifier: Apache-2.0
/* PLT stubs: which GOT cell does the stub at an address jump through?
 *
 * The cell's relocation names the function. This does not depend on the order of relocations, which
 * differs between linkers and between .plt, .plt.sec and .plt.got. Sources: AMD64 psABI 1.0 §5.2
 * and its IBT layout (§13.1); aaelf64 §10 and the BTI and PAC forms that binutils and lld write.
 * Context: handler. */
#ifndef SONDE_ARCH_PLT_H
#define SONDE_ARCH_PLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__plt_slot {
    uint64_t start; /* vaddr of the stub */
    uint64_t end;   /* one past its last byte */
    uint64_t cell;  /* vaddr of the GOT cell */
};

/* Find the first stub at or after `offset` in `code`, a PLT section at `vaddr`.
 *
 * slot_size  the section header's sh_entsize, or 0
 * ret_next   offset to continue at
 * False: no more stubs. Other code (PLT0, padding) is skipped. */
bool sonde__arch_plt_next(unsigned arch, const uint8_t *code, size_t size, uint64_t vaddr,
                          uint64_t slot_size, size_t offset, struct sonde__plt_slot *ret_slot,
                          size_t *ret_next);

/* The vaddr that "adrp xBASE, page; ldr xTO, [xBASE, #offset]" at pc loads from; 0: other code. */
uint64_t sonde__arch_aarch64_cell(uint32_t adrp, uint32_t ldr, uint64_t pc, unsigned base,
                                  unsigned to);

/* The position of an address in an aarch64 PLT stub. */
enum sonde__stub_place {
    SONDE__STUB_NONE,
    SONDE__STUB_CALLED, /* lr is the return address, sp the caller's */
    SONDE__STUB_PUSHED, /* lr is the return address; the header has pushed 16 bytes */
};
#define SONDE__STUB_BEFORE 20u /* bytes looked at before the address, */
#define SONDE__STUB_BYTES  48u /* and in all */

/* code: from SONDE__STUB_BEFORE bytes before the address on. */
enum sonde__stub_place sonde__arch_aarch64_stub_place(const uint8_t code[SONDE__STUB_BYTES]);

#endif
