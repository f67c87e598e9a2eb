// SPDX-License-Identifier: Apache-2.0
/* A vfork() child runs in the memory of its parent's thread, which the kernel suspends meanwhile:
 * its waits would count as the thread's waits and hide that the thread is stalled.
 *
 * So vfork() takes the slot away from the thread. The next wait finds no slot and checks the tid:
 * the thread gets its slot back, a child does not. Other turns cost nothing. Only the program's own
 * vfork() matters: posix_spawn() runs none of the program's code in the child. Context: handler. */
#include <errno.h>

#include "preload_wrap.h"

/* Never called: every libc has vfork(). */
static int fail(void)
{
    errno = ENOSYS;
    return -1;
}

/* Called by vfork.S, which jumps to the result. */
void *preload_begin_vfork(void);
void *preload_begin_vfork(void)
{
    static struct preload_cell cell
        __attribute__((used, section("preload_cells"))) = {"vfork", NULL, 0};
    void *real = preload_real(&cell);
    preload_set_slot_aside();
    return real != NULL ? real : (void *)(uintptr_t)fail;
}
