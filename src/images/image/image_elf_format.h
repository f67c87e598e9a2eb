// SPDX-License-Identifier: Apache-2.0
/* Constants of the ELF format that sonde reads: not every platform has <elf.h>.
 *
 * Sources: System V gABI 4.1 chapters 4 and 5; LSB 5 §11; psABIs AMD64 §4.4, AArch64 (aaelf64)
 * §5.7. All names have the SONDE prefix, because plain ones would collide with <elf.h>. */
#ifndef SONDE_IMAGE_ELF_FORMAT_H
#define SONDE_IMAGE_ELF_FORMAT_H

#define SONDE__ELF_EHDR32_BYTES 52u
#define SONDE__ELF_EHDR64_BYTES 64u
#define SONDE__ELF_PHDR32_BYTES 32u
#define SONDE__ELF_PHDR64_BYTES 56u
#define SONDE__ELF_SHDR32_BYTES 40u
#define SONDE__ELF_SHDR64_BYTES 64u
#define SONDE__ELF_SYM32_BYTES  16u
#define SONDE__ELF_SYM64_BYTES  24u
#define SONDE__ELF_RELA64_BYTES 24u

#define SONDE__ET_REL  1u
#define SONDE__ET_EXEC 2u
#define SONDE__ET_DYN  3u
#define SONDE__ET_CORE 4u

#define SONDE__EM_386     3u
#define SONDE__EM_ARM     40u
#define SONDE__EM_X86_64  62u
#define SONDE__EM_AARCH64 183u

#define SONDE__PT_LOAD         1u
#define SONDE__PT_DYNAMIC      2u
#define SONDE__PT_INTERP       3u
#define SONDE__PT_NOTE         4u
#define SONDE__PT_PHDR         6u
#define SONDE__PT_GNU_EH_FRAME 0x6474e550u

#define SONDE__PF_X 1u
#define SONDE__PF_W 2u
#define SONDE__PF_R 4u

#define SONDE__PN_XNUM    0xffffu
#define SONDE__SHN_UNDEF  0u
#define SONDE__SHN_ABS    0xfff1u
#define SONDE__SHN_COMMON 0xfff2u
#define SONDE__SHN_XINDEX 0xffffu

#define SONDE__SHT_NULL     0u
#define SONDE__SHT_PROGBITS 1u
#define SONDE__SHT_SYMTAB   2u
#define SONDE__SHT_STRTAB   3u
#define SONDE__SHT_RELA     4u
#define SONDE__SHT_NOTE     7u
#define SONDE__SHT_NOBITS   8u
#define SONDE__SHT_DYNSYM   11u

#define SONDE__SHT_GNU_VERDEF  0x6ffffffdu
#define SONDE__SHT_GNU_VERNEED 0x6ffffffeu
#define SONDE__SHT_GNU_VERSYM  0x6fffffffu

#define SONDE__SHF_ALLOC      2u
#define SONDE__SHF_EXECINSTR  4u
#define SONDE__SHF_COMPRESSED 0x800u

#define SONDE__ELFCOMPRESS_ZLIB 1u
#define SONDE__ELFCOMPRESS_ZSTD 2u

#define SONDE__STT_NOTYPE    0u
#define SONDE__STT_OBJECT    1u
#define SONDE__STT_FUNC      2u
#define SONDE__STT_GNU_IFUNC 10u
#define SONDE__STB_LOCAL     0u
#define SONDE__STB_GLOBAL    1u
#define SONDE__STB_WEAK      2u

#define SONDE__STV_DEFAULT   0u
#define SONDE__STV_PROTECTED 3u

#define SONDE__DT_NULL     0u
#define SONDE__DT_NEEDED   1u
#define SONDE__DT_PLTGOT   3u
#define SONDE__DT_HASH     4u
#define SONDE__DT_STRTAB   5u
#define SONDE__DT_SYMTAB   6u
#define SONDE__DT_STRSZ    10u
#define SONDE__DT_SYMENT   11u
#define SONDE__DT_GNU_HASH 0x6ffffef5u

#define SONDE__NT_GNU_BUILD_ID 3u

#endif
