// SPDX-License-Identifier: Apache-2.0
/* References to the threads that a watch looks at again and again, on systems where finding one
 * means to list all (Darwin). Context: one thread at a time in each process; not handler. */
#ifndef SONDE_HOST_PORTS_H
#define SONDE_HOST_PORTS_H

#include "os_stop.h"

/* Refer to a thread. Returns OK | ABSENT | OS. *ret_thread stays the callee's, and is valid until
 * the next call. */
SONDE_NODISCARD enum sonde_status sonde__host_port_of(uint64_t tid,
                                                      struct sonde__os_stop *ret_thread);
/* Give all references back. */
void sonde__host_ports_done(void);

#endif
