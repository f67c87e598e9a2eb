// SPDX-License-Identifier: Apache-2.0
/* A loop of poll() that stalls for two causes, `served COUNT MS` times for each, and asks for some
 * variables of the environment. BUILD makes another build of the same sources, UNRELATED adds a
 * function that has nothing to do with it, CAUSE a third cause and a third caller of getenv(). */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;
static uint64_t until_ns, stall_ns;
static const char *volatile build = BUILD;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#ifdef UNRELATED
static NOINLINE void count_primes(void)
{
    for (unsigned i = 2; i < 5000; i++) {
        unsigned k = 2;
        while (k < i && i % k != 0) {
            k++;
        }
        sink += k == i;
    }
}
#endif

static NOINLINE void render_page(void)
{
    while (now_ns() < until_ns) {
        for (unsigned i = 0; i < 5000; i++) {
            sink += i;
        }
    }
    sink++;
}

static NOINLINE void write_all(void)
{
    usleep((useconds_t)(stall_ns / 1000));
    sink++;
}

static NOINLINE void save_session(void)
{
    write_all();
    sink++;
}

#ifdef CAUSE
static NOINLINE void migrate(void)
{
    sink += getenv("MIGRATE") != NULL;
    write_all();
    sink++;
}
#endif

static NOINLINE void read_settings(void)
{
    sink += getenv("HOME") != NULL;
}

static NOINLINE void load(unsigned depth)
{
    if (depth > 0) {
        load(depth - 1);
    } else {
        read_settings();
    }
    sink++;
}

static void turn(int fd, unsigned turns)
{
    for (unsigned i = 0; i < turns; i++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, 1, 5);
    }
}

static void stall(void (*cause)(void), int fd)
{
    until_ns = now_ns() + stall_ns;
    cause();
    turn(fd, 8);
}

int main(int argc, char **argv)
{
    unsigned count = argc > 2 ? (unsigned)atoi(argv[1]) : 1;
    int fd = eventfd(0, EFD_CLOEXEC);
    stall_ns = (argc > 2 ? (uint64_t)atoi(argv[2]) : 100) * 1000000u;
    turn(fd, 10);
    sink += build[0] != '\0';
#ifdef UNRELATED
    count_primes();
    turn(fd, 2); /* not in the turn of the first stall */
#endif
    for (unsigned i = 0; i < count; i++) {
        stall(render_page, fd);
        stall(save_session, fd);
        load(i % 3);
    }
#ifdef CAUSE
    stall(migrate, fd);
#endif
    return 0;
}
