// SPDX-License-Identifier: Apache-2.0
/* The public functions, besides sonde_stack_capture, that may capture their caller. */
#include "arch_entry.h"

SONDE__ENTRY(sonde_stack_capture_whole, sonde__api_stack_capture_whole, 2)
SONDE__ENTRY(sonde_thread_capture, sonde__api_thread_capture, 4)
SONDE__ENTRY(sonde_threads_capture, sonde__api_threads_capture, 4)
SONDE__ENTRY(sonde_threads_snapshot, sonde__api_threads_snapshot, 5)
SONDE__ENTRY(sonde_thread_write, sonde__api_thread_write, 5)
SONDE__ENTRY(sonde_threads_write, sonde__api_threads_write, 4)
SONDE__ENTRY(sonde_callstack_symbols, sonde__api_callstack_symbols, 2)
SONDE__ENTRY(sonde_callstack_strings, sonde__api_callstack_strings, 2)

    SONDE__ASM_FILE_END
