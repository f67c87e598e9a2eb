// SPDX-License-Identifier: Apache-2.0
/* A loop whose thread is blocked in vfork() while the child waits as the loop does, in the same
 * place. Arguments: HOW MILLISECONDS. HOW:
 *
 *   once    one wait
 *   often   many short waits
 *   sleeps  many short sleeps */
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int ends[2], ms = argc > 2 ? atoi(argv[2]) : 0;
    char how = argc > 2 ? argv[1][0] : '\0';
    volatile int turn;
    pid_t child;
    if (pipe(ends) != 0) {
        return 1;
    }
    for (turn = 0; turn < 40; turn++) {
        struct pollfd ready = {ends[0], POLLIN, 0};
        (void)poll(&ready, 1, 10);
        if (turn == 30) {
            child = vfork(); /* NOLINT: of a child that does more than exec */
            if (child == 0) {
                int count = how == 'o' && argv[1][1] == 'n' ? 1 : 20;
                for (int n = 0; n < count; n++) {
                    if (how == 's') {
                        (void)usleep((useconds_t)ms * 1000 / 20);
                    } else {
                        (void)poll(&ready, 1, ms / count);
                    }
                }
                _exit(0);
            }
            (void)waitpid(child, NULL, 0);
        }
    }
    return 0;
}
