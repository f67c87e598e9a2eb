// SPDX-License-Identifier: Apache-2.0
/* Reader of `__TEXT,__unwind_info`, the unwind table of Mach-O images.
 *
 * The table is a sorted list of functions, each with a 32-bit encoding that describes its frames,
 * in two levels: an index of pages, and pages of entries. Neighbours with equal encodings are one
 * entry. unwind/unwind_encoding.h decodes the encodings.
 *
 * The section is read in place, and every access is inside the view. The reader reads no more
 * entries than the section has room for: hostile pages may all be the same one. Entries whose
 * addresses do not ascend are left out. Source: the public header
 * mach-o/compact_unwind_encoding.h, "Apple's compact unwind format". Context: handler. */
#ifndef SONDE_IMAGE_UNWIND_INFO_H
#define SONDE_IMAGE_UNWIND_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The mode in an encoding, on all architectures. */
#define SONDE__ENCODING_MODE_MASK 0x0f000000u
/* Modes. */
#define SONDE__ENCODING_X86_64_FP       0x01000000u /* rbp is the frame pointer */
#define SONDE__ENCODING_X86_64_SP       0x02000000u /* no frame pointer; has the size */
#define SONDE__ENCODING_X86_64_SP_BIG   0x03000000u /* the size is in an instruction */
#define SONDE__ENCODING_X86_64_DWARF    0x04000000u
#define SONDE__ENCODING_ARM64_FRAMELESS 0x02000000u
#define SONDE__ENCODING_ARM64_DWARF     0x03000000u
#define SONDE__ENCODING_ARM64_FRAME     0x04000000u
#define SONDE__ENCODING_DWARF_MASK      0x00ffffffu /* offset of the FDE in __eh_frame */

struct sonde__unwind_info {
    const uint8_t *data; /* null: none */
    size_t size;
    uint64_t base;                    /* vaddr of the image's header, from which functions count */
    uint32_t common_at, common_count; /* encodings shared by all pages */
    uint32_t index_at, index_count;   /* pages; the entry behind the last one is its end */
};

struct sonde__unwind_info_entry {
    uint64_t start, end; /* vaddrs, start < end: one or more functions */
    uint32_t encoding;   /* 0: their frames are unknown */
};

/* Open a section of `size` bytes at `data`. False: not version 1, or its tables are not inside. */
bool sonde__unwind_info_open(const uint8_t *data, size_t size, uint64_t base,
                             struct sonde__unwind_info *ret_info);

/* Find the entry that covers `vaddr`, by binary search. False: none. */
bool sonde__unwind_info_find(const struct sonde__unwind_info *info, uint64_t vaddr,
                             struct sonde__unwind_info_entry *ret_entry);

/* Iterates over all entries by address: each starts at the end of the one before, or later. */
struct sonde__unwind_info_walk {
    const struct sonde__unwind_info *info;
    uint32_t page, entry; /* the next ones */
    uint32_t left;        /* entries that may still be read */
    uint64_t covered;     /* vaddr: the end of the last one */
};
void sonde__unwind_info_begin(const struct sonde__unwind_info *info,
                              struct sonde__unwind_info_walk *ret_walk);
bool sonde__unwind_info_next(struct sonde__unwind_info_walk *walk,
                             struct sonde__unwind_info_entry *ret_entry);

/* Find the first start and the last end of all entries, from the index alone. False: no entries. */
bool sonde__unwind_info_range(const struct sonde__unwind_info *info, uint64_t *ret_start,
                              uint64_t *ret_end);
/* Limit of the number of entries, from their counts and the size of the section. */
uint32_t sonde__unwind_info_count_max(const struct sonde__unwind_info *info);

#endif
