// SPDX-License-Identifier: Apache-2.0
/* A child of vfork() runs in the memory of its parent's thread, which the kernel holds meanwhile:
 * its waits would count as waits of that thread, and hide that it stands still.
 *
 * So vfork() takes the slot away from the thread, and the next wait finds none and asks who it is:
 * the thread gets its slot back, a child does not. Turns that are not behind a vfork() cost
 * nothing. A child is made by the processes of a program's own vfork() only: posix_spawn() runs no
 * code of the program. Context: handler. */
#include <errno.h>

#include "os.h"
#include "preload_wrap.h"

static _Thread_local struct sonde__probe_slot *kept;

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
    if (preload_slot != NULL) {
        kept = preload_slot;
        preload_slot = NULL;
    }
    return real != NULL ? real : (void *)(uintptr_t)fail;
}

bool preload_end_vfork(const struct sonde__probe_page *page)
{
    struct sonde__probe_slot *slot = kept;
    if (slot == NULL) {
        return true;
    }
    /* a filter may end the process for the system call that tells them apart */
    if (atomic_load_explicit(&page->confined, memory_order_acquire) == 0 &&
        atomic_load_explicit(&slot->tid, memory_order_relaxed) != (uint32_t)sonde__os_tid()) {
        return false;
    }
    preload_slot = slot;
    kept = NULL;
    return true;
}

void preload_forget_vfork(void)
{
    kept = NULL;
}
