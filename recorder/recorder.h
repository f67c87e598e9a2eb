// SPDX-License-Identifier: Apache-2.0
/* State shared by the files of the recorder, which runs in an unmodified program
 * (`sonde run --record`).
 *
 * Invariant: it creates no thread, keeps no descriptor, writes no output, preserves errno, and
 * restores the environment. A fork child records nothing (page.h), or into a place of its own
 * (family.h). A wild write of the program to
 * the shared memory makes what is recorded wrong, and nothing else: no address, offset or bound is
 * taken from it after the start. */
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

/* hook->function of the thunks for enum sonde__record_event is this plus the event. */
#define RECORDER_EVENT_FUNCTION SONDE__RECORD_FUNCTIONS
#define RECORDER_NONE           UINT32_MAX

/* --- state.c --- */

extern struct sonde__record_page *recorder_page;
extern struct sonde__record *recorder_record;
extern struct sonde__record_phases *recorder_phases; /* of the page, or of the first process */
extern struct sonde__hooks *recorder_hooks;
/* Called when the loaded objects were looked through; null: nothing. One thread at a time. */
extern void (*recorder_swept)(void);
/* The functions of the list, copied at the start. */
extern uint32_t recorder_name_count;
extern const char *recorder_names[SONDE__RECORD_FUNCTIONS];
/* List index of a function that is also an event, or RECORDER_NONE. */
extern uint32_t recorder_listed_events[SONDE__RECORD_EVENTS];
/* Not 0: the thread runs recorder code, whose calls do not count. */
extern __thread uint32_t recorder_busy;

/* A checked copy of the page's conditions. */
extern struct sonde__when recorder_when;

/* A call to count: of a function of the list, at its thunk. */
enum recorder_way {
    RECORDER_BY_NAME,
    RECORDER_BY_NUMBER,    /* through libc's syscall(), whose first argument is the number */
    RECORDER_RAW,          /* a system call at its patched site */
    RECORDER_RAW_STRANGER, /* of a thread that may share its thread-local variables */
};
/* count.c: count a call for all that conditions and rules say. Context: handler. */
void recorder_count(const struct sonde__regs *regs, uint32_t function, enum recorder_way way);

/* take.c: use this memory, whose functions, names and conditions are set. False: no memory.
 * Context: handler. */
bool recorder_take(struct sonde__record_page *page, void *record);
/* Children are recorded, too (family.h): what to do in a fork child, which has no page. It takes a
 * place, and records into it from then on. False: there is none, and will be none. Preserves errno.
 * Context: handler. Null: nothing. */
extern bool (*recorder_join)(void);
/* Instead of libc's function that executes a program or forks; null, or an element is: none.
 * `target` is what the caller would call. */
extern uint64_t (*recorder_redirect)(enum sonde__record_event event, uint64_t target);
/* begin.c: copy the conditions, which the program can write, and check the copy. False: they are
 * damaged. */
bool recorder_take_conditions(void);
/* Hook the functions and record; flags: of sonde__hook_start(), whose status it returns. */
enum sonde_status recorder_begin(uint32_t flags);

/* call.c: every call of a thunk. Context: handler. */
uint64_t recorder_call(const struct sonde__probe_hook *hook, const struct sonde__regs *regs);

/* cost.c: what recording costs (cost.h). */
extern uint64_t recorder_clock_ns; /* what reading the clock twice costs */
void recorder_start_cost(void);

/* numbers.c: system calls of the list, by number. */
struct recorder_numbers {
    uint32_t syscall_function; /* libc's syscall(); UINT32_MAX: its numbers are not checked */
    bool is_syscall_listed;
    uint16_t functions[SONDE__ARCH_SYSCALLS]; /* index in the list, + 1; 0: not listed */
};
extern struct recorder_numbers recorder_numbers;
void recorder_start_numbers(void);
/* Also record system calls that code makes directly, if requested. */
void recorder_start_raw(void);
void recorder_log_site(const char *module, uint64_t vaddr, enum sonde__raw_result result);
/* A call of syscall(). False: do not count it as a call of that function. Context: handler. */
bool recorder_count_syscall(const struct sonde__regs *regs);

/* events.c: called for a call of a function of enum sonde__record_event. Returns its list index, or
 * RECORDER_NONE if it is not listed. Context: that of the function, any thread. */
uint32_t recorder_event(enum sonde__record_event event, const struct sonde__regs *regs);

/* The port's: does a call of such a function create a process or execute a program? Where that
 * depends on its arguments. *event: SONDE__RECORD_SYSCALL becomes what it does. */
bool recorder_is_of_process(enum sonde__record_event *event, const struct sonde__regs *regs);

/* The port's: does the call limit the system calls of the process? Then those of ours end that the
 * program would not make itself. Context: handler. */
void recorder_see_limits(enum sonde__record_event event, const struct sonde__regs *regs);
bool recorder_is_confined(void);

/* In a fork child with one thread: forget who was inside. */
void recorder_release_events(void);

/* Log images loaded or unloaded since the last time, and hook the new ones. */
void recorder_inspect_images(void);
/* Do so once more, then hook nothing any more. */
void recorder_end(void);

/* methods.c: called for a call of an Objective-C runtime function that loads classes or finds
 * methods. */
void recorder_method_event(enum sonde__record_event event, const struct sonde__regs *regs);
/* Hook the listed methods whose classes are loaded by now. False: no methods, or another thread
 * does it. */
bool recorder_look_for_methods(void);
/* Look no more. */
void recorder_end_methods(void);

/* blocks.c: the registry of blocks (`sonde run --blocks`); if it runs, it gets all calls. memory:
 * for the registry_lines of the page */
extern struct sonde__registry_calls recorder_blocks;
void recorder_start_blocks(void *memory);

/* images.c: write images and blind spots to the page. One thread at a time. */
void recorder_log_images(void);
void recorder_log_blind_spots(void);
/* In a fork child: copy the log of its parent to the page, which is new. Context: handler. */
void recorder_continue_log(const struct sonde__record_page *from);

/* The port's script.c: if there is an interpreter of scripts by now, let recorded calls have their
 * functions (record_script.h). One thread at a time. */
void recorder_look_for_script(void);
/* Linux only: v8.c, called by it; interpreter.c. */
void recorder_look_for_v8(void);
struct sonde__elf;
struct sonde__image;
struct sonde__image_set;
typedef enum sonde_status recorder_read(const struct sonde__elf *elf, uint64_t bias, void *ret,
                                        struct sonde_error *error);
/* Read the file of an image, if it is still the same. */
enum sonde_status recorder_read_image(const struct sonde__image *image, recorder_read *read,
                                      void *ret, struct sonde_error *error);
const struct sonde__image *recorder_image_of(const struct sonde__image_set *images,
                                             uint64_t address);
/* Why functions of an interpreter that was found are not read. */
void recorder_refuse_script(const char *why);
/* Restore what was changed in it. */
void recorder_end_script(void);

/* phase.c, only in an unmodified program: find the copies of libsonde that are loaded, and have
 * their phases told. */
void recorder_find_phases(void);

#endif
