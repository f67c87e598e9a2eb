// SPDX-License-Identifier: Apache-2.0
/* A thread's registers, for either architecture, in DWARF numbering, with a mask of the known ones.
 *
 * Both architectures are compiled and tested on every host: only SONDE__ARCH_HOST depends on the
 * host. Sources: System V ABI AMD64 psABI 1.0 §3.6.2 figure 3.36; DWARF for the Arm 64-bit
 * Architecture (aadwarf64) §4.1. Context: handler. */
#ifndef SONDE_ARCH_REGS_H
#define SONDE_ARCH_REGS_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/arch.h>

#if defined(__x86_64__)
#    define SONDE__ARCH_HOST SONDE_ARCH_X86_64
#elif defined(__aarch64__)
#    define SONDE__ARCH_HOST SONDE_ARCH_AARCH64
#else
#    error "sonde knows x86-64 and aarch64"
#endif

/* x86-64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8..15 r8..r15, 16 return address.
 * aarch64: 0..30 x0..x30 (29 fp, 30 lr), 31 sp, 34 RA_SIGN_STATE. */
#define SONDE__REG_COUNT 35

#define SONDE__X86_64_RBX 3
#define SONDE__X86_64_RBP 6
#define SONDE__X86_64_RSP 7
#define SONDE__X86_64_RA  16
#define SONDE__AARCH64_FP 29
#define SONDE__AARCH64_LR 30
#define SONDE__AARCH64_SP 31

struct sonde__regs {
    uint64_t r[SONDE__REG_COUNT]; /* by DWARF number */
    uint64_t pc;
    uint64_t known; /* bit n: r[n] holds the thread's value */
    uint8_t arch;   /* enum sonde_arch; never OTHER */
};

static inline unsigned sonde__arch_sp(unsigned arch)
{
    return arch == SONDE_ARCH_X86_64 ? SONDE__X86_64_RSP : SONDE__AARCH64_SP;
}

static inline unsigned sonde__arch_fp(unsigned arch)
{
    return arch == SONDE_ARCH_X86_64 ? SONDE__X86_64_RBP : SONDE__AARCH64_FP;
}

static inline bool sonde__regs_known(const struct sonde__regs *regs, unsigned reg)
{
    return reg < SONDE__REG_COUNT && (regs->known >> reg & 1) != 0;
}

static inline void sonde__regs_set(struct sonde__regs *regs, unsigned reg, uint64_t value)
{
    regs->r[reg] = value;
    regs->known |= (uint64_t)1 << reg;
}

/* The caller's stack pointer after a step over the frame record at `record`, which saves the frame
 * pointer `saved`. x86-64: directly above the record, by the ABI. aarch64: the record may be
 * anywhere in its frame (AAPCS64 §6.4.6); compilers that describe a frame by sp put it at the
 * bottom, so the caller's sp is its frame pointer. */
static inline uint64_t sonde__arch_sp_after_frame_record(unsigned arch, uint64_t record,
                                                         uint64_t saved)
{
    uint64_t above = record + 16;
    return arch == SONDE_ARCH_X86_64 || saved < above ? above : saved;
}

/* Strip a pointer-authentication code from a code address: user addresses of Linux and Darwin have
 * their top bits clear. x86-64: nothing is stripped. */
uint64_t sonde__arch_strip_pac(unsigned arch, uint64_t pc);

/* Could `pc` be a return address, just after a call? `code`: the `size` bytes before pc (at most 8;
 * fewer if unreadable). If true, *ret_target is the direct target, or 0 for an indirect call. */
bool sonde__arch_is_call_before(unsigned arch, uint64_t pc, const uint8_t *code, unsigned size,
                                uint64_t *ret_target);

/* Is `pc` a PLT stub, which jumps to the address in a slot? `code`: `size` bytes from pc on. If
 * true, *ret_slot is the slot's address. */
bool sonde__arch_stub_slot(unsigned arch, uint64_t pc, const uint8_t *code, unsigned size,
                           uint64_t *ret_slot);

/* "x86_64", "aarch64". */
const char *sonde__arch_name(unsigned arch);

/* Name of a register ("rbp", "x29"), or null. */
const char *sonde__arch_reg_name(unsigned arch, unsigned reg);

#endif
