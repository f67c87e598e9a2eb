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
#define RECORDER_EVENT_FUNCTION SONDE__RECORD_FUNCTIONS
#define RECORDER_NONE           UINT32_MAX

/* --- state.c --- */

extern struct sonde__record_page *recorder_page;
extern struct sonde__record *recorder_record;
extern struct sonde__hooks *recorder_hooks;
/* Index in the list of a function that is an event, too; or RECORDER_NONE. */
extern uint32_t recorder_listed_events[SONDE__RECORD_EVENTS];
/* Not 0: the thread works for us; what it calls then is not the program's call. */
extern __thread uint32_t recorder_busy;

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

/* events.c: one of the functions of enum sonde__record_event is called. Returns its index in the
 * list, where it is listed as well; or RECORDER_NONE. Context: as that function: any thread. */
uint32_t recorder_event(enum sonde__record_event event, const struct sonde__regs *regs);

/* Images that came, or went, since the last time; then the slots of those that came. */
void recorder_inspect_images(void);

/* methods.c: one of the functions of Objective-C's runtime is called that load classes and find
 * methods; and methods of the list whose classes are there by now. */
void recorder_method_event(enum sonde__record_event event, const struct sonde__regs *regs);
/* False: another thread does it. */
bool recorder_look_for_methods(void);

/* blocks.c: the registry of blocks, if there is one (`sonde run --blocks`): then all calls are for
 * it. memory: of the page's registry_lines */
extern struct sonde__registry_calls recorder_blocks;
void recorder_start_blocks(void *memory);

/* images.c: what the page says of images and of blind spots. One thread at a time. */
void recorder_log_images(void);
void recorder_log_blind_spots(void);

#endif
