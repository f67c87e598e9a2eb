// SPDX-License-Identifier: Apache-2.0
/* A loop over a wait with a time limit (poll, sleep or a semaphore): turns of 20 ms for two
 * seconds, then one wait of 3 s; three times. It prints when each long wait begins. */
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *kind = "";
static int ends[2];
static sem_t semaphore;

static __attribute__((noinline)) void turn(unsigned ms)
{
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    if (strcmp(kind, "poll") == 0) {
        (void)poll(&fd, 1, (int)ms);
    } else if (strcmp(kind, "semaphore") == 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += time.tv_sec + (until.tv_nsec + time.tv_nsec) / 1000000000;
        until.tv_nsec = (until.tv_nsec + time.tv_nsec) % 1000000000;
        (void)sem_timedwait(&semaphore, &until);
    } else {
        (void)nanosleep(&time, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2 || pipe(ends) != 0) {
        return 1;
    }
    kind = argv[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("started");
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 100; i++) {
            turn(20);
        }
        printf("long %d\n", round);
        turn(3000);
    }
    return 0;
}
