// SPDX-License-Identifier: Apache-2.0
/* The same as api_entry.S, for functions that write whole reports. */
#include "arch_entry.h"

SONDE__ENTRY(sonde_report_write, sonde__api_report_write, 4)
SONDE__ENTRY(sonde_stacks_print, sonde__api_stacks_print, 0)
SONDE__ENTRY(sonde_report_write_fd, sonde__api_report_write_fd, 3)

    SONDE__ASM_FILE_END
