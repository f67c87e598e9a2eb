// SPDX-License-Identifier: Apache-2.0
/* A process that limits its system calls (seccomp) may be ended for one that it does not expect.
 * Linux only. Context: handler. */
#ifndef SONDE_OS_CONFINED_H
#define SONDE_OS_CONFINED_H

#include <stdbool.h>

/* From now on, for good and in fork children, sonde__os_read() tests each page by a call that all
 * programs with threads may make, and loads from it; another thread may unmap it in between. */
void sonde__os_confine(void);
bool sonde__os_is_confined(void);

#endif
