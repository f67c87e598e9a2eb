// SPDX-License-Identifier: Apache-2.0
/* DWARF expressions of call frame information (DWARF 5 §2.5, §6.4.2): arithmetic over registers
 * and memory. Stack and steps are limited. Context: handler. */
#ifndef SONDE_UNWIND_EXPRESSION_H
#define SONDE_UNWIND_EXPRESSION_H

#include "base_bytes.h"
#include "unwind_memory.h"

enum sonde__expression_end {
    SONDE__EXPRESSION_OK,
    SONDE__EXPRESSION_MALFORMED,  /* or an operation without meaning in CFI */
    SONDE__EXPRESSION_UNREADABLE, /* *ret_value: the address */
    SONDE__EXPRESSION_UNKNOWN,    /* needs an unknown register */
};

/* Run a block. `initial`, if not null, is on the stack at the start (the CFA, for registers).
 * *ret_value: the top of the stack at the end. */
enum sonde__expression_end sonde__expression_run(struct sonde__bytes block,
                                                 const struct sonde__regs *regs,
                                                 struct sonde__reader *reader,
                                                 const uint64_t *initial, uint64_t *ret_value);

#endif
