// SPDX-License-Identifier: Apache-2.0
/* A program for rules: known numbers of calls, some by other names of the function. */
#include "ruled.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void close_all(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

static void *in_thread(void *unused)
{
    for (unsigned i = 0; i < THREAD_GETENV; i++) {
        (void)!getenv("THREAD");
    }
    return unused;
}

#ifndef RULED_MAIN
#    define RULED_MAIN main
#endif

int RULED_MAIN(int argc, char **argv);
int RULED_MAIN(int argc, char **argv)
{
    (void)argv;
    int flags = argc > 100 ? O_RDWR : O_RDONLY;
    pthread_t thread;
    for (unsigned i = 0; i < OWN_GETENV; i++) {
        (void)!getenv("OWN");
    }
    for (unsigned i = 0; i < OPENS; i++) {
        close_all(open("/dev/null", flags));
    }
    for (unsigned i = 0; i < OPENS_64; i++) {
        close_all(open64("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    for (unsigned i = 0; i < SYSCALLS; i++) {
        (void)syscall(SYS_getppid);
    }
    ask_in_library(LIBRARY_GETENV);
    ask_otherwise(OTHER_GETENV);
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0) {
        return 1;
    }
    puts("output");
    return 3;
}
