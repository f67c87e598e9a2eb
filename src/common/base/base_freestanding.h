// SPDX-License-Identifier: Apache-2.0
/* Force-included into every async-safe module (cmake/sonde_module.cmake).
 *
 * Compilers emit calls to memcpy, memmove, memset and memcmp even in freestanding code. libc's
 * versions use vector registers and, through an ifunc, a lazily bound slot; both are forbidden in a
 * handler. In ELF the symbol assignments below redirect such calls to our functions. In Mach-O they
 * would not affect symbols of other files: there base_mem_macho.c defines the four names. */
#ifndef SONDE_BASE_FREESTANDING_H
#define SONDE_BASE_FREESTANDING_H

#if defined(__ELF__) && !defined(__ASSEMBLER__)
__asm__(".set memcpy, sonde__base_mem_copy\n\t"
        ".set memmove, sonde__base_mem_move\n\t"
        ".set memset, sonde__base_mem_set\n\t"
        ".set memcmp, sonde__base_mem_compare\n\t");
#endif

#endif
