// SPDX-License-Identifier: Apache-2.0
/* A loop over poll whose array changes its order with each turn and its size with each second one:
 * no descriptor stays the first. */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "inject.h"

int main(int argc, char **argv)
{
    struct pollfd files[8];
    int ends[2];
    inject_start(argc, argv);
    for (unsigned i = 0; i < 8; i++) {
        if (pipe2(ends, O_CLOEXEC) != 0) {
            return 1;
        }
        files[i] = (struct pollfd){ends[0], POLLIN, 0};
    }
    unsigned turn = 0;
    do {
        struct pollfd first = files[turn % 8];
        files[turn % 8] = files[0];
        files[0] = first;
        poll(files, 4 + turn % 4, INJECT_TICK_MS);
        turn++;
    } while (inject_tick());
    return 0;
}
