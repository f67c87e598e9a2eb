// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "page.h"

struct preload_guard *preload_guard;

bool preload_guard_page(struct sonde__probe_page *page)
{
    size_t size = 4096;
    if (page == NULL || page->version != SONDE__PROBE_VERSION) {
        return false;
    }
    struct preload_guard *guard =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (guard == MAP_FAILED || madvise(guard, size, MADV_WIPEONFORK) != 0 ||
        madvise(page, sizeof *page, MADV_DONTFORK) != 0) {
        return false;
    }
    guard->page = page;
    preload_guard = guard;
    return true;
}
