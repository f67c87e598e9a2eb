// SPDX-License-Identifier: Apache-2.0
/* Threads without thread-local storage of their own count in what they share. */
#include <pthread.h>

#include "record.h"
#include "test.h"

enum { THREADS = 4 };

#if defined(SONDE_EMULATED) || defined(SONDE_SANITIZED)
enum { STRANGERS = 2000 };
#else
enum { STRANGERS = 100000 };
#endif

static struct sonde__record *shared_record;

static pthread_barrier_t start_together;

static void *count_as_stranger(void *from)
{
    const struct sonde__regs *regs = from;
    CHECK(sonde__record_call(shared_record, 3, sonde__record_stack(shared_record, regs, 0)));
    pthread_barrier_wait(&start_together);
    for (int i = 0; i < STRANGERS; i++) {
        CHECK(sonde__record_stranger(shared_record, 3, regs));
    }
    return NULL;
}

/* Threads that cannot tell themselves apart count on one stack, and none is lost. */
TEST(strangers_count_together)
{
    struct sonde__regs regs = {.pc = (uint64_t)(uintptr_t)count_as_stranger + 4,
                               .arch = SONDE__ARCH_HOST};
    pthread_t threads[THREADS];
    struct sonde__record_entry entry;
    uint64_t sum = 0;
    CHECK_OK(sonde__record_open(1 << 10, &shared_record));
    pthread_barrier_init(&start_together, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, count_as_stranger, &regs), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (uint32_t i = 0; i < sonde__record_numbers(shared_record); i++) {
        sum += sonde__record_entry(shared_record, i, &entry) && entry.label == 3 ? entry.count : 0;
    }
    CHECK_EQ(sum, (uint64_t)THREADS * ((uint64_t)STRANGERS + 1));
    CHECK_EQ(sonde__record_lost(shared_record, 3), 0);
    sonde__record_close(shared_record);
    pthread_barrier_destroy(&start_together);
}
