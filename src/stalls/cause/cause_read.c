// SPDX-License-Identifier: Apache-2.0
/* Reads for several kinds of waits: memory of the program, and which processes have a file open. */
#include <string.h>

#include "cause_private.h"
#include "os.h"

struct cause_holders cause_find_holders(struct sonde__causes *causes, uint8_t kind, uint64_t key)
{
    struct cause_holders found = {0};
    if (!causes->searched) {
        sonde__host_holders_read(causes->pid, causes->search_ns, &causes->holders);
        causes->searched = true;
    }
    found.list = sonde__host_holders_find(&causes->holders, kind, key, &found.count);
    found.hidden = causes->holders.hidden;
    found.cut = causes->holders.cut;
    found.certain = found.hidden == 0 && !found.cut;
    return found;
}

size_t cause_read(const struct cause_look *look, uint64_t address, void *ret_bytes, size_t size)
{
    return sonde__os_read_process(look->causes->pid, address, ret_bytes, size, NULL);
}
