// SPDX-License-Identifier: Apache-2.0
/* Runtimes whose functions are found by the native stack: V8. */
#include "base_status.h"
#include "mem_heap.h"
#include "runtime_private.h"

bool sonde__runtime_is_by_stack(const struct sonde__runtime *runtime)
{
    return runtime->v8 != NULL;
}

enum sonde_status sonde__runtime_open_v8(const struct v8_stated *stated,
                                         const struct sonde__runtime_memory *memory,
                                         struct sonde__runtime **ret_runtime,
                                         struct sonde_error *ret_error)
{
    struct v8_layout layout;
    SONDE_TRY(v8_layout_of(stated, &layout, ret_error));
    struct sonde__runtime *r = sonde__mem_alloc_zeroed(sizeof *r);
    struct v8_read *v8 = sonde__mem_alloc_zeroed(sizeof *v8);
    if (r == NULL || v8 == NULL) {
        sonde__mem_free(r);
        sonde__mem_free(v8);
        return SONDE_MEMORY;
    }
    v8_read_init(v8, &layout, &r->view);
    r->v8 = v8;
    r->view.memory = *memory;
    v8_version(&layout, r->name, sizeof r->name);
    *ret_runtime = r;
    return SONDE_OK;
}

void sonde__runtime_read_stack(struct sonde__runtime *runtime, uint64_t tid,
                               const struct sonde__runtime_native *native,
                               struct sonde__script *ret_script)
{
    struct sonde__script script = {.language = "JavaScript", .frames = runtime->frames};
    struct sonde__runtime_kept *kept = sonde__runtime_kept_of(runtime, tid);
    sonde__view_begin(&runtime->view, kept->blocks, kept->count);
    script.why = v8_read_stack(runtime->v8, native, runtime->frames, runtime->natives,
                               SONDE__SCRIPT_FRAMES_MAX, &script.count, &script.doubt);
    sonde__runtime_keep(runtime, kept);
    script.run_count = script.count;
    script.state = (uint8_t)(script.why != NULL  ? SONDE__SCRIPT_DAMAGED
                             : script.count != 0 ? SONDE__SCRIPT_READ
                                                 : SONDE__SCRIPT_NONE);
    *ret_script = script;
}

bool sonde__runtime_place(struct sonde__runtime *runtime, uint32_t run_count,
                          const struct sonde__runtime_native *native)
{
    uint32_t i = 0, count = native->stack->count;
    for (uint32_t run = 0; run < run_count; run++) {
        uint64_t fp = runtime->frames[run].anchor;
        while (i < count && native->fps[i] != fp) {
            i++;
        }
        while (i + 1 < count && native->fps[i + 1] == fp) { /* the outermost one has made it */
            i++;
        }
        if (i == count) {
            return false;
        }
        runtime->natives[run] = i++;
    }
    return true;
}
