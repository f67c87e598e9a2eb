// SPDX-License-Identifier: Apache-2.0
/* Loads from this process' memory that may fault, at full speed: in a process beside ours that
 * shares our memory, but neither our threads nor our signal handlers. Memory that another thread
 * unmaps meanwhile ends that process, not this one; the program's own handlers see nothing.
 * (Asking first whether memory can be read does not help: it may be gone by then. A handler of
 * ours would take the place of the program's. Copying by the system costs four times the time.)
 * Context: any thread; not handler. Blocks: the calling thread, until the function has ended. */
#ifndef SONDE_HOST_APART_H
#define SONDE_HOST_APART_H

#include <stdint.h>

#include <sonde/status.h>

/* Run function(ctx) there. It must use no lock, heap or libc, and not much of its stack; what it
 * writes to memory is written.
 * ret_fault  the address of a load that failed; the function did not go on from there
 * Returns OK | UNREADABLE (see ret_fault) | UNSUPPORTED (an emulator or a sanitizer: nothing was
 * run) | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_apart(void (*function)(void *ctx), void *ctx,
                                                    uint64_t *ret_fault);

#endif
