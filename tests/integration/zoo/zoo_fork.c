// SPDX-License-Identifier: Apache-2.0
/* A loop over epoll that is made again while it runs, under another descriptor each time, as
 * libraries do after fork. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject.h"

static int make_epoll(int old, int watched)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd = epoll_create1(EPOLL_CLOEXEC); /* before the old one is closed: another number */
    epoll_ctl(fd, EPOLL_CTL_ADD, watched, &event);
    if (old >= 0) {
        close(old);
    }
    return fd;
}

int main(int argc, char **argv)
{
    struct epoll_event events[4];
    int ends[2];
    inject_start(argc, argv);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return 1;
    }
    int loop = make_epoll(-1, ends[0]);
    unsigned turn = 0;
    do {
        if (++turn % 15 == 0) {
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                _exit(0);
            }
            loop = make_epoll(loop, ends[0]);
            waitpid(child, NULL, 0);
        }
        epoll_wait(loop, events, 4, INJECT_TICK_MS);
    } while (inject_tick());
    return 0;
}
