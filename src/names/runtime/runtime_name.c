// SPDX-License-Identifier: Apache-2.0
/* Maps an interpreter's frame to its function, file, line and kind. */
#include <string.h>

#include "python_lines.h"
#include "runtime_private.h"

static uint8_t kind_of(const struct python_code *code)
{
    enum {
        NEWLOCALS = 2,
        GENERATOR = 0x20,
        COROUTINE = 0x80,
        OLD_COROUTINE = 0x100,
        ASYNC_GENERATOR = 0x200,
        OPTIMIZED = 1
    };
    if ((code->flags & (COROUTINE | OLD_COROUTINE | ASYNC_GENERATOR)) != 0) {
        return SONDE__SCRIPT_COROUTINE;
    }
    if ((code->flags & GENERATOR) != 0) {
        return SONDE__SCRIPT_GENERATOR;
    }
    if (strcmp(code->function, "<module>") == 0) {
        return SONDE__SCRIPT_MODULE;
    }
    return (code->flags & (NEWLOCALS | OPTIMIZED)) == 0 ? SONDE__SCRIPT_CLASS
                                                        : SONDE__SCRIPT_FUNCTION;
}

bool sonde__runtime_name_frame(struct sonde__runtime *r, const struct python_frame *frame,
                               struct sonde__script_frame *ret_frame)
{
    const struct python_layout *l = &r->python.layout;
    enum { OWNER_GENERATOR = 1, CODE_BYTES_MAX = 1 << 26 };
    const struct python_code *code = python_codes_find(&r->python.codes, &r->view, frame->code);
    *ret_frame = (struct sonde__script_frame){.function = NULL};
    if (code == NULL) {
        return false;
    }
    if (code->first_traced != 0 && frame->owner != OWNER_GENERATOR &&
        frame->instr < code->first_traced) {
        return true; /* not entered yet */
    }
    int64_t lasti = l->code_start == PYTHON_NO
                        ? (int64_t)frame->instr * (1 << l->lasti_shift)
                        : (int64_t)(frame->instr - frame->code - l->code_start);
    if (lasti < -2 || lasti > CODE_BYTES_MAX) {
        return false;
    }
    *ret_frame = (struct sonde__script_frame){
        .function = code->function,
        .file = code->file,
        .line = frame->line != 0
                    ? frame->line
                    : python_line(l->lines, code->lines, code->lines_size, code->first_line, lasti),
        .kind = kind_of(code),
        .run = frame->run,
        .anchor = frame->anchor,
        .at = frame->at,
    };
    return true;
}
