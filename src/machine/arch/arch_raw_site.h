// SPDX-License-Identifier: Apache-2.0
/* Diverts a system call in an image's code to a stub: which instructions before (or around) it are
 * replaced by one jump, and the code that runs in their place.
 *
 * The jump replaces whole consecutive instructions, of which only the first may be the target of a
 * branch. If they all come before the call, the call itself stays in place: a thread that
 * waits in it, restarts it or is captured there is at the original address. The call is moved only
 * if there is no room before it. Everything else is refused.
 *
 * x86-64: a system call writes rcx and r11 and reads neither, so the stub may use them. On aarch64
 * every site is refused. Sources: Intel SDM volume 2 (JMP, LEA, SYSCALL); psABI AMD64 1.0
 * §A.2.1. Context: handler; sans I/O. */
#ifndef SONDE_ARCH_RAW_SITE_H
#define SONDE_ARCH_RAW_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__raw_result {
    SONDE__RAW_PATCHED,
    SONDE__RAW_BRANCHES,        /* branches target instructions that would be replaced */
    SONDE__RAW_FIXED,           /* an instruction that would be replaced cannot be moved */
    SONDE__RAW_UNKNOWN_TARGETS, /* branch targets are unknown */
    SONDE__RAW_CODE,            /* the code could not be followed to the call */
    /* for the writer of the code */
    SONDE__RAW_REFUSED, /* its page cannot be written, or no memory can be allocated near it */
    SONDE__RAW_THREADS, /* other threads already ran when it was loaded */
    SONDE__RAW_STACKS,  /* its stacks may be too small for us (Go) */
};

/* Branch targets are known from this many bytes before a call on. */
enum { SONDE__RAW_REACH = 32 };
enum { SONDE__RAW_JUMP = 5 };

struct sonde__raw_plan {
    uint32_t start; /* offset of the jump in the function */
    uint32_t size;  /* of the instructions that are moved; at least SONDE__RAW_JUMP */
    bool is_before; /* the call itself stays in place */
};

/* Plan the change of a function. code: `size` bytes of it, from any instruction up to the next
 * function. call_at: offset of the call in code. targets: bit i: a branch of the image targets
 * call_at - SONDE__RAW_REACH + i. is_certain: there are no other branches (through tables, to
 * landing pads). ret_plan: written if it returns PATCHED. */
enum sonde__raw_result sonde__arch_raw_plan(unsigned arch, const uint8_t *code, size_t size,
                                            size_t call_at, uint64_t targets, bool is_certain,
                                            struct sonde__raw_plan *ret_plan);

/* Words before the generated code: the address after the call, the address where the stub resumes,
 * and the stub's address. The stub gets their address in rcx. */
struct sonde__raw_words {
    uint64_t call_end, resume, stub;
};
#define SONDE__RAW_BYTES 128u

/* Generate the words and the code after them, to be placed at `at`, and the jump to that code, to
 * be placed at function + plan->start. function: the address of `code`. False: the addresses are
 * too far apart. */
bool sonde__arch_raw_make(const struct sonde__raw_plan *plan, const uint8_t *code, size_t call_at,
                          uint64_t function, uint64_t at, uint64_t stub,
                          uint8_t ret_made[SONDE__RAW_BYTES], uint8_t ret_jump[SONDE__RAW_JUMP]);

#endif
