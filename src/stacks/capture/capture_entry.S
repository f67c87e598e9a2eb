// SPDX-License-Identifier: Apache-2.0
/* sonde_stack_capture(stack, skip) -> sonde__capture_here(stack, skip, caller's registers) */
#include "arch_entry.h"

SONDE__ENTRY(sonde_stack_capture, sonde__capture_here, 2)

    SONDE__ASM_FILE_END
