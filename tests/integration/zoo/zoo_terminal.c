// SPDX-License-Identifier: Apache-2.0
/* A loop that leaves its wait for dialogues with a user: zoo_terminal MS [pipe]. The user, another
 * thread, answers after MS milliseconds at the other side of a terminal; "pipe": of a pipe. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int user, program; /* both sides */
static long answer_ms;

static void *answer(void *ctx)
{
    const struct timespec pause = {answer_ms / 1000, answer_ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
    if (write(user, "y\n", 2) != 2) {
        abort();
    }
    return ctx;
}

static void turn(int fd)
{
    for (int i = 0; i < 20; i++) {
        struct pollfd waited = {.fd = fd, .events = POLLIN};
        poll(&waited, 1, 5);
    }
}

__attribute__((noinline)) static void dialogue(int how)
{
    char text[8];
    pthread_t thread;
    pthread_create(&thread, NULL, answer, NULL);
    if (how == 1) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(program, &set);
        select(program + 1, &set, NULL, NULL, NULL);
    } else if (how == 2) {
        struct pollfd waited[2] = {{.fd = -1}, {.fd = program, .events = POLLIN}};
        poll(waited, 2, -1);
    }
    if (read(program, text, sizeof text) != 2) {
        abort();
    }
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int unused[2], both[2];
    bool is_pipe = argc > 2;
    answer_ms = argc > 1 ? atol(argv[1]) : 700;
    if (pipe(unused) != 0) {
        return 1;
    }
    if (is_pipe) {
        if (pipe(both) != 0) {
            return 1;
        }
        program = both[0];
        user = both[1];
    } else {
        user = posix_openpt(O_RDWR | O_NOCTTY);
        if (user < 0 || grantpt(user) != 0 || unlockpt(user) != 0) {
            return 1;
        }
        program = open(ptsname(user), O_RDWR | O_NOCTTY);
    }
    for (int how = 0; how < (is_pipe ? 1 : 3); how++) {
        turn(unused[0]);
        dialogue(how);
    }
    turn(unused[0]);
    return 0;
}
