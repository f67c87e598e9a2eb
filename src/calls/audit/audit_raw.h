// SPDX-License-Identifier: Apache-2.0
/* Blind spots: system calls that modules make themselves. Context: any thread. */
#ifndef SONDE_AUDIT_RAW_H
#define SONDE_AUDIT_RAW_H

#include "record_page.h"
#include "report_line.h"
#include "symfile_cache.h"

/* Say one line for each such call of each loaded module ("libfoo.so: system call openat of its own,
 * at f+0x12"); of modules that define listed functions, or make more than a few, only how many.
 * all: false: only calls that may make a process or execute a program, of modules other than the C
 * library and the loader, whose own ones are in functions that are hooked. page: a copy
 * (audit_page.h) */
void sonde__audit_print_raw(const struct sonde__record_page *page,
                            struct sonde__symfile_cache *symbols, bool all,
                            struct sonde__report_lines lines);

#endif
