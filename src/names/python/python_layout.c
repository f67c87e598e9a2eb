// SPDX-License-Identifier: Apache-2.0
/* Sources of the tables: offsetof() with the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.2, 3.12.1 and
 * 3.13.0 and 3.14.10; the offsets that 3.13 and 3.14 state, and their order
 * (Include/internal/pycore_runtime.h, pycore_debug_offsets.h); Modules/_asynciomodule.c. */
#include "python_layout.h"

#include "base_bytes.h"
#include "base_mem.h"

/* What all versions up to 3.12 have in common. */
#define UP_TO_12                                                                                   \
    .interp_next = 0, .ts_prev = 0, .ts_next = 8, .ts_interp = 16, .text_state = 32,               \
    .text_length = 16, .text_kind_shift = 2, .bytes_size = 16, .bytes_start = 32,                  \
    .object_type = 8, .tuple_items = 24, .ts_tasks = PYTHON_NO

/* 3.8 to 3.10: frames are objects. */
#define UP_TO_10                                                                                   \
    UP_TO_12,                                                                                      \
        .frames = PYTHON_FRAME_OBJECTS, .runtime_interpreters = 32, .interp_threads = 8,           \
        .interp_gil = PYTHON_NO, .ts_bytes = 184, .ts_thread_id = 176, .ts_native_id = PYTHON_NO,  \
        .ts_cframe = PYTHON_NO, .ts_frame = 24, .frame_bytes = 112, .frame_previous = 24,          \
        .frame_code = 32, .frame_owner = PYTHON_NO, .frame_entry = PYTHON_NO, .code_bytes = 128,   \
        .code_filename = 104, .code_name = 112, .code_qualname = PYTHON_NO, .code_linetable = 120, \
        .code_firstline = 40, .code_flags = 36, .code_start = PYTHON_NO,                           \
        .code_first_traced = PYTHON_NO, .text_ascii_bytes = 48, .text_compact_bytes = 72,          \
        .coroutine_frame = 16, .ts_dict = 152, .ts_loop = PYTHON_NO

/* 3.11 and 3.12: frames are entries of a stack of their own. */
#define FROM_11                                                                                    \
    UP_TO_12, .lines = PYTHON_LOCATIONS, .runtime_interpreters = 40, .ts_cframe = 56,              \
              .ts_frame = PYTHON_NO, .frame_bytes = 72, .frame_instr = 56,                         \
              .frame_lineno = PYTHON_NO, .code_filename = 112, .code_name = 120,                   \
              .code_qualname = 128, .code_linetable = 136, .code_flags = 48,                       \
              .task_coroutine = 136, .ts_loop = PYTHON_NO

static const struct python_layout layouts[] = {
    {UP_TO_10, .minor = 8, .lines = PYTHON_LNOTAB, .interp_runtime = PYTHON_NO, .gil_locked = 1168,
     .gil_holder = 1160, .frame_instr = 104, .frame_lineno = PYTHON_NO, .interp_modules = 56,
     .frame_generator = 96, .task_coroutine = 112},
    {UP_TO_10, .minor = 9, .lines = PYTHON_LNOTAB, .interp_runtime = 16, .gil_locked = 368,
     .gil_holder = 360, .frame_instr = 104, .frame_lineno = PYTHON_NO, .interp_modules = 856,
     .frame_generator = 96, .task_coroutine = 152},
    {UP_TO_10, .minor = 10, .lines = PYTHON_LINETABLE, .lasti_shift = 1, .interp_runtime = 16,
     .gil_locked = 368, .gil_holder = 360, .frame_instr = 96, .frame_lineno = 100,
     .interp_modules = 856, .frame_generator = 88, .task_coroutine = 160},
    {FROM_11,
     .minor = 11,
     .ts_dict = 128,
     .interp_modules = 888,
     .frames = PYTHON_ENTRY_FLAGS,
     .interp_threads = 16,
     .interp_runtime = 40,
     .interp_gil = PYTHON_NO,
     .gil_locked = 376,
     .gil_holder = 368,
     .ts_bytes = 360,
     .ts_thread_id = 152,
     .ts_native_id = 160,
     .ts_top = 304,
     .cframe_current = 8,
     .cframe_previous = 16,
     .frame_previous = 48,
     .frame_code = 32,
     .frame_owner = 69,
     .frame_entry = 68,
     .code_bytes = 184,
     .code_firstline = 72,
     .code_start = 184,
     .code_first_traced = 168,
     .text_ascii_bytes = 48,
     .text_compact_bytes = 72,
     .coroutine_frame = 80},
    {FROM_11,
     .minor = 12,
     .ts_dict = 112,
     .interp_modules = 944,
     .frames = PYTHON_ENTRY_FRAMES,
     .interp_threads = 72,
     .interp_runtime = 96,
     .interp_gil = 384,
     .gil_locked = 16,
     .gil_holder = 8,
     .ts_bytes = 288,
     .ts_thread_id = 136,
     .ts_native_id = 144,
     .ts_top = 240,
     .cframe_current = 0,
     .cframe_previous = 8,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_owner = 70,
     .frame_entry = PYTHON_NO,
     .code_bytes = 192,
     .code_firstline = 68,
     .code_start = 192,
     .code_first_traced = 176,
     .text_ascii_bytes = 40,
     .text_compact_bytes = 56,
     .coroutine_frame = 72},
    /* 3.13 and 3.14: members that the table of offsets does not state */
    {
        .minor = 13,
        .frames = PYTHON_ENTRY_FRAMES,
        .lines = PYTHON_LOCATIONS,
        .interp_runtime = PYTHON_NO,
        .ts_dict = PYTHON_NO,
        .ts_cframe = PYTHON_NO,
        .frame_entry = PYTHON_NO,
        .frame_lineno = PYTHON_NO,
        .code_flags = 48,
        .code_first_traced = PYTHON_NO,
        .text_compact_bytes = 56,
        .text_kind_shift = 2,
        .object_type = 8,
        .coroutine_frame = 72,
        .ts_tasks = PYTHON_NO,
    },
};

const struct python_layout *sonde__python_layout_of(unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].minor == minor) {
            return &layouts[i];
        }
    }
    return NULL;
}

/* --- offsets that the interpreter states --- */

/* A word of _Py_DebugOffsets that we use: its group, and its number in the group. */
struct stated {
    uint8_t group, word;
    uint16_t member; /* offset in struct python_layout */
};

enum {
    RUNTIME,
    INTERP,
    THREAD,
    FRAME,
    CODE,
    OBJECT,
    TYPE,
    TUPLE,
    LIST,
    SET,
    DICT,
    FLOAT,
    LONG,
    BYTES,
    TEXT,
    GROUPS
};

/* Words of each group; 3.14 added some. */
static const uint8_t words_of_13[GROUPS] = {3, 13, 9, 6, 10, 2, 4, 3, 3, 0, 3, 2, 3, 3, 4};
static const uint8_t words_of_14[GROUPS] = {3, 16, 9, 8, 11, 2, 4, 3, 3, 4, 3, 2, 3, 3, 4};

#define MEMBER(name) offsetof(struct python_layout, name)

static const struct stated stated_13[] = {
    {RUNTIME, 2, MEMBER(runtime_interpreters)},
    {INTERP, 2, MEMBER(interp_next)},
    {INTERP, 3, MEMBER(interp_threads)},
    {INTERP, 5, MEMBER(interp_modules)},
    {INTERP, 8, MEMBER(interp_gil)},
    {THREAD, 0, MEMBER(ts_bytes)},
    {THREAD, 1, MEMBER(ts_prev)},
    {THREAD, 2, MEMBER(ts_next)},
    {THREAD, 3, MEMBER(ts_interp)},
    {THREAD, 4, MEMBER(ts_frame)},
    {THREAD, 5, MEMBER(ts_thread_id)},
    {THREAD, 6, MEMBER(ts_native_id)},
    {FRAME, 1, MEMBER(frame_previous)},
    {FRAME, 2, MEMBER(frame_code)},
    {FRAME, 3, MEMBER(frame_instr)},
    {FRAME, 4, MEMBER(frame_bytes)},
    {FRAME, 5, MEMBER(frame_owner)},
    {CODE, 1, MEMBER(code_filename)},
    {CODE, 2, MEMBER(code_name)},
    {CODE, 3, MEMBER(code_qualname)},
    {CODE, 4, MEMBER(code_linetable)},
    {CODE, 5, MEMBER(code_firstline)},
    {CODE, 9, MEMBER(code_start)},
    {CODE, 9, MEMBER(code_bytes)},
    {OBJECT, 1, MEMBER(object_type)},
    {TUPLE, 1, MEMBER(tuple_items)},
    {BYTES, 1, MEMBER(bytes_size)},
    {BYTES, 2, MEMBER(bytes_start)},
    {TEXT, 1, MEMBER(text_state)},
    {TEXT, 2, MEMBER(text_length)},
    {TEXT, 3, MEMBER(text_ascii_bytes)},
};

/* The word's number in this version: 3.14 inserts one (threads_main) after INTERP's word 3. */
static unsigned word_of(const struct stated *stated, bool is_14)
{
    bool is_moved = is_14 && stated->group == INTERP && stated->word > 3;
    return stated->word + (is_moved ? 1u : 0u);
}

bool sonde__python_states_offsets(const uint8_t *bytes, size_t size, uint32_t *ret_version)
{
    if (size < 24 || sonde__base_mem_compare(bytes, "xdebugpy", 8) != 0) {
        return false;
    }
    *ret_version = (uint32_t)sonde__base_le64(bytes + 8);
    return true;
}

/* Larger than the structs of any version. The interpreter's state has some 200 KiB, but the heads
 * of its lists are at the start. */
enum { OFFSET_MAX = 32768 };

/* Earlier builds of a version laid out some of this in another way. */
#define FIRST_3_13 0x030d00f0u
#define FIRST_3_14 0x030e00f0u

/* What the table does not state. Behind the public part of a thread's state, 3.13 has the running
 * loop; 3.14 has four words, loop, running task and list of tasks. */
static void add_unstated(struct python_layout *layout, bool is_14)
{
    layout->code_first_traced = is_14 ? 192 : 184;
    layout->gil_locked = 16;
    layout->gil_holder = 8;
    layout->ts_loop = (uint16_t)(layout->ts_bytes + (is_14 ? 32 : 0));
    layout->task_coroutine = is_14 ? 128 : 120;
    if (is_14) {
        layout->ts_tasks = (uint16_t)(layout->ts_loop + 16);
        layout->task_node = 152;
    }
}

bool sonde__python_layout_stated(const uint8_t *bytes, size_t size,
                                 struct python_layout *ret_layout)
{
    uint32_t version = 0;
    if (!sonde__python_states_offsets(bytes, size, &version) || version >> 24 != 3) {
        return false;
    }
    unsigned minor = version >> 16 & 0xff;
    bool is_14 = minor == 14, is_free_threaded = sonde__base_le64(bytes + 16) != 0;
    struct python_layout layout = *sonde__python_layout_of(13);
    if ((minor != 13 && !is_14) || is_free_threaded ||
        version < (is_14 ? FIRST_3_14 : FIRST_3_13)) {
        return false;
    }
    const uint8_t *words = is_14 ? words_of_14 : words_of_13;
    for (size_t i = 0; i < sizeof stated_13 / sizeof *stated_13; i++) {
        size_t at = 24;
        for (unsigned g = 0; g < stated_13[i].group; g++) {
            at += (size_t)words[g] * 8;
        }
        at += (size_t)word_of(&stated_13[i], is_14) * 8;
        uint64_t value = at + 8 <= size ? sonde__base_le64(bytes + at) : UINT64_MAX;
        if (value > OFFSET_MAX) {
            return false;
        }
        uint16_t narrow = (uint16_t)value;
        sonde__base_mem_copy((uint8_t *)&layout + stated_13[i].member, &narrow, sizeof narrow);
    }
    layout.minor = (uint8_t)minor;
    add_unstated(&layout, is_14);
    *ret_layout = layout;
    return true;
}
