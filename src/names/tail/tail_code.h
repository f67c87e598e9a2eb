// SPDX-License-Identifier: Apache-2.0
/* The tail graph of an image from its code, without debug information.
 *
 * Functions are what call frame information describes; where it ends, symbols with a size. A jump
 * out of one to the beginning of another, with the stack as it was at entry, is a tail call, if the
 * other is known to be a function: it has a name, or is called or exported. Else it may be the cold
 * part of the same function, and the function is open: it may go to what is not known. So is one
 * with an indirect jump that is not known to go through a table of its own, and one whose code
 * cannot be decoded. Names of parts ("f.cold") say what they are. Context: any thread. */
#ifndef SONDE_TAIL_CODE_H
#define SONDE_TAIL_CODE_H

#include "image_elf.h"
#include "image_macho.h"
#include "symbol_index.h"
#include "tail_make.h"

struct sonde__tail_code {
    const struct sonde__elf *elf;              /* with the code; null: it is no ELF */
    const struct sonde__symbol_index *symbols; /* of the image; null: as if it had none */
    uint64_t base;                             /* vaddr of offset 0 */
    const struct sonde__tail_input *described; /* what debug information says of its calls
                                                  (tail_agree.h), or null */
};

/* Code of more bytes is not looked at (some 4 ns a byte). */
#define SONDE__TAIL_CODE_MAX ((uint64_t)256 << 20)

/* Returns OK | ABSENT (no code in the view, or no call frame information) | UNSUPPORTED (another
 * machine) | LIMIT (too much code, or too many records to read) | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__tail_code_make(const struct sonde__tail_code *code,
                                                        struct sonde__tail_bytes *ret_bytes);

/* The same of a Mach-O: functions are what its list of function starts says; how deep the stack is
 * at a jump is followed through the code, because it has no such records for all of it. */
struct sonde__tail_macho {
    const struct sonde__macho *image; /* with the code */
    const struct sonde__macho
        *debug;    /* further names (a dSYM, where that is another file), or null */
    uint64_t base; /* vaddr of offset 0, in the image's coordinates */
    const struct sonde__tail_input *described;
};
SONDE_NODISCARD enum sonde_status sonde__tail_macho_make(const struct sonde__tail_macho *code,
                                                         struct sonde__tail_bytes *ret_bytes);

/* What the call before a return address enters, from its bytes. */
enum sonde__tail_callee_kind {
    SONDE__TAIL_CALLEE_UNKNOWN, /* no call, or an indirect one */
    SONDE__TAIL_CALLEE_DIRECT,  /* the function at ret_vaddr */
    SONDE__TAIL_CALLEE_SLOT,    /* what the word at ret_vaddr holds */
};
enum sonde__tail_callee_kind sonde__tail_callee(const struct sonde__elf *elf, unsigned arch,
                                                uint64_t back_vaddr, uint64_t *ret_vaddr);

/* Is the call before a return address one by register whose result is given to another function, as
 * start-up code gives the result of main() to exit()? ret_vaddr: that function, or its stub. */
bool sonde__tail_hands_over(const struct sonde__elf *elf, unsigned arch, uint64_t back_vaddr,
                            uint64_t *ret_vaddr);

#endif
