// SPDX-License-Identifier: Apache-2.0
/* Loops that do little between two waits: again poll, as dnsmasq, or again select, as PHP. */
#include <poll.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

/* FD_SET() calls it in programs that are compiled with checks. */
extern long __fdelt_chk(long fd);

static volatile time_t seen;

static void wait_by_poll(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    for (;;) {
        while (poll(&p, 1, -1) < 0) {
        }
        seen = time(NULL);
    }
}

static void wait_by_select(int fd)
{
    for (;;) {
        fd_set set;
        struct timeval pause = {0, 20000};
        memset(&set, 0, sizeof set);
        set.fds_bits[__fdelt_chk(fd)] |= 1l << (fd % NFDBITS);
        (void)select(fd + 1, &set, NULL, NULL, &pause);
    }
}

int main(int argc, char **argv)
{
    int ends[2];
    if (argc < 2 || pipe(ends) != 0) {
        return 1;
    }
    strcmp(argv[1], "poll") == 0 ? wait_by_poll(ends[0]) : wait_by_select(ends[0]);
    return 0;
}
