// SPDX-License-Identifier: Apache-2.0
/* Headers of compressed sections: SHF_COMPRESSED (gABI, "Section Compression"), and the older form
 * of GNU tools: a section named ".zdebug_…" that begins with "ZLIB" and its size, big-endian. */
#include "image_elf.h"

#include "base_mem.h"

bool sonde__elf_compression(const struct sonde__elf *elf, const struct sonde__elf_section *section,
                            struct sonde__elf_compression *ret_compression)
{
    struct sonde__elf_compression c = {0};
    struct sonde__bytes b;
    if (section->data == NULL) {
        return false;
    }
    sonde__base_bytes_init(&b, section->data, section->size);
    if ((section->flags & SONDE__SHF_COMPRESSED) != 0) {
        c.type = sonde__base_bytes_u32(&b);
        if (elf->is64) {
            (void)sonde__base_bytes_u32(&b); /* reserved */
            c.size = sonde__base_bytes_u64(&b);
            (void)sonde__base_bytes_u64(&b); /* alignment */
        } else {
            c.size = sonde__base_bytes_u32(&b);
            (void)sonde__base_bytes_u32(&b);
        }
    } else {
        static const uint8_t magic[4] = {'Z', 'L', 'I', 'B'};
        if (section->size < 12 || sonde__base_mem_compare(section->data, magic, 4) != 0) {
            return false;
        }
        b.at += 4;
        c.type = SONDE__ELFCOMPRESS_ZLIB;
        for (unsigned i = 0; i < 8; i++) {
            c.size = c.size << 8 | sonde__base_bytes_u8(&b);
        }
    }
    if (b.failed) {
        return false;
    }
    c.data = b.at;
    c.data_size = (uint64_t)(b.end - b.at);
    *ret_compression = c;
    return true;
}
