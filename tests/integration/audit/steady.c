// SPDX-License-Identifier: Apache-2.0
/* steady CALLS RATE: makes that many calls, so many a second, from many stacks in two threads: half
 * of getenv() with always new names, half of getppid(). Prints what it made, and the memory of the
 * process when a tenth was made and at the end, in KiB. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 12, BATCH = 500 };

static _Atomic unsigned long long asked, pids, over;
static unsigned long long wanted, rate;
static _Atomic long first_kib;

/* Each bit of `path` chooses one of two calls: 4096 stacks. */
__attribute__((noinline)) static void walk(unsigned depth, unsigned path, unsigned long long i)
{
    if (depth == 0) {
        char name[32];
        snprintf(name, sizeof name, "STEADY_%llu", i);
        (void)!getenv(name);
        (void)getppid();
        return;
    }
    if ((path & 1) != 0) {
        walk(depth - 1, path >> 1, i);
        atomic_fetch_add_explicit(&over, 1, memory_order_relaxed); /* no tail call */
    } else {
        walk(depth - 1, path >> 1, i);
        atomic_fetch_add_explicit(&over, 2, memory_order_relaxed);
    }
}

static long memory_kib(void)
{
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &all, &pages) != 2) {
        exit(1);
    }
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static unsigned long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

/* Half of the calls; a thread that is late catches up. */
static void *make(void *unused)
{
    unsigned long long begin = now_ns(), made = 0;
    while (made < wanted / 4) {
        for (unsigned i = 0; i < BATCH && made < wanted / 4; i++, made++) {
            walk(DEPTH, (unsigned)(made * 2654435761u >> 8), made);
        }
        unsigned long long due = begin + made * 4000000000u / rate, now = now_ns();
        if (now < due) {
            const struct timespec pause = {(time_t)((due - now) / 1000000000u),
                                           (long)((due - now) % 1000000000u)};
            nanosleep(&pause, NULL);
        }
        long none = 0;
        if (made >= wanted / 40 && atomic_load(&first_kib) == 0) {
            (void)atomic_compare_exchange_strong(&first_kib, &none, memory_kib());
        }
    }
    atomic_fetch_add(&asked, made);
    atomic_fetch_add(&pids, made);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    wanted = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
    rate = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (unsigned i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, make, NULL) != 0) {
            return 1;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%llu %llu %ld %ld\n", atomic_load(&asked), atomic_load(&pids), atomic_load(&first_kib),
           memory_kib());
    return 0;
}
