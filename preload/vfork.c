// SPDX-License-Identifier: Apache-2.0
/* A child of vfork() runs in the memory of its parent's thread, which the kernel holds meanwhile:
 * its waits would count as waits of that thread, and hide that it stands still.
 *
 * So vfork() takes the slot away from the thread, and the next wait finds none and asks who it is:
 * the thread gets its slot back, a child does not. Turns that are not behind a vfork() cost
 * nothing. Only the program's own vfork() matters: posix_spawn() runs no code of the program in the
 * child. Context: handler. */
#include <errno.h>

#include "preload_wrap.h"

/* No libc is without it. */
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
