// SPDX-License-Identifier: Apache-2.0
/* Where CPython keeps what a stack is made of, by version: offsets of members, as the headers of
 * each version give them on 64-bit Linux; from 3.13 on the interpreter itself states them
 * (_Py_DebugOffsets, at the start of _PyRuntime). Context: any thread. */
#ifndef SONDE_PYTHON_LAYOUT_H
#define SONDE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum python_frames {
    /* 3.8 to 3.10: frame objects, linked by f_back; each is run by a call of the loop of its own */
    PYTHON_FRAME_OBJECTS,
    /* 3.11: each call of the loop has a _PyCFrame on the native stack, which leads to its innermost
     * frame; is_entry marks its outermost one */
    PYTHON_ENTRY_FLAGS,
    /* 3.12 on: each call of the loop has a frame of its own on the native stack, which ends its run
     */
    PYTHON_ENTRY_FRAMES,
};

enum python_lines {
    PYTHON_LNOTAB,    /* to 3.9: pairs of differences, of bytes and of lines */
    PYTHON_LINETABLE, /* 3.10: the same, by ranges */
    PYTHON_LOCATIONS, /* 3.11 on: entries of several forms */
};

#define PYTHON_NO UINT16_MAX /* this version has no such member */

struct python_layout {
    uint8_t minor; /* of version 3 */
    uint8_t frames, lines;
    uint8_t lasti_shift; /* of the index of an instruction, to bytes */
    uint16_t runtime_interpreters;
    uint16_t interp_next, interp_threads, interp_runtime, interp_gil;
    uint16_t gil_locked, gil_holder; /* in the runtime, or in what interp_gil points to */
    uint16_t ts_bytes, ts_prev, ts_next, ts_interp, ts_thread_id, ts_native_id;
    uint16_t ts_cframe, ts_frame;
    uint16_t ts_top; /* of the stack of frames, and then its limit; where ts_cframe is */
    uint16_t cframe_current, cframe_previous;
    uint16_t frame_bytes, frame_previous, frame_code, frame_instr, frame_owner, frame_entry;
    uint16_t frame_lineno; /* of a frame object */
    uint16_t code_bytes, code_filename, code_name, code_qualname, code_linetable, code_firstline;
    uint16_t code_flags, code_start, code_first_traced;
    uint16_t text_state, text_length, text_ascii_bytes, text_compact_bytes;
    uint16_t text_kind_shift; /* in the state: 3 bits kind, then compact, ascii */
    uint16_t bytes_size, bytes_start;
    uint16_t object_type;
    /* a coroutine's frame in its object; a Task of _asyncio: its coroutine, then its name.
     * PYTHON_NO: tasks are not looked for */
    uint16_t coroutine_frame, task_coroutine;
};

/* Null: none is known for 3.`minor`. */
const struct python_layout *python_layout_of(unsigned minor);

/* Bytes of _Py_DebugOffsets that are looked at. */
#define PYTHON_OFFSETS_BYTES 1024u
/* Does the runtime begin with a table of offsets? Then which version it states (PY_VERSION_HEX). */
bool python_states_offsets(const uint8_t *bytes, size_t size, uint32_t *ret_version);
/* The layout as the table says, with what it does not say from the version's own. False: the
 * version is not known, it has no global lock, or offsets are out of bounds. */
bool python_layout_stated(const uint8_t *bytes, size_t size, struct python_layout *ret_layout);

#endif
