// SPDX-License-Identifier: Apache-2.0
/* Finds code of this process outside of images (of a JIT), for one walk.
 *
 * The walk asks the system at the first address that may be such code, and keeps the answers:
 * words of a stack point to few places. A scan of an arbitrary stack asks a limited number of
 * times; after that nothing more counts as code. Context: handler. */
#ifndef SONDE_CAPTURE_CODE_H
#define SONDE_CAPTURE_CODE_H

#include "os.h"

#define SONDE__CAPTURE_CODE_KNOWN 8

struct sonde__capture_code {
    int32_t fd;     /* -1: not open; -2: cannot be opened */
    uint32_t asked; /* number of queries of the system */
    struct sonde__os_code known[SONDE__CAPTURE_CODE_KNOWN];
};

/* A function, not an initializer, so that walks that never query pay little. */
static inline void sonde__capture_code_init(struct sonde__capture_code *code)
{
    code->fd = -1;
    code->asked = 0;
}

/* For struct sonde__walk. */
bool sonde__capture_find_code(void *code, uint64_t pc, uint64_t *ret_start, uint64_t *ret_end);

static inline void sonde__capture_code_done(const struct sonde__capture_code *code)
{
    if (code->fd >= 0) {
        sonde__os_close(code->fd);
    }
}

#endif
