// SPDX-License-Identifier: Apache-2.0
/* Hooks of any function: a fixed table of thunks, one stub behind them, and the entry to the
 * recorder.
 *
 * A call of thunk i calls the recorder and then the target of hook i. The stub saves the argument
 * registers, asks sonde__probe_hook_enter() where to go, restores them and jumps there: the target
 * finds stack, return address and arguments as its caller left them. So values, exceptions, setjmp,
 * vfork and the caller's address are as without a hook, whatever the signature. Vector registers
 * are not saved because nothing behind the stub touches one (tools/vectorcheck.sh looks at the
 * linked code). No code is made at run time.
 *
 * Invariant: once a thunk was handed out, its hook's target and function never change. Thunks are
 * never unmapped or reused for another function. `on` decides whether a call is recorded.
 * Sources: psABI AMD64 1.0 §3.2.1 to §3.2.3; AAPCS64 §6.1, §6.8. Context: handler. */
#ifndef SONDE_PROBE_HOOK_H
#define SONDE_PROBE_HOOK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch_regs.h"

/* The longest lists in use have some 300 functions; one with several definitions takes several. 16
 * bytes of code and of table each. */
#define SONDE__PROBE_HOOKS 1024u

struct sonde__probe_hook { /* known to probe_thunks.S */
    _Atomic uint64_t target;
    _Atomic uint32_t on; /* 0: straight to the target */
    uint32_t function;   /* which function of the list this is, for the recorder */
};
extern struct sonde__probe_hook sonde__probe_hooks[SONDE__PROBE_HOOKS];

/* Called before each call; returns where to go on, normally the hook's target.
 * regs  the caller as it will be after the call: callee-saved registers, stack pointer and pc are
 *       known; argument registers are there without being known (sonde__probe_hook_argument()) */
typedef uint64_t sonde__probe_recorder(const struct sonde__probe_hook *hook,
                                       const struct sonde__regs *regs);

/* Null: none. */
void sonde__probe_hook_set_recorder(sonde__probe_recorder *recorder);

/* The address to call instead of the function of hook `index` < SONDE__PROBE_HOOKS. */
uint64_t sonde__probe_hook_thunk(uint32_t index);
/* False: `address` is not a thunk. */
bool sonde__probe_hook_index(uint64_t address, uint32_t *ret_index);
/* A function without arguments that returns the thunk's address: a resolver for a symbol of type
 * STT_GNU_IFUNC. */
uint64_t sonde__probe_hook_resolver(uint32_t index);
bool sonde__probe_hook_resolver_index(uint64_t address, uint32_t *ret_index);

/* General argument `index` of the call: of the x86-64 registers rdi, rsi, rdx, rcx, r8, r9, of
 * aarch64's x0 to x7, then words of the stack, which may hold something else. */
uint64_t sonde__probe_hook_argument(const struct sonde__regs *regs, unsigned index);

/* A recorder may return this address: then the call returns to its caller with regs->r[0] (rax, x0)
 * as the recorder set it. Not to be called. */
void sonde__probe_hook_answered(void);

/* Called by the stub. Returns the address to jump to. */
uint64_t sonde__probe_hook_enter(const struct sonde__probe_hook *hook,
                                 const struct sonde__regs *regs);

#endif
