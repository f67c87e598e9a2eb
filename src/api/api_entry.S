// SPDX-License-Identifier: Apache-2.0
/* The public functions of thread.h that may capture their caller. */
#include "arch_entry.h"

SONDE__ENTRY(sonde_thread_capture, sonde__api_thread_capture, 4)
SONDE__ENTRY(sonde_threads_capture, sonde__api_threads_capture, 4)

    .section .note.GNU-stack, "", %progbits
