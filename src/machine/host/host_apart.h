// SPDX-License-Identifier: Apache-2.0
/* Runs loads from this process' memory that may fault, at full speed, in a second process that
 * shares our memory but not our threads and signal handlers. A fault (another thread may unmap the
 * memory) ends that process, not this one; the program's handlers see nothing. (Checking first
 * whether memory is readable does not help: it may be unmapped afterwards. A handler of ours would
 * replace the program's. Copying by the kernel takes four times as long.) Context: any thread; not
 * handler. Blocks: the calling thread, until the function has ended. */
#ifndef SONDE_HOST_APART_H
#define SONDE_HOST_APART_H

#include <stdint.h>

#include <sonde/status.h>

/* Run function(ctx) there. It must use no lock, heap or libc, and little stack; its writes to
 * memory stay.
 *
 * ret_fault  the address of the load that failed, which ended the function
 *
 * Returns OK | UNREADABLE (see ret_fault) | UNSUPPORTED (an emulator or a sanitizer: nothing was
 * run) | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_apart(void (*function)(void *ctx), void *ctx,
                                                    uint64_t *ret_fault);

#endif
