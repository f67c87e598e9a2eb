// SPDX-License-Identifier: Apache-2.0
/* Layouts of the CPython structs that we read, by version: offsets of members by the headers of
 * each version on 64-bit Linux. From 3.13 on, the interpreter states them itself (_Py_DebugOffsets,
 * at the start of _PyRuntime). Context: any thread. */
#ifndef SONDE_PYTHON_LAYOUT_H
#define SONDE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum python_frames {
    /* 3.8 to 3.10: frame objects, linked by f_back; each has its own call of the loop */
    PYTHON_FRAME_OBJECTS,
    /* 3.11: each call of the loop has a _PyCFrame on the native stack, which points to its
     * innermost frame; is_entry marks its outermost one */
    PYTHON_ENTRY_FLAGS,
    /* 3.12 on: each call of the loop has its own frame on the native stack, which ends its run */
    PYTHON_ENTRY_FRAMES,
};

enum python_lines {
    PYTHON_LNOTAB,    /* up to 3.9: pairs of byte and line deltas */
    PYTHON_LINETABLE, /* 3.10: the same for ranges */
    PYTHON_LOCATIONS, /* 3.11 on: entries of several forms */
};

#define PYTHON_NO UINT16_MAX /* not in this version */

/* Longer texts are cut. No function written by people has a larger line table. */
#define PYTHON_TEXT_MAX  1024u
#define PYTHON_LINES_MAX 262144u

struct python_layout {
    uint8_t minor; /* 3.minor */
    uint8_t frames, lines;
    uint8_t lasti_shift; /* from an instruction index to bytes */
    uint16_t runtime_interpreters;
    uint16_t interp_next, interp_threads, interp_runtime, interp_gil;
    uint16_t gil_locked, gil_holder; /* in the runtime, or in the struct at interp_gil */
    uint16_t ts_bytes, ts_prev, ts_next, ts_interp, ts_thread_id, ts_native_id;
    uint16_t ts_cframe, ts_frame;
    uint16_t ts_top; /* top of the frame stack, followed by its limit; if there is ts_cframe */
    uint16_t cframe_current, cframe_previous;
    uint16_t frame_bytes, frame_previous, frame_code, frame_instr, frame_owner, frame_entry;
    uint16_t frame_lineno; /* of a frame object */
    uint16_t code_bytes, code_filename, code_name, code_qualname, code_linetable, code_firstline;
    uint16_t code_flags, code_start, code_first_traced;
    uint16_t text_state, text_length, text_ascii_bytes, text_compact_bytes;
    uint16_t text_kind_shift; /* bits in the state: 3 of kind, then compact, ascii */
    uint16_t bytes_size, bytes_start;
    uint16_t object_type, tuple_items;
    /* a coroutine's frame in its object (up to 3.10: a pointer to it, and back from the frame); in
     * _asyncio.Task the coroutine, then the name. PYTHON_NO: tasks are not searched */
    uint16_t coroutine_frame, frame_generator, task_coroutine;
    uint16_t interp_modules;
    /* the thread's running event loop (from 3.13 on), or a dict that has it */
    uint16_t ts_loop, ts_dict;
    /* 3.14: the thread's list of tasks, and the links in each Task */
    uint16_t ts_tasks, task_node;
};

/* The layout of 3.`minor`; null: unknown. */
const struct python_layout *sonde__python_layout_of(unsigned minor);

/* Bytes read of _Py_DebugOffsets. */
#define PYTHON_OFFSETS_BYTES 1024u
/* Does the runtime begin with a table of offsets? If so, get the version that it states
 * (PY_VERSION_HEX). */
bool sonde__python_states_offsets(const uint8_t *bytes, size_t size, uint32_t *ret_version);
/* Get the layout from the table, and members that it lacks from our own table. False: unknown
 * version, no global lock, or offsets out of bounds. */
bool sonde__python_layout_stated(const uint8_t *bytes, size_t size,
                                 struct python_layout *ret_layout);

#endif
