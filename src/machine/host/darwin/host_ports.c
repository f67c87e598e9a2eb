// SPDX-License-Identifier: Apache-2.0
/* The name of a port means the same thread as long as a reference is held, also after its end. A
 * fork child has none of its parent's names. */
#include "host_ports.h"

#include "base_status.h"

enum { PORTS_MAX = 8 }; /* the stalled threads of a moment */

static struct sonde__os_stop known[PORTS_MAX];
static unsigned count, oldest;
static int32_t owner; /* pid */

void sonde__host_ports_done(void)
{
    for (unsigned i = 0; i < count && owner == sonde__os_pid(); i++) {
        sonde__os_stop_close(&known[i]);
    }
    count = oldest = 0;
}

static bool has_ended(const struct sonde__os_stop *thread)
{
    struct sonde__os_stop_text text;
    return sonde__os_stop_describe(thread, &text) == SONDE_ABSENT;
}

static void forget(unsigned i)
{
    sonde__os_stop_close(&known[i]);
    known[i] = known[--count];
}

enum sonde_status sonde__host_port_of(uint64_t tid, struct sonde__os_stop *ret_thread)
{
    struct sonde__os_stop opened;
    if (owner != sonde__os_pid()) {
        sonde__host_ports_done();
        owner = sonde__os_pid();
    }
    for (unsigned i = 0; i < count; i++) {
        if (known[i].tid == tid && has_ended(&known[i])) {
            forget(i);
            return SONDE_ABSENT;
        }
        if (known[i].tid == tid) {
            *ret_thread = known[i];
            return SONDE_OK;
        }
    }
    SONDE_TRY(sonde__os_stop_open(tid, &opened));
    if (count < PORTS_MAX) {
        known[count++] = opened;
    } else {
        sonde__os_stop_close(&known[oldest]);
        known[oldest] = opened;
        oldest = (oldest + 1) % PORTS_MAX;
    }
    *ret_thread = opened;
    return SONDE_OK;
}
