// SPDX-License-Identifier: Apache-2.0
/* Script frames of recorded calls: which functions of a Python program made a call. (Those of
 * JavaScript: record_v8.h.)
 *
 * The walk (python_own.h) gives pointers to code objects and instructions. At the first sight of a
 * code object its names and line table are copied, so they can be read after it is gone. A program
 * that makes functions anew gives them the same addresses: a code object that is freed is told by
 * the interpreter's own destructor for them, and its number is never used again. Frames are nodes
 * of the depot: a number of code, and a place in it. A recorded stack is then the native one and a
 * node that links to the innermost script frame.
 *
 * What cannot be read is counted by its reason, and the call has its native stack only. A thread's
 * last frames are kept: a call pays for reading and comparing all, and for interning new ones.
 *
 * The memory may be that of a hostile or damaged program when it is read: a reader trusts nothing.
 * Context: handler, unless said otherwise. */
#ifndef SONDE_RECORD_SCRIPT_H
#define SONDE_RECORD_SCRIPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "python_own.h"
#include "record.h"

#if defined(SONDE_FUZZING)
enum { SONDE__SCRIPT_CODES = 64, SONDE__SCRIPT_BYTES = 16384 };
#else
/* Large programs run some thousand functions, of 400 bytes each. */
enum { SONDE__SCRIPT_CODES = 16384, SONDE__SCRIPT_BYTES = 12 << 20 };
#endif
enum { SONDE__SCRIPT_LOOPS = 4 };

/* A copy of a part of memory; its bytes follow, up to a multiple of eight. */
struct sonde__script_piece {
    uint64_t address;
    uint64_t size;
};

/* A code object: its head, names, path and line table, one piece after the other. Of JavaScript:
 * the name of a function and its file, each with a 0 behind it. */
struct sonde__script_code {
    uint64_t address;
    uint32_t at, size; /* in `bytes` */
    _Atomic uint32_t is_complete;
};

/* Why a call has no script frames. */
enum sonde__script_reason {
    SONDE__SCRIPT_UNREADABLE = PYTHON_OWN_UNREADABLE,
    SONDE__SCRIPT_ENDLESS = PYTHON_OWN_ENDLESS,
    SONDE__SCRIPT_UNFIT = PYTHON_OWN_UNFIT,
    SONDE__SCRIPT_ENTERS = PYTHON_OWN_ENTERS,
    SONDE__SCRIPT_NO_CODE, /* a code object cannot be read */
    SONDE__SCRIPT_FULL,    /* no room for code or frames */
    SONDE__SCRIPT_BUSY,    /* made by a handler within a recorded call, or more than 256 threads */
    SONDE__SCRIPT_REASONS,
};

enum sonde__script_set { SONDE__SCRIPT_UNSET, SONDE__SCRIPT_PYTHON, SONDE__SCRIPT_JAVASCRIPT };

/* Shared with the reader. */
struct sonde__script_page {
    /* What the reader needs of the interpreter; written before `is_set`: enum sonde__script_set */
    _Atomic uint32_t is_set;
    uint32_t version, loop_count;
    uint64_t runtime; /* address of _PyRuntime; JavaScript: of something in V8's image */
    uint64_t code_type, text_type, bytes_type;
    struct {
        uint64_t start, end;
    } loops[SONDE__SCRIPT_LOOPS];
    uint8_t offsets[PYTHON_OFFSETS_BYTES];           /* a copy of its first bytes */
    _Atomic uint64_t missing[SONDE__SCRIPT_REASONS]; /* calls */
    char unread[64]; /* why no interpreter is read, if one was found; its last byte stays 0 */
    _Atomic uint32_t code_count, bytes_used;
    struct sonde__script_code codes[SONDE__SCRIPT_CODES];
    uint8_t bytes[SONDE__SCRIPT_BYTES];
};

/* How to read frames in this process. The functions may be called in a handler. */
struct sonde__script_way {
    struct python_layout layout;
    uint64_t (*state)(void);   /* of the calling thread, if it is known to the interpreter */
    uint64_t (*current)(void); /* of the thread that holds the lock; null: reads are copies */
    uint64_t code_type, text_type, bytes_type;
};

/* Begin to read frames. page: of `sonde__record_script`'s calls. False: no memory. Context:
 * start-up, once */
bool sonde__record_script_begin(const struct sonde__script_way *way);
/* Another page is used from now on: what is known of code is forgotten. */
void sonde__record_script_restart(void);
/* A code object is being freed. Context: any thread */
void sonde__record_script_free(uint64_t code);

/* The node of a call that has this native stack, with the calling thread's script frames; the same
 * node if it has none. */
uint32_t sonde__record_script_stack(struct sonde__record *record, struct sonde__script_page *page,
                                    uint32_t native);

/* Reserve `size` bytes of the page. False: there is no room. */
bool sonde__record_script_reserve(struct sonde__script_page *page, uint64_t size, uint32_t *ret_at);

/* --- for readers of a depot --- */

struct sonde__script_frame_read {
    uint32_t code;  /* its number; UINT32_MAX: a call of the loop that runs no frame */
    uint8_t flags;  /* PYTHON_OWN_ */
    uint64_t at;    /* python_own.h; JavaScript: a line; 0: unknown */
    uint32_t delta; /* JavaScript: frames of the native stack from that of the last one further out,
                       or from its end */
};
enum { SONDE__SCRIPT_DELTA_MAX = 511 };
/* Read the script frames of a stack, innermost first. Returns their number; 0: it has none, or they
 * contradict themselves. */
uint32_t sonde__record_script_frames(const struct sonde__depot *depot, uint32_t id,
                                     struct sonde__script_frame_read *ret_frames, uint32_t capacity,
                                     bool *ret_is_switched);

#endif
