// SPDX-License-Identifier: Apache-2.0
/* The files with names of JIT code that a process' runtime writes: /tmp/perf-PID.map, and the
 * jitdump that it keeps mapped. PID is as seen in the process' own namespace.
 *
 * Anyone can write to /tmp: only files owned by the process' user or root are read, and a symbolic
 * link as the last part of the path is not followed. Context: any thread, one at a time. */
#ifndef SONDE_SYMFILE_JIT_H
#define SONDE_SYMFILE_JIT_H

#include "jit_names.h"

/* Larger files are not read. */
#define SONDE__SYMFILE_JIT_BYTES_MAX ((uint64_t)256 << 20)

enum { SONDE__SYMFILE_JIT_NOTE = 512 };

/* Add the names of a live process to `jit`. root: prefix of its files (host_process.h). ret_note:
 * why an existing file was not read, or "". Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__symfile_jit(int32_t pid, const char *root,
                                                     struct sonde__jit *jit,
                                                     char ret_note[SONDE__SYMFILE_JIT_NOTE]);

#endif
