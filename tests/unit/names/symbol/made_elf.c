// SPDX-License-Identifier: Apache-2.0
#include "made_elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { SECTIONS = 6 };

void *made_elf(const struct made_symbol *symbols, size_t count, uint64_t text_size,
               size_t *ret_size)
{
    static const char names[] = "\0.text\0.data\0.symtab\0.strtab\0.shstrtab";
    size_t strings_size = 1, at, strings_at;
    for (size_t i = 0; i < count; i++) {
        strings_size += strlen(symbols[i].name) + 1;
    }
    size_t phdr_at = sizeof(Elf64_Ehdr), shdr_at = phdr_at + sizeof(Elf64_Phdr);
    size_t symtab_at = shdr_at + SECTIONS * sizeof(Elf64_Shdr);
    strings_at = symtab_at + (count + 1) * sizeof(Elf64_Sym);
    size_t names_at = strings_at + strings_size;
    size_t size = names_at + sizeof names;
    char *file = calloc(1, size);
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = 1,
                         .e_phoff = phdr_at,
                         .e_shoff = shdr_at,
                         .e_ehsize = sizeof(Elf64_Ehdr),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 1,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = SECTIONS,
                         .e_shstrndx = 5};
    Elf64_Phdr segment = {.p_type = PT_LOAD,
                          .p_flags = PF_R | PF_X,
                          .p_vaddr = MADE_TEXT,
                          .p_memsz = text_size,
                          .p_align = 4096};
    Elf64_Shdr sections[SECTIONS] = {
        {0},
        {1, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, MADE_TEXT, 0, text_size, 0, 0, 16, 0},
        {7, SHT_NOBITS, SHF_ALLOC, MADE_TEXT, 0, text_size, 0, 0, 16, 0},
        {13, SHT_SYMTAB, 0, 0, symtab_at, (count + 1) * sizeof(Elf64_Sym), 4, 1, 8,
         sizeof(Elf64_Sym)},
        {21, SHT_STRTAB, 0, 0, strings_at, strings_size, 0, 0, 1, 0},
        {29, SHT_STRTAB, 0, 0, names_at, sizeof names, 0, 0, 1, 0}};
    memcpy(file, &header, sizeof header);
    memcpy(file + phdr_at, &segment, sizeof segment);
    memcpy(file + shdr_at, sections, sizeof sections);
    memcpy(file + names_at, names, sizeof names);
    at = 1;
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym symbol = {.st_name = (Elf64_Word)at,
                            .st_info = (uint8_t)ELF64_ST_INFO(symbols[i].bind, symbols[i].type),
                            .st_shndx = symbols[i].section,
                            .st_value = symbols[i].value,
                            .st_size = symbols[i].size};
        memcpy(file + symtab_at + (i + 1) * sizeof symbol, &symbol, sizeof symbol);
        strcpy(file + strings_at + at, symbols[i].name);
        at += strlen(symbols[i].name) + 1;
    }
    *ret_size = size;
    return file;
}
