// SPDX-License-Identifier: Apache-2.0
#include "runtime_copied.h"

#include "base_status.h"
#include "mem_heap.h"
#include "python_own.h"
#include "runtime_private.h"

enum { OWNER_GENERATOR = 1 };

enum sonde_status sonde__runtime_open_copied(const struct sonde__runtime_copied *copied,
                                             const struct sonde__runtime_memory *memory,
                                             struct sonde__runtime **ret_runtime,
                                             struct sonde_error *ret_error)
{
    struct python_layout layout;
    uint32_t version = copied->version;
    SONDE_TRY(sonde__runtime_choose_layout(copied->address, memory, &layout, &version, ret_error));
    struct sonde__runtime *r = sonde__mem_alloc_zeroed(sizeof *r);
    if (r == NULL) {
        return SONDE_MEMORY;
    }
    r->view.memory = *memory;
    r->python.layout = layout;
    r->python.codes.layout = &r->python.layout;
    r->python.codes.types.code = copied->code_type;
    r->python.codes.types.text = copied->text_type;
    r->python.codes.types.bytes = copied->bytes_type;
    for (; r->loop_count < copied->loop_count && r->loop_count < SONDE__RUNTIME_LOOPS;
         r->loop_count++) {
        r->loops[r->loop_count] = copied->loops[r->loop_count];
    }
    *ret_runtime = r;
    return SONDE_OK;
}

void sonde__runtime_begin_copied(struct sonde__runtime *r)
{
    python_codes_trim(&r->python.codes);
    r->chain.count = r->chain.run_count = 0;
}

/* The frame as the interpreter had it. */
static struct python_frame frame_of(const struct sonde__runtime *r, uint64_t code, uint64_t at,
                                    unsigned flags)
{
    bool is_pointer = r->python.layout.code_start != PYTHON_NO;
    bool is_line = (flags & PYTHON_OWN_LINE) != 0;
    return (struct python_frame){
        .code = code,
        .instr = is_pointer ? code + at
                 : is_line  ? 0
                            : at - 1,
        .line = is_line && !is_pointer ? (uint32_t)at : 0,
        .owner = (flags & PYTHON_OWN_GENERATOR) != 0 ? OWNER_GENERATOR : 0,
        .run = r->chain.run_count,
    };
}

bool sonde__runtime_add_copied(struct sonde__runtime *r, uint64_t code, uint64_t at, unsigned flags)
{
    if (code != 0) {
        const struct python_frame frame = frame_of(r, code, at, flags);
        sonde__view_begin(&r->view, NULL, 0); /* another object may have been at this address */
        if (r->chain.count == SONDE__SCRIPT_FRAMES_MAX ||
            !sonde__runtime_name_frame(r, &frame, &r->frames[r->chain.count])) {
            return false;
        }
        r->chain.count += r->frames[r->chain.count].function != NULL;
    }
    r->chain.run_count += (flags & PYTHON_OWN_ENDS_RUN) != 0;
    return true;
}

struct sonde__script_frame *sonde__runtime_end_copied(struct sonde__runtime *r, bool is_switched,
                                                      struct sonde__script *ret_script)
{
    *ret_script = (struct sonde__script){
        .frames = r->frames,
        .count = r->chain.count,
        .run_count = r->chain.run_count,
        .is_switched = is_switched,
        .state = r->chain.count != 0 ? SONDE__SCRIPT_READ : SONDE__SCRIPT_NONE,
        .language = "Python",
    };
    return r->frames;
}
