// SPDX-License-Identifier: Apache-2.0
/* Differences between ELF and Mach-O assemblers, for .S files: prefix of C names, visibility, types
 * and sizes, halves of an address, the stack note. Put each macro on its own line: a semicolon
 * begins a comment in arm64 Mach-O. Without .subsections_via_symbols Apple's linker keeps a file's
 * code together and in order, which thunk tables need. */
/* clang-format off */
#if defined(__APPLE__)

#define SONDE__ASM_NAME(name) _##name
/* adrp and add of `name` + `more` bytes, aarch64 */
#define SONDE__ASM_PAGE(name, more) _##name@PAGE+more
#define SONDE__ASM_PAGE_OFFSET(name, more) _##name@PAGEOFF+more
/* a static chain in x18, which Apple reserves for the system: nothing to store or load */
#define SONDE__ASM_STORE_CHAIN(offset)
#define SONDE__ASM_LOAD_CHAIN(offset)

    .macro sonde__asm_hidden name
    .globl \name
    .private_extern \name
    .endm
    .macro sonde__asm_imports name
    .endm
    .macro sonde__asm_begin name
\name:
    .cfi_startproc
    .endm
    .macro sonde__asm_end name
    .cfi_endproc
    .endm
    .macro sonde__asm_file_end
    .endm

#else

#define SONDE__ASM_NAME(name) name
#define SONDE__ASM_PAGE(name, more) name+more
#define SONDE__ASM_PAGE_OFFSET(name, more) :lo12:name+more
#define SONDE__ASM_STORE_CHAIN(offset) str x18, [sp, offset]
#define SONDE__ASM_LOAD_CHAIN(offset) ldr x18, [sp, offset]

    .macro sonde__asm_hidden name
    .globl \name
    .hidden \name
    .endm
    .macro sonde__asm_imports name
    .hidden \name
    .endm
    .macro sonde__asm_begin name
    .type \name, %function
\name:
    .cfi_startproc
    .endm
    .macro sonde__asm_end name
    .cfi_endproc
    .size \name, . - \name
    .endm
    .macro sonde__asm_file_end
    .section .note.GNU-stack, "", %progbits
    .endm

#endif

/* a function visible to the whole program; only to this library; of this library, defined
 * elsewhere */
#define SONDE__ASM_PUBLIC(name) .globl SONDE__ASM_NAME(name)
#define SONDE__ASM_HIDDEN(name) sonde__asm_hidden SONDE__ASM_NAME(name)
#define SONDE__ASM_IMPORTS(name) sonde__asm_imports SONDE__ASM_NAME(name)
/* its code, with call frame information from the label on; align before it */
#define SONDE__ASM_BEGIN(name) sonde__asm_begin SONDE__ASM_NAME(name)
#define SONDE__ASM_END(name) sonde__asm_end SONDE__ASM_NAME(name)
/* the last line of a file: the stack is not executable */
#define SONDE__ASM_FILE_END sonde__asm_file_end
        /* clang-format on */
