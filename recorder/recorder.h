// SPDX-License-Identifier: Apache-2.0
/* The recorder in an unmodified program (`sonde run --record`): state shared by its files.
 *
 * Invariant: creates no thread, keeps no descriptor, writes no output, changes no errno; leaves the
 * environment as it would be without it. A fork child records nothing (page.h). */
#ifndef SONDE_RECORDER_H
#define SONDE_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "arch_syscall.h"
#include "hook.h"
#include "hook_raw.h"
#include "page.h"
#include "probe_hook.h"
#include "record_page.h"
#include "registry_call.h"

/* hook->function of the thunks of enum sonde__record_event: this and the event. */
#define RECORDER_EVENT_FUNCTION 0x10000u
#define RECORDER_FIRST_EVENT    (SONDE__PROBE_HOOKS - SONDE__RECORD_EVENTS)

extern struct sonde__record_page *recorder_page;
extern struct sonde__record *recorder_record;
extern struct sonde__hooks *recorder_hooks;

/* ThreadSanitizer's runtime, where the program has it: what it has put before libc's functions
 * works only from then on, and it would begin behind us. */
void __tsan_init(void) __attribute__((weak)); /* NOLINT: its name */

/* early.c: before any call of ours to libc. Where the loader has bound it to one of our own names,
 * it is bound to what it would be without them. */
void recorder_bind_own_calls(void);

/* call.c: every call of a thunk. Context: handler. */
uint64_t recorder_call(const struct sonde__probe_hook *hook, const struct sonde__regs *regs);

/* numbers.c: system calls of the list, by number. */
struct recorder_numbers {
    uint32_t syscall_function; /* libc's syscall(); UINT32_MAX: it is not asked for its number */
    bool is_syscall_listed;
    uint16_t functions[SONDE__ARCH_SYSCALLS]; /* index in the list, + 1; 0: not listed */
};
extern struct recorder_numbers recorder_numbers;
void recorder_start_numbers(void);
/* The same for the calls that the program makes itself, where they shall be recorded. */
void recorder_start_raw(void);
void recorder_log_site(const char *module, uint64_t vaddr, enum sonde__raw_result result);
/* A call of syscall(). False: it is not to be counted as such. Context: handler. */
bool recorder_count_syscall(const struct sonde__regs *regs);

/* events.c: one of the functions that load and unload code is called. Returns where to go on.
 * Context: as that function: any thread, not handler. */
uint64_t recorder_event(const struct sonde__probe_hook *hook, const struct sonde__regs *regs);

/* Images that came, or went, since the last time; then the slots of those that came. */
void recorder_look_at_images(void);

/* methods.c: one of the functions of Objective-C's runtime is called that load classes and find
 * methods; and methods of the list whose classes are there by now. */
void recorder_method_event(enum sonde__record_event event, const struct sonde__regs *regs);
/* False: another thread does it. */
bool recorder_look_for_methods(void);
/* The thread for which the runtime works for us, by the address of its recorder_self: what it calls
 * then is not the program's call. 0: none. */
extern _Atomic uint64_t recorder_own_thread;
extern __thread char recorder_self;

/* blocks.c: the registry of blocks, if there is one (`sonde run --blocks`): then all calls are for
 * it. memory: of the page's registry_lines */
extern struct sonde__registry_calls recorder_blocks;
void recorder_start_blocks(void *memory);

/* images.c: what the page says of images and of blind spots. One thread at a time. */
void recorder_log_images(void);
void recorder_log_blinds(void);

/* The program's own dlsym(), which no call of ours reaches by its name. */
extern void *(*recorder_dlsym)(void *handle, const char *name);

#endif
