// SPDX-License-Identifier: Apache-2.0
#include "file_cfi.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch_regs.h"
#include "test.h"

static void add_section(struct sonde__cfi *cfi, const char *name, const Elf64_Shdr *section,
                        const uint8_t *data)
{
    if (section->sh_type == SHT_NOBITS) {
        return;
    }
    if (strcmp(name, ".eh_frame") == 0) {
        cfi->eh_frame = data;
        cfi->eh_frame_size = section->sh_size;
        cfi->eh_frame_vaddr = section->sh_addr;
    } else if (strcmp(name, ".eh_frame_hdr") == 0) {
        cfi->eh_frame_hdr = data;
        cfi->eh_frame_hdr_size = section->sh_size;
        cfi->eh_frame_hdr_vaddr = section->sh_addr;
    } else if (strcmp(name, ".debug_frame") == 0) {
        cfi->debug_frame = data;
        cfi->debug_frame_size = section->sh_size;
    }
}

bool file_cfi_open(struct file_cfi *file, const char *path)
{
    size_t size = 0;
    memset(file, 0, sizeof *file);
    if (access(path, R_OK) != 0) {
        return false;
    }
    file->file = test_read_file(path, &size);
    CHECK(size > sizeof(Elf64_Ehdr) && memcmp(file->file, ELFMAG, SELFMAG) == 0);
    const Elf64_Ehdr *header = (const void *)file->file;
    file->arch = header->e_machine == EM_AARCH64 ? SONDE_ARCH_AARCH64 : SONDE_ARCH_X86_64;
    CHECK(header->e_shoff + (uint64_t)header->e_shnum * sizeof(Elf64_Shdr) <= size);
    const Elf64_Shdr *sections = (const void *)(file->file + header->e_shoff);
    const char *names = file->file + sections[header->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        add_section(&file->cfi, names + sections[i].sh_name, &sections[i],
                    (const uint8_t *)file->file + sections[i].sh_offset);
    }
    return file->cfi.eh_frame != NULL || file->cfi.debug_frame != NULL;
}

void file_cfi_close(struct file_cfi *file)
{
    free(file->file);
}
