// SPDX-License-Identifier: Apache-2.0
/* Public functions that record their caller: sonde__record_...(the arguments, caller's registers) */
#include "arch_entry.h"

SONDE__ENTRY(sonde_depot_capture, sonde__record_public_stack, 3)
SONDE__ENTRY(sonde_audit_record, sonde__record_public_call, 3)

    SONDE__ASM_FILE_END
