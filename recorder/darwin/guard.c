// SPDX-License-Identifier: Apache-2.0
/* No memory that a fork child sees zeroed: libc tells the child. One that libc does not create, as
 * by vfork(), runs other code only after it has executed another program. */
#include <pthread.h>

#include "page.h"

static struct preload_guard guard;
struct preload_guard *preload_guard;

static void forget_page(void)
{
    guard.page = NULL;
}

bool preload_guard_page(struct sonde__probe_page *page)
{
    static bool is_told;
    if (page == NULL || page->version != SONDE__PROBE_VERSION ||
        (!is_told && pthread_atfork(NULL, NULL, forget_page) != 0)) {
        return false;
    }
    is_told = true;
    guard.page = page;
    preload_guard = &guard;
    return true;
}
