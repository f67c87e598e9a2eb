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
