// SPDX-License-Identifier: Apache-2.0
/* The effect of an instruction on the call stack, by its bytes. Sources: Intel SDM volume 2; Arm
 * architecture reference manual, C4.1 "Branches". */
#ifndef TEST_ORACLE_DECODE_H
#define TEST_ORACLE_DECODE_H

#include <stddef.h>
#include <stdint.h>

enum instruction { PLAIN, CALL, RETURN, JUMP_INDIRECT, SYSTEM_CALL, BREAKPOINT };

enum instruction decode_x86_64(const uint8_t *code, size_t size);
enum instruction decode_aarch64(const uint8_t *code, size_t size);

#endif
