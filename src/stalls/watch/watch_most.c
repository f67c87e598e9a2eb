// SPDX-License-Identifier: Apache-2.0
#include "watch_most.h"

#include "base_math.h"

#define MS 1000000ull

void sonde__watch_count_unsure(struct sonde__watch_session *s, uint64_t most_ns)
{
    s->unsure_count++;
    s->unsure_ns = sonde__base_max(s->unsure_ns, most_ns);
}

void sonde__watch_print_most(struct sonde__watch_session *s, uint64_t tid, uint64_t lasted_ns,
                             uint64_t most_ns)
{
    if (most_ns / MS > lasted_ns / MS) {
        sonde__watch_print(s->writer,
                           "thread %llu: this stall of %llu ms may have lasted up to %llu ms: the "
                           "watch did not run, or the machine stood still",
                           (unsigned long long)tid, (unsigned long long)(lasted_ns / MS),
                           (unsigned long long)(most_ns / MS));
    }
}

/* The functions of a stall cannot be read any more: the addresses are another program's now. When
 * that was executed is not known either. */
void sonde__watch_tell_of_lost(struct sonde__watch_session *s)
{
    for (uint32_t i = 0; i < s->used; i++) {
        const struct sonde__decision *d = &s->loops[i].decision;
        if (d->phase == SONDE__DECIDE_STALL && !s->loops[i].early.is_turn) {
            sonde__watch_count_unsure(s, sonde__decide_most(d));
            sonde__watch_print(s->writer,
                               "thread %llu had not been back in its loop for up to %llu ms when "
                               "the program executed another one: this stall has no stacks",
                               (unsigned long long)s->loops[i].tid,
                               (unsigned long long)(sonde__decide_most(d) / MS));
        }
    }
}
