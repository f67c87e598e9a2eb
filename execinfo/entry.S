// SPDX-License-Identifier: Apache-2.0
/* backtrace(buffer, size) -> sonde__execinfo_backtrace(buffer, size, caller's registers) */
#include "arch_entry.h"

SONDE__ENTRY(backtrace, sonde__execinfo_backtrace, 2)
    .globl __backtrace
    .set __backtrace, backtrace

    SONDE__ASM_FILE_END
