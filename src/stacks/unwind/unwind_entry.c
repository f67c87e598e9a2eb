// SPDX-License-Identifier: Apache-2.0
/* Recognizes the first function of a program, a thread or a coroutine where call frame information
 * does not mark it.
 *
 * Three are known: the program's entry, from the ELF header; a call that returns straight into the
 * exit system call (a thread's start in musl's clone); and the return address that glibc's
 * makecontext() stores, which is the first instruction of a function that leaves the stack. A zero
 * frame pointer or return address proves nothing: an overwritten stack has zeros, too. On Darwin no
 * header or table names these functions, and both words are zero in the first frame of a thread or
 * program: there, both zeros together are the end.
 * Context: handler. */
#include "arch_x86_insn.h"
#include "base_bytes.h"
#include "unwind_step.h"

enum {
    ENTRY_CODE_BYTES = 64, /* of the program's _start, in bytes */
    CODE_BYTES = 32,       /* read after a thread's first call */
    END_INSNS_MAX = 5,
    E_ENTRY_AT = 24, /* gABI 4.1, Elf64_Ehdr */
};

/* System call numbers of exit. */
enum { X86_64_EXIT = 60, AARCH64_EXIT = 93 };

/* Read e_entry of the walker's image from the ELF header in memory. */
static bool find_start(const struct sonde__walker *walker, uint64_t *ret_start)
{
    static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
    uint8_t header[E_ENTRY_AT + 8];
    const struct sonde__image *image = walker->image;
    if (!sonde__walker_read(walker, image->start, header, sizeof header)) {
        return false;
    }
    for (unsigned i = 0; i < sizeof magic; i++) {
        if (header[i] != magic[i]) {
            return false;
        }
    }
    *ret_start = sonde__base_le(header + E_ENTRY_AT, 8) + image->bias;
    return true;
}

static bool is_in_start(const struct sonde__walker *walker, uint64_t pc)
{
    uint64_t start = 0;
    return find_start(walker, &start) && pc - 1 - start < ENTRY_CODE_BYTES;
}

/* Does this code only set registers and end the thread? */
static bool is_x86_64_end(const uint8_t *code)
{
    struct sonde__x86_insn insn;
    bool is_exit = false;
    size_t at = 0;
    for (unsigned i = 0;
         i < END_INSNS_MAX && sonde__arch_x86_insn(code + at, CODE_BYTES - at, &insn); i++) {
        uint8_t op = code[at];
        if (insn.kind == SONDE__X86_SYSCALL) {
            return is_exit;
        }
        if (insn.kind != SONDE__X86_OTHER ||
            (op != 0xb0 && op != 0xb8 && op != 0x31 && op != 0x89 && op != 0x48)) {
            return false; /* only mov and xor of registers */
        }
        is_exit |= (op == 0xb0 || op == 0xb8) && code[at + 1] == X86_64_EXIT;
        at += insn.length;
    }
    return false;
}

static bool is_aarch64_end(const uint8_t *code)
{
    bool is_exit = false;
    for (unsigned i = 0; i < END_INSNS_MAX; i++) {
        uint32_t insn = (uint32_t)sonde__base_le(code + (size_t)i * 4, 4);
        bool is_number = (insn & 0x7fe0001f) == 0x52800008;             /* mov x8 or w8, #value */
        bool is_set = is_number || (insn & 0x7fe00000) == 0x52800000 || /* mov of a value */
                      (insn & 0x7fe0ffe0) == 0x2a0003e0;                /* mov of a register */
        uint32_t value = insn >> 5 & 0xffff;
        if (insn == 0xd4000001) { /* svc #0 */
            return is_exit;
        }
        if (!is_set) {
            return false;
        }
        is_exit |= is_number && value == AARCH64_EXIT;
    }
    return false;
}

static bool is_thread_end(const struct sonde__walker *walker, uint64_t pc)
{
    uint8_t code[CODE_BYTES];
    return sonde__walker_read(walker, pc, code, sizeof code) &&
           (walker->arch == SONDE_ARCH_X86_64 ? is_x86_64_end(code) : is_aarch64_end(code));
}

/* Does the code at `pc` begin by leaving the stack, for another one or for good? glibc's
 * __start_context: on x86-64 mov %rbx,%rsp; on aarch64 nop, mov x0, x19 and cbnz x0. */
static bool leaves_stack(const struct sonde__walker *walker, uint64_t pc)
{
    uint8_t code[12];
    if (!sonde__walker_read(walker, pc, code, sizeof code)) {
        return false;
    }
    const uint8_t *first = sonde__base_le(code, 4) == 0xd503201f ? code + 4 : code;
    if (walker->arch == SONDE_ARCH_X86_64) {
        return code[0] == 0x48 && code[1] == 0x89 && (code[2] & 0xc7) == 0xc4; /* mov reg,%rsp */
    }
    return sonde__base_le(first, 4) == 0xaa1303e0 &&
           (sonde__base_le(first + 4, 4) & 0xff00001f) == 0xb5000000;
}

/* Is it a return address that no call made? A coroutine's first frame "returns" to the first
 * instruction of a function, and no record covers the byte before it. Further out on the
 * coroutine's stack there are no frames. */
static bool is_made_root(struct sonde__walker *walker, uint64_t pc)
{
    uint64_t start = 0, end = 0;
    sonde__walker_locate(walker, pc);
    return walker->image != NULL &&
           sonde__cfi_fde_bounds(&walker->image->cfi, walker->arch, pc - walker->image->bias,
                                 &start, &end) &&
           start == pc - walker->image->bias && leaves_stack(walker, pc);
}

bool sonde__step_is_start(struct sonde__walker *walker)
{
    uint64_t pc = sonde__frame_lookup_pc(&walker->frame);
    uint64_t begin = 0, end = 0, start = 0;
    sonde__walker_locate(walker, pc);
    const struct sonde__image *image = walker->image;
    if (image != NULL && image->encodings.info.data != NULL) {
        return walker->frame.fp_known && walker->frame.fp == 0;
    }
    return image != NULL && find_start(walker, &start) &&
           sonde__cfi_fde_bounds(&image->cfi, walker->arch, pc - image->bias, &begin, &end) &&
           start - image->bias == begin;
}

bool sonde__step_is_entry(struct sonde__walker *walker)
{
    uint64_t pc = walker->frame.pc;
    bool is_start = walker->image != NULL && is_in_start(walker, pc);
    return is_start || is_thread_end(walker, pc) || is_made_root(walker, pc);
}
