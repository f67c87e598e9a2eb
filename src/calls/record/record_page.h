// SPDX-License-Identifier: Apache-2.0
/* Shared by `sonde run --record` and the program: what to record, the log of images, blind spots.
 * The record itself (record.h) lies behind it.
 *
 * Invariant: `functions`, `names` and `when` are written before the program starts; everything else
 * only by the program, each entry before the count that covers it. Both sides may die at any
 * instant. The layout is private to one build. A reader trusts nothing: offsets are into `text`,
 * whose last byte stays 0. Context: handler. */
#ifndef SONDE_RECORD_PAGE_H
#define SONDE_RECORD_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#include "record.h"
#include "record_images.h"
#include "record_kept.h"
#include "record_script.h"
#include "when.h"

#define SONDE__RECORD_PAGE_VERSION 13u

/* Functions that the recorder always hooks: those that load and unload code, create a process or
 * execute a program; those that find methods only if methods are listed.
 */
enum sonde__record_event {
    SONDE__RECORD_DLOPEN,
    SONDE__RECORD_DLMOPEN,
    SONDE__RECORD_DLCLOSE,
    SONDE__RECORD_DLSYM,
    SONDE__RECORD_DLVSYM,
    SONDE__RECORD_PRCTL, /* may limit the system calls of the program */
    /* of the runtime of Objective-C */
    SONDE__RECORD_OBJC_LOAD,
    SONDE__RECORD_OBJC_LOOKUP,
    SONDE__RECORD_OBJC_LOOKUP_SUPER,
    SONDE__RECORD_SYSCALL, /* one of those below, chosen by its number, or none */
    SONDE__RECORD_CLONE,
    SONDE__RECORD_FORK, /* and what follows */
    SONDE__RECORD_EXEC = SONDE__RECORD_FORK + 9,
    SONDE__RECORD_EVENTS = SONDE__RECORD_EXEC + 9,
};
#define SONDE__RECORD_EVENT_NAMES                                                                  \
    {                                                                                              \
        "dlopen", "dlmopen", "dlclose", "dlsym", "dlvsym", "prctl", "__objc_exec_class",           \
            "objc_msg_lookup", "objc_msg_lookup_super", "syscall", "clone", "fork", "_Fork",       \
            "vfork", "posix_spawn", "posix_spawnp", "system", "popen", "daemon", "forkpty",        \
            "execve", "execv", "execvp", "execvpe", "execl", "execle", "execlp", "fexecve",        \
            "execveat",                                                                            \
    }
/* Functions of a list. A function with several definitions takes several thunks. */
#define SONDE__RECORD_FUNCTIONS 512u

enum { SONDE__RECORD_CLASS_BYTES = 64 };

struct sonde__record_function {
    uint32_t name;           /* offset in `names` */
    _Atomic uint32_t method; /* 1 + enum sonde__hook_method_state; 0: not a method, or not asked */
    uint32_t number;         /* of a system call, + 1; 0: it is none */
    _Atomic uint32_t overriders; /* of a method: subclasses with one of their own, which is not
                                    hooked */
    char overrider[SONDE__RECORD_CLASS_BYTES]; /* one of them; its last byte stays 0 */
};

struct sonde__record_blind {
    uint32_t module;   /* offset in `text`; UINT32_MAX: none */
    uint32_t function; /* index; UINT32_MAX: any */
    uint32_t reason;   /* enum sonde__hook_reason */
};

/* A system call that a module makes itself. */
struct sonde__record_site {
    uint32_t module; /* offset in `text` */
    uint32_t result; /* enum sonde__raw_result */
    uint64_t vaddr;
};

/* When the first and the last call that exceeded a limit were made; 0: none was. */
struct sonde__record_exceeded {
    _Atomic uint64_t first_ns, last_ns; /* of the monotonic clock */
};

enum sonde__record_state {
    SONDE__RECORD_NOT_STARTED, /* the library was not loaded, or is of another build */
    SONDE__RECORD_RUNS,
    SONDE__RECORD_FAILED, /* no memory */
};

/* A fuzzer tries few inputs that fill a page of full size: a hostile count costs milliseconds. */
#if defined(SONDE_FUZZING)
enum { SONDE__RECORD_IMAGES = 32, SONDE__RECORD_BLIND_SPOTS = 64, SONDE__RECORD_SITES = 32 };
enum { SONDE__RECORD_NAME_BYTES = 4096, SONDE__RECORD_TEXT_BYTES = 16384 };
#else
enum { SONDE__RECORD_IMAGES = 2048, SONDE__RECORD_BLIND_SPOTS = 8192, SONDE__RECORD_SITES = 4096 };
enum { SONDE__RECORD_NAME_BYTES = 131072, SONDE__RECORD_TEXT_BYTES = 524288 };
#endif

struct sonde__record_page {
    /* What identifies the record comes first. */
    uint32_t version;
    uint32_t nodes; /* of the depot */
    uint32_t function_count;
    _Atomic uint32_t state;
    uint32_t registry_lines;   /* of a registry of blocks (registry.h) behind the record; 0: none */
    uint32_t syscall_function; /* the index of libc's syscall(), + 1; 0: no system call is listed */
    uint32_t is_syscall_listed; /* it is also recorded itself */
    uint32_t patches_raw;       /* 1: record system calls that code makes itself */
    uint32_t keeps_seen;        /* 1: for rules: when calls are made, and by which threads */
    uint32_t
        is_member;  /* 1: of another process than the first; its phases are those of the first */
    int32_t run_fd; /* of the first process' memory, in the supervisor */
    uint64_t
        family_at; /* record_family.h: from this page, in the first process' memory; 0: nowhere */
    /* What recording costs, measured for some of the calls: how many were measured, the calls that
     * they stand for, the time of these, and how many measurements were not used. */
    _Atomic uint64_t cost_samples, cost_calls, cost_ns, cost_left_out;
    _Atomic uint64_t children, execs, spaces; /* creating or replacing a process, dlmopen() */
    _Atomic uint64_t unread; /* calls that a condition left out because it could not read a text */
    struct sonde__record_exceeded exceeded[SONDE__WHEN_LIMITS]; /* by the index of a limit */
    _Atomic uint32_t site_count, sites_lost;
    uint64_t own_start, own_end; /* the recorder's code: frames of it are left out */
    _Atomic uint32_t image_count, images_lost;
    _Atomic uint32_t is_confined; /* 1: it limits its system calls (seccomp) */
    _Atomic uint32_t blind_count, blind_spots_lost;
    uint32_t text_used;
    struct sonde__record_phases phases;
    struct sonde__record_function functions[SONDE__RECORD_FUNCTIONS];
    struct sonde__record_image images[SONDE__RECORD_IMAGES];
    struct sonde__record_blind blind_spots[SONDE__RECORD_BLIND_SPOTS];
    struct sonde__record_site sites[SONDE__RECORD_SITES];
    struct sonde__when when; /* conditions: calls then count with the labels that they say */
    char names[SONDE__RECORD_NAME_BYTES];
    char text[SONDE__RECORD_TEXT_BYTES];
    struct sonde__kept kept; /* arguments: of an entry of `when` its first to last keep, from 0 */
    struct sonde__script_page script; /* functions of Python that made the calls */
};

_Static_assert(SONDE__RECORD_FUNCTIONS == SONDE__WHEN_FUNCTIONS, "when.h");

/* Where the record begins behind the page. */
#define SONDE__RECORD_OFFSET ((sizeof(struct sonde__record_page) + 65535u) / 65536u * 65536u)

#endif
