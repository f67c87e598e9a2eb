// SPDX-License-Identifier: Apache-2.0
/* The tail graph of an image from its code, without debug information.
 *
 * Functions come from FDEs, and elsewhere from symbols with a size. A jump to the start of another
 * function, with the stack as at entry, is a tail call if the target is known to be a function: it
 * has a name, is called, or is exported. Otherwise it may be a cold part of the same function,
 * which is then open: it may jump to unknown places. A function is also open if it has an indirect
 * jump that is not known to use its own jump table, or if its code cannot be decoded. Parts are
 * recognised by name ("f.cold"). Context: any thread. */
#ifndef SONDE_TAIL_CODE_H
#define SONDE_TAIL_CODE_H

#include "image_elf.h"
#include "image_macho.h"
#include "symbol_index.h"
#include "tail_make.h"

struct sonde__tail_code {
    const struct sonde__elf *elf;              /* with the code; null: not an ELF */
    const struct sonde__symbol_index *symbols; /* of the image; null: none */
    uint64_t base;                             /* vaddr of offset 0 */
    /* calls in its debug information (tail_agree.h), or null */
    const struct sonde__tail_input *described;
};

/* Larger code is not searched; a search takes some 4 ns per byte. */
#define SONDE__TAIL_CODE_MAX ((uint64_t)256 << 20)

/* Returns OK | ABSENT (no code in the view, or no call frame information) | UNSUPPORTED (another
 * machine) | LIMIT (too much code, or too many FDEs to read) | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__tail_code_make(const struct sonde__tail_code *code,
                                                        struct sonde__tail_bytes *ret_bytes);

/* The same for a Mach-O, whose functions come from its list of function starts. The stack depth at
 * a jump is computed from the code, because not all code has unwind information. */
struct sonde__tail_macho {
    const struct sonde__macho *image; /* with the code */
    const struct sonde__macho *debug; /* further names (a separate dSYM), or null */
    uint64_t base;                    /* vaddr of offset 0, in the image's coordinates */
    const struct sonde__tail_input *described;
};
SONDE_NODISCARD enum sonde_status sonde__tail_macho_make(const struct sonde__tail_macho *code,
                                                         struct sonde__tail_bytes *ret_bytes);

/* The target of the call before a return address, from its code. */
enum sonde__tail_callee_kind {
    SONDE__TAIL_CALLEE_UNKNOWN, /* no call, or an indirect one */
    SONDE__TAIL_CALLEE_DIRECT,  /* the function at ret_vaddr */
    SONDE__TAIL_CALLEE_SLOT,    /* through the word at ret_vaddr */
};
enum sonde__tail_callee_kind sonde__tail_callee(const struct sonde__elf *elf, unsigned arch,
                                                uint64_t back_vaddr, uint64_t *ret_vaddr);

/* Is the call before a return address register-indirect, with its result passed to another
 * function, as start-up code passes main()'s result to exit()? ret_vaddr: that function or its
 * stub. */
bool sonde__tail_hands_over(const struct sonde__elf *elf, unsigned arch, uint64_t back_vaddr,
                            uint64_t *ret_vaddr);

#endif
