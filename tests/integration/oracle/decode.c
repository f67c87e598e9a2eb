// SPDX-License-Identifier: Apache-2.0
#include "decode.h"

#include <stdbool.h>
#include <string.h>

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x64 || byte == 0x65 || byte == 0xf0;
}

enum instruction decode_x86_64(const uint8_t *code, size_t size)
{
    const uint8_t *end = code + size;
    while (code < end && is_prefix(*code)) {
        code++;
    }
    if (code < end && (*code & 0xf0) == 0x40) { /* REX */
        code++;
    }
    if (code >= end) {
        return PLAIN;
    }
    if (*code == 0xe8) {
        return CALL;
    }
    if (*code == 0xc3 || *code == 0xc2) {
        return RETURN;
    }
    if (*code == 0xcc) {
        return BREAKPOINT;
    }
    if (end - code < 2) {
        return PLAIN;
    }
    if (code[0] == 0x0f && code[1] == 0x05) {
        return SYSTEM_CALL;
    }
    unsigned extension = code[1] >> 3 & 7;
    if (code[0] == 0xff && extension == 2) {
        return CALL;
    }
    return code[0] == 0xff && extension == 4 ? JUMP_INDIRECT : PLAIN;
}

enum instruction decode_aarch64(const uint8_t *code, size_t size)
{
    uint32_t word = 0;
    if (size < sizeof word) {
        return PLAIN;
    }
    memcpy(&word, code, sizeof word);
    if (word >> 26 == 0x25) { /* bl */
        return CALL;
    }
    if ((word & 0xffe0001f) == 0xd4000001) { /* svc */
        return SYSTEM_CALL;
    }
    if ((word & 0xffe0001f) == 0xd4200000) { /* brk */
        return BREAKPOINT;
    }
    if (word >> 25 != 0x6b) { /* branches to a register */
        return PLAIN;
    }
    switch (word >> 21 & 7) {
    case 0: /* br; by x30 it is a return */
        return (word >> 5 & 31) == 30 ? RETURN : JUMP_INDIRECT;
    case 1: /* blr */
        return CALL;
    case 2: /* ret */
        return RETURN;
    default:
        return PLAIN;
    }
}
