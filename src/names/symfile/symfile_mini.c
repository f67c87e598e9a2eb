// SPDX-License-Identifier: Apache-2.0
#include "symfile_mini.h"

#include "inflate.h"

/* Ten times what the largest programs of Fedora have. */
#define INFLATED_MAX ((uint64_t)64 << 20)

bool symfile_mini_open(const struct sonde__elf *own, struct symfile_mini *ret_mini)
{
    struct symfile_mini mini = {0};
    struct sonde__elf_section section, symtab;
    uint64_t size;
    size_t done;
    if (own->memory || !sonde__elf_section_by_name(own, ".gnu_debugdata", &section) ||
        section.data == NULL || !sonde__inflate_xz_size(section.data, section.size, &size) ||
        size == 0 || size > INFLATED_MAX ||
        sonde__host_scratch_open(size, &mini.scratch, NULL) != SONDE_OK) {
        return false;
    }
    if (sonde__inflate(SONDE__INFLATE_XZ, section.data, section.size, mini.scratch.data, size,
                       &done, NULL) == SONDE_OK &&
        sonde__elf_open(mini.scratch.data, done, &mini.elf, NULL) == SONDE_OK &&
        mini.elf.machine == own->machine &&
        sonde__elf_section_by_type(&mini.elf, SONDE__SHT_SYMTAB, &symtab)) {
        *ret_mini = mini;
        return true;
    }
    symfile_mini_close(&mini);
    return false;
}

void symfile_mini_close(struct symfile_mini *mini)
{
    sonde__host_scratch_close(&mini->scratch);
    *mini = (struct symfile_mini){0};
}
