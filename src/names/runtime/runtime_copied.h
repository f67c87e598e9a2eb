// SPDX-License-Identifier: Apache-2.0
/* Script frames that the program itself kept as pointers to code and places in it (python_own.h),
 * with copies of the code objects: how to read them in the program, and their names afterwards.
 * CPython only. Context: as runtime.h. */
#ifndef SONDE_RUNTIME_COPIED_H
#define SONDE_RUNTIME_COPIED_H

#include "python_layout.h"
#include "runtime.h"
#include "v8.h"

/* Parts of the interpreter's loop. GCC makes two of a function: hot and cold. */
#define SONDE__RUNTIME_LOOPS 4u

struct sonde__runtime_range {
    uint64_t start, end;
};

struct sonde__runtime_plan {
    struct python_layout layout;
    uint32_t version; /* PY_VERSION_HEX */
    uint64_t address; /* of _PyRuntime */
    struct sonde__runtime_range loops[SONDE__RUNTIME_LOOPS];
    uint32_t loop_count;
};

/* Find out how to read the frames of the runtime in an image, which need not be set up yet.
 * Arguments and result as of sonde__runtime_open(), for CPython. */
SONDE_NODISCARD enum sonde_status sonde__runtime_plan(const struct sonde__elf *elf, uint64_t bias,
                                                      const struct sonde__runtime_memory *memory,
                                                      struct sonde__runtime_plan *ret_plan,
                                                      struct sonde_error *ret_error);

/* The same of V8: its layout. */
SONDE_NODISCARD enum sonde_status sonde__runtime_plan_v8(const struct sonde__elf *elf,
                                                         struct v8_layout *ret_layout,
                                                         struct sonde_error *ret_error);

/* What is known of a runtime whose process is gone. */
struct sonde__runtime_copied {
    uint32_t version;
    uint64_t address;
    uint64_t code_type, text_type, bytes_type; /* addresses of these types */
    struct sonde__runtime_range loops[SONDE__RUNTIME_LOOPS];
    uint32_t loop_count; /* at most SONDE__RUNTIME_LOOPS */
};

/* Open a runtime for names and joins. memory: of copies; at `address` PYTHON_OFFSETS_BYTES bytes of
 * it. Returns OK | UNSUPPORTED | CORRUPT | MEMORY. Ownership: sonde__runtime_close(). */
SONDE_NODISCARD enum sonde_status
sonde__runtime_open_copied(const struct sonde__runtime_copied *copied,
                           const struct sonde__runtime_memory *memory,
                           struct sonde__runtime **ret_runtime, struct sonde_error *ret_error);

/* Begin a stack: forget the frames of the last one. The names of that are not valid any more. */
void sonde__runtime_begin_copied(struct sonde__runtime *runtime);
/* Add a frame as it was kept (struct python_own_frame), further out than the last one. The memory
 * must have the copy of its code object now. code: 0: a call of the loop without a frame; at,
 * flags: as python_own.h. False: it has no name, or there are too many. */
bool sonde__runtime_add_copied(struct sonde__runtime *runtime, uint64_t code, uint64_t at,
                               unsigned flags);
/* The frames that were added. is_switched: as struct sonde__script's. Returns them for
 * sonde__runtime_join(), as its `frames`. */
struct sonde__script_frame *sonde__runtime_end_copied(struct sonde__runtime *runtime,
                                                      bool is_switched,
                                                      struct sonde__script *ret_script);

#endif
