// SPDX-License-Identifier: Apache-2.0
/* libc's functions inside the program's own image, which is statically linked. No file tells which
 * they are, because libc.a has no debug information; their names do.
 *
 * The rule is for the inner end of a stack that is in a system call made by that image: functions
 * are left out from there on while their names are libc's. An app's function with such a name is
 * left out, too; its caller is shown then, which has not returned either. Context: any thread. */
#ifndef SONDE_REPORT_LIBC_H
#define SONDE_REPORT_LIBC_H

#include <stdbool.h>

/* A reserved name (C11 §7.1.3; not a mangled one), a system call's, or a function of libc that
 * waits. name: as in a frame, with the suffix of a compiler's copy (".constprop.0") or not. */
bool sonde__report_is_libc(const char *name);

#endif
