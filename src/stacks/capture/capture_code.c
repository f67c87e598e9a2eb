// SPDX-License-Identifier: Apache-2.0
#include "capture_code.h"

#include "capture_program.h"
#include "capture_record.h"

/* About 0.1 ms if the system answers for one address; 30 ms if by a map of thousands of lines. */
enum { QUESTIONS_MAX = 64 };

enum { NOT_OPEN = -1, CANNOT_OPEN = -2 };

static bool is_in(const struct sonde__os_code *known, uint64_t pc)
{
    return pc >= known->start && pc < known->end;
}

bool sonde__capture_find_code(void *ctx, uint64_t pc, uint64_t *ret_start, uint64_t *ret_end)
{
    struct sonde__capture_code *code = ctx;
    struct sonde__os_code *known = &code->known[code->asked % SONDE__CAPTURE_CODE_KNOWN];
    for (uint32_t i = 0; i < SONDE__CAPTURE_CODE_KNOWN && i < code->asked; i++) {
        if (is_in(&code->known[i], pc)) {
            *ret_start = code->known[i].start;
            *ret_end = code->known[i].end;
            return code->known[i].is_code;
        }
    }
    *ret_start = *ret_end = 0;
    if (code->fd == NOT_OPEN && sonde__os_code_open(&code->fd) != SONDE_OK) {
        code->fd = CANNOT_OPEN;
    }
    if (code->fd >= 0) {
        sonde__capture_program_learn(code->fd);
    }
    if (code->fd < 0 || code->asked >= QUESTIONS_MAX ||
        sonde__os_code_find(code->fd, pc, known) != SONDE_OK) {
        return false;
    }
    code->asked++;
    if (known->is_code) {
        sonde__capture_note_made(known->start, known->end);
    }
    *ret_start = known->start;
    *ret_end = known->end;
    return known->is_code;
}
