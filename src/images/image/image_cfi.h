// SPDX-License-Identifier: Apache-2.0
/* Reader of call frame information records: CIEs and FDEs of .eh_frame and .debug_frame.
 *
 * Finds and decodes records; unwind/unwind_program.h interprets the programs inside them. Records
 * are read in place, every access is inside the section, and a malformed record is skipped.
 * Context: handler (no heap, no libc).
 *
 * An address has one FDE: of the non-empty FDEs that start at or below it, the one that starts
 * last, if it reaches that far. So the search table in place, a linear scan and a compiled table
 * agree even if records overlap.
 *
 * Sources: DWARF 5 §6.4; LSB 5 Core §10.6 (.eh_frame, .eh_frame_hdr, pointer encodings);
 * aadwarf64 §4.4 (augmentation 'B'). */
#ifndef SONDE_IMAGE_CFI_H
#define SONDE_IMAGE_CFI_H

#include "image_set.h"

enum sonde__cfi_section { SONDE__CFI_EH_FRAME, SONDE__CFI_DEBUG_FRAME };

struct sonde__cfi_cie {
    uint64_t offset; /* of the record in its section */
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_reg;
    const uint8_t *program; /* initial instructions */
    size_t program_size;
    uint8_t pointer_encoding; /* DW_EH_PE_* of addresses in FDEs and of DW_CFA_set_loc */
    uint8_t address_size;     /* bytes of an absolute pointer: 4 or 8 */
    bool has_fde_data;        /* augmentation 'z': FDEs have an augmentation length */
    bool is_signal_frame;     /* augmentation 'S' */
};

struct sonde__cfi_fde {
    struct sonde__cfi_cie cie;
    enum sonde__cfi_section section;
    uint64_t offset; /* of the record in its section */
    uint64_t start;  /* vaddr */
    uint64_t end;    /* vaddr, > start */
    const uint8_t *program;
    size_t program_size;
};

/* Call `each` with start and end vaddr of every non-empty FDE until it returns false: of .eh_frame,
 * then .debug_frame, in the order of the records (not sorted; a range may come twice). */
void sonde__cfi_each_fde(const struct sonde__cfi *cfi, unsigned arch,
                         bool (*each)(void *ctx, uint64_t start, uint64_t end), void *ctx);

/* Find start and end vaddr of the FDE that covers `vaddr`: a bound for symbols. False: none. */
bool sonde__cfi_fde_bounds(const struct sonde__cfi *cfi, unsigned arch, uint64_t vaddr,
                           uint64_t *ret_start, uint64_t *ret_end);

/* Find the FDE that covers `vaddr`: from the search table of .eh_frame_hdr in place, without a
 * usable table from a linear scan of .eh_frame, else from a linear scan of .debug_frame. */
bool sonde__cfi_fde_find(const struct sonde__cfi *cfi, unsigned arch, uint64_t vaddr,
                         struct sonde__cfi_fde *ret_fde);
bool sonde__cfi_fde_find_in(const struct sonde__cfi *cfi, unsigned arch,
                            enum sonde__cfi_section section, uint64_t vaddr,
                            struct sonde__cfi_fde *ret_fde);

/* Read the record at `offset` of a section. *ret_next: the offset of the next one.
 *
 * ret_fde->cie is also an input: if its `program` is not null, it must be the last CIE read from
 * this section, and is reused if the record names the same one. */
enum sonde__cfi_record {
    SONDE__CFI_RECORD_FDE,   /* *ret_fde is filled; never empty */
    SONDE__CFI_RECORD_OTHER, /* a CIE, an FDE without code, or malformed: skip it */
    SONDE__CFI_RECORD_END,   /* terminator, end of the section, or nothing more can be decoded */
};
enum sonde__cfi_record sonde__cfi_record_read(const struct sonde__cfi *cfi, unsigned arch,
                                              enum sonde__cfi_section section, uint64_t offset,
                                              struct sonde__cfi_fde *ret_fde, uint64_t *ret_next);

/* The same at a fraction of the cost for .eh_frame FDEs of the form that nearly all have: 32-bit
 * length, pc-relative 32-bit addresses. False: another form, or malformed: use
 * sonde__cfi_record_read(), which decides. Get the offset of the FDE's CIE first, then the FDE
 * of that CIE (all but fde->cie). */
bool sonde__cfi_fde_cie(const struct sonde__cfi *cfi, uint64_t offset, uint64_t *ret_cie_offset);
bool sonde__cfi_fde_read_short(const struct sonde__cfi *cfi, const struct sonde__cfi_cie *cie,
                               uint64_t offset, struct sonde__cfi_fde *fde);

/* The binary search table of .eh_frame_hdr. Its shape is checked, not its order or content. */
struct sonde__cfi_search {
    const uint8_t *entries; /* pairs of int32: start and FDE, both relative to .eh_frame_hdr */
    uint32_t count;
};
bool sonde__cfi_search_open(const struct sonde__cfi *cfi, struct sonde__cfi_search *ret_search);
/* Get the start vaddr and record offset (in .eh_frame) of entry `index` < count. The offset may
 * be outside of the section: then there is no record. */
void sonde__cfi_search_entry(const struct sonde__cfi *cfi, const struct sonde__cfi_search *search,
                             uint32_t index, uint64_t *ret_start, uint64_t *ret_offset);

/* Read an encoded pointer at a cursor inside the section.
 * False: omitted, indirect, unknown or outside. A stored zero sets *ret_null (may be null),
 * whatever it is relative to. */
struct sonde__bytes;
bool sonde__cfi_pointer_read(const struct sonde__cfi *cfi, enum sonde__cfi_section section,
                             struct sonde__bytes *cursor, uint8_t encoding, uint8_t address_size,
                             uint64_t *ret_vaddr, bool *ret_null);

#endif
