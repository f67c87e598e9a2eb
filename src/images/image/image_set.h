// SPDX-License-Identifier: Apache-2.0
/* Images (main program, shared libraries, vdso) of one address space, as an immutable snapshot.
 *
 * A snapshot is built once in normal context and never changed. Any context looks it up by a
 * binary search of its executable ranges. Its publishers (target, capture) retire old ones;
 * `generation` identifies a snapshot. All addresses are of the examined address space; vaddr =
 * address - bias is the file's coordinate. Context of the look-ups: handler. */
#ifndef SONDE_IMAGE_SET_H
#define SONDE_IMAGE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image_go.h"
#include "image_unwind_info.h"

/* GNU build-id note or Mach-O UUID. */
#define SONDE__BUILD_ID_MAX 32
struct sonde__build_id {
    uint8_t size; /* bytes, 0: none */
    uint8_t bytes[SONDE__BUILD_ID_MAX];
};

/* Call frame information of an image, readable in this process. */
struct sonde__cfi {
    const uint8_t *eh_frame; /* null: none */
    size_t eh_frame_size;
    uint64_t eh_frame_vaddr;
    const uint8_t *eh_frame_hdr; /* null: none; its table is searched in place */
    size_t eh_frame_hdr_size;
    uint64_t eh_frame_hdr_vaddr;
    const uint8_t *debug_frame; /* null: none; used if eh_frame has no FDE */
    size_t debug_frame_size;
    uint64_t text_vaddr; /* base of DW_EH_PE_textrel */
    uint64_t data_vaddr; /* base of DW_EH_PE_datarel in .eh_frame (the GOT) */
    /* Add this to a pointer in the section to get a vaddr; 0 for files. Loaded images have
     * pc-relative pointers, which need no change, and rarely absolute ones. */
    uint64_t absolute_bias;
};

/* The unwind table of a Mach-O image, readable in this process. It has priority over the call frame
 * information. Not a part of that: probes have it on small stacks. */
struct sonde__encodings {
    struct sonde__unwind_info info; /* data null: none */
    const uint8_t *text;            /* the image's header and its code, or null */
    size_t text_size;
};

enum sonde__image_flags {
    SONDE__IMAGE_MAIN = 1, /* the main program */
    SONDE__IMAGE_VDSO = 2,
    SONDE__IMAGE_DELETED = 4, /* its file was deleted or replaced */
};

struct sonde__rules; /* unwind/unwind_rules.h */

struct sonde__image {
    const char *path; /* by the loader or the map; "" if unknown; "[vdso]" */
    const char *file; /* a path that opens the file if `path` does not; or null */
    uint64_t start;   /* lowest mapped address */
    uint64_t end;     /* one past the highest */
    uint64_t bias;    /* address - vaddr */
    struct sonde__build_id build_id;
    struct sonde__cfi cfi;
    struct sonde__encodings encodings;
    struct sonde__go go;              /* a Go program's functions; data null: not a Go program */
    const struct sonde__rules *rules; /* compiled table; null: cfi is searched in place */
    uint32_t flags;
    uint8_t arch;      /* enum sonde_arch */
    bool is_permanent; /* images of this process: never unloaded */
    /* Images of this process: the address of build_id, to check that the image is still loaded. */
    const uint8_t *build_id_at;
};

/* One executable range of an image. */
struct sonde__image_range {
    uint64_t start;
    uint64_t end;
    uint32_t image; /* index in images; SONDE__IMAGE_NONE: executable memory of no image (JIT) */
};
#define SONDE__IMAGE_NONE UINT32_MAX

struct sonde__image_set {
    const struct sonde__image *images;
    const struct sonde__image_range *ranges; /* sorted by start, disjoint */
    uint32_t image_count;
    uint32_t range_count;
    uint64_t generation;
    /* This process: how many objects its loader had unloaded in total when the set was made. */
    uint64_t unloads;
};

/* Find the range that contains `address`. Null: none. */
const struct sonde__image_range *sonde__image_range_find(const struct sonde__image_set *set,
                                                         uint64_t address);

/* Find the image with `pc` in an executable range. Null: none (also for JIT code). */
const struct sonde__image *sonde__image_find(const struct sonde__image_set *set, uint64_t pc);

#endif
