// SPDX-License-Identifier: Apache-2.0
/* Calls getenv() in two threads and notes each finished call in a shared file: kept FILE. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uint64_t *done; /* by thread */

static void *call_often(void *count)
{
    for (;;) {
        (void)getenv("SONDE_TEST_NOTHING");
        ++*(_Atomic uint64_t *)count;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int fd = argc == 2 ? open(argv[1], O_RDWR) : -1;
    if (fd < 0) {
        return 2;
    }
    done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (done == MAP_FAILED || pthread_create(&thread, NULL, call_often, (void *)&done[1]) != 0) {
        return 2;
    }
    call_often((void *)&done[0]);
    return 0;
}
