// SPDX-License-Identifier: Apache-2.0
#include "capture_made.h"

#include "arch_regs.h"
#include "base_mem.h"

/* Encodings of .eh_frame_hdr (LSB 5 §10.6.2) that linkers write: eh_frame_ptr is pcrel sdata4. */
enum { HDR_VERSION = 1, ENC_PCREL_SDATA4 = 0x1b, HDR_POINTER_AT = 4, HDR_SIZE_MIN = 8 };

/* Larger than any .eh_frame. */
enum { TABLE_BYTES_MAX = 1 << 30 };

/* Limit of the bytes from `at` on that may belong to the image. In a static program the loader's
 * bounds contain only the code, and its tables lie behind. Their size is unknown then; the
 * tables, which the linker wrote, have their own ends. */
static size_t bytes_from(const struct sonde__os_image *found, uint64_t at)
{
    return at >= found->start && at < found->end ? (size_t)(found->end - at) : TABLE_BYTES_MAX;
}

static void add_macho_tables(struct sonde__image *image, const struct sonde__os_image *found)
{
    struct sonde__cfi *cfi = &image->cfi;
    image->encodings.text = (const uint8_t *)(uintptr_t)found->start;
    image->encodings.text_size = (size_t)(found->end - found->start);
    cfi->eh_frame = (const uint8_t *)(uintptr_t)found->eh_frame;
    cfi->eh_frame_size = (size_t)found->eh_frame_size;
    cfi->eh_frame_vaddr = found->eh_frame;
    (void)sonde__unwind_info_open((const uint8_t *)(uintptr_t)found->unwind_info,
                                  (size_t)found->unwind_info_size, found->start,
                                  &image->encodings.info);
}

void sonde__capture_make_image(struct sonde__image *image, const struct sonde__os_image *found)
{
    uint64_t hdr = found->eh_frame_hdr;
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)hdr;
    sonde__base_mem_set(image, 0, sizeof *image);
    image->path = "";
    image->start = found->start;
    image->end = found->end;
    image->arch = SONDE__ARCH_HOST;
    if (found->unwind_info != 0) {
        add_macho_tables(image, found);
        return;
    }
    if (hdr == 0 || bytes_from(found, hdr) < HDR_SIZE_MIN || bytes[0] != HDR_VERSION) {
        return; /* no call frame information, only bounds */
    }
    image->cfi.eh_frame_hdr = bytes;
    image->cfi.eh_frame_hdr_vaddr = hdr;
    image->cfi.eh_frame_hdr_size = bytes_from(found, hdr);
    if (bytes[1] == ENC_PCREL_SDATA4) {
        int32_t distance;
        uint64_t section;
        sonde__base_mem_copy(&distance, bytes + HDR_POINTER_AT, sizeof distance);
        section = hdr + HDR_POINTER_AT + (uint64_t)(int64_t)distance;
        image->cfi.eh_frame = (const uint8_t *)(uintptr_t)section;
        image->cfi.eh_frame_vaddr = section;
        image->cfi.eh_frame_size = bytes_from(found, section);
    }
}
