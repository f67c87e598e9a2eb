// SPDX-License-Identifier: Apache-2.0
/* Constants of the Mach-O format that sonde reads.
 *
 * Sources: Apple's "OS X ABI Mach-O File Format Reference"; the public headers mach-o/loader.h,
 * nlist.h, stab.h, reloc.h, fat.h and fixup-chains.h. These headers define the plain names, so
 * all here have the SONDE prefix. */
#ifndef SONDE_IMAGE_MACHO_FORMAT_H
#define SONDE_IMAGE_MACHO_FORMAT_H

/* read as little-endian */
#define SONDE__MH_MAGIC    0xfeedfaceu
#define SONDE__MH_MAGIC_64 0xfeedfacfu
#define SONDE__MH_CIGAM    0xcefaedfeu
#define SONDE__MH_CIGAM_64 0xcffaedfeu
/* read as big-endian, as fat headers always are */
#define SONDE__FAT_MAGIC    0xcafebabeu
#define SONDE__FAT_MAGIC_64 0xcafebabfu

#define SONDE__MACHO_HEADER32_BYTES     28u
#define SONDE__MACHO_HEADER64_BYTES     32u
#define SONDE__MACHO_SECTION32_BYTES    68u
#define SONDE__MACHO_SECTION64_BYTES    80u
#define SONDE__MACHO_NLIST32_BYTES      12u
#define SONDE__MACHO_NLIST64_BYTES      16u
#define SONDE__MACHO_RELOC_BYTES        8u
#define SONDE__MACHO_DATA_IN_CODE_BYTES 8u /* offset from the header (4), length (2), kind (2) */
#define SONDE__MACHO_UUID_BYTES         16u

#define SONDE__MH_OBJECT  1u
#define SONDE__MH_EXECUTE 2u
#define SONDE__MH_DYLIB   6u
#define SONDE__MH_BUNDLE  8u
#define SONDE__MH_DSYM    10u

#define SONDE__CPU_ARCH_ABI64    0x01000000u
#define SONDE__CPU_ARCH_ABI64_32 0x02000000u
#define SONDE__CPU_X86           7u
#define SONDE__CPU_ARM           12u
#define SONDE__CPU_X86_64        (SONDE__CPU_X86 | SONDE__CPU_ARCH_ABI64)
#define SONDE__CPU_ARM64         (SONDE__CPU_ARM | SONDE__CPU_ARCH_ABI64)
#define SONDE__CPU_ARM64_32      (SONDE__CPU_ARM | SONDE__CPU_ARCH_ABI64_32)
#define SONDE__CPU_SUBTYPE_MASK  0x00ffffffu /* the highest byte holds capabilities */

#define SONDE__LC_SEGMENT             0x1u
#define SONDE__LC_SYMTAB              0x2u
#define SONDE__LC_DYSYMTAB            0xbu
#define SONDE__LC_SEGMENT_64          0x19u
#define SONDE__LC_UUID                0x1bu
#define SONDE__LC_ENCRYPTION_INFO     0x21u
#define SONDE__LC_DYLD_INFO           0x22u
#define SONDE__LC_FUNCTION_STARTS     0x26u
#define SONDE__LC_DATA_IN_CODE        0x29u
#define SONDE__LC_ENCRYPTION_INFO_64  0x2cu
#define SONDE__LC_DYLD_INFO_ONLY      0x80000022u
#define SONDE__LC_DYLD_EXPORTS_TRIE   0x80000033u
#define SONDE__LC_DYLD_CHAINED_FIXUPS 0x80000034u

#define SONDE__VM_PROT_EXECUTE 4u

#define SONDE__S_TYPE                       0xffu
#define SONDE__S_ZEROFILL                   0x1u
#define SONDE__S_NON_LAZY_SYMBOL_POINTERS   0x6u
#define SONDE__S_LAZY_SYMBOL_POINTERS       0x7u
#define SONDE__S_SYMBOL_STUBS               0x8u
#define SONDE__S_GB_ZEROFILL                0xcu
#define SONDE__S_LAZY_DYLIB_SYMBOL_POINTERS 0x10u
#define SONDE__S_THREAD_LOCAL_ZEROFILL      0x12u
#define SONDE__S_ATTR_SOME_INSTRUCTIONS     0x00000400u
#define SONDE__S_ATTR_PURE_INSTRUCTIONS     0x80000000u

#define SONDE__N_STAB      0xe0u
#define SONDE__N_EXT       0x01u
#define SONDE__N_TYPE      0x0eu
#define SONDE__N_UNDF      0x0u
#define SONDE__N_ABS       0x2u
#define SONDE__N_SECT      0xeu
#define SONDE__N_WEAK_DEF  0x0080u
#define SONDE__N_ALT_ENTRY 0x0200u

#define SONDE__INDIRECT_SYMBOL_LOCAL 0x80000000u
#define SONDE__INDIRECT_SYMBOL_ABS   0x40000000u

#define SONDE__EXPORT_KIND_MASK         0x03u
#define SONDE__EXPORT_KIND_ABSOLUTE     0x02u
#define SONDE__EXPORT_WEAK_DEFINITION   0x04u
#define SONDE__EXPORT_REEXPORT          0x08u
#define SONDE__EXPORT_STUB_AND_RESOLVER 0x10u

#endif
