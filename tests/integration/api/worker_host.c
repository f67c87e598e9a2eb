// SPDX-License-Identifier: Apache-2.0
/* A program without sonde: a worker thread loads a plug-in, main waits for it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *path;

static void *load(void *arg)
{
    usleep(100000); /* let main come to its wait */
    if (dlopen(path, RTLD_NOW) == NULL) {
        puts(dlerror());
        exit(1);
    }
    return arg;
}

__attribute__((noinline)) void main_waits(pthread_t thread);
__attribute__((noinline)) void main_waits(pthread_t thread)
{
    pthread_join(thread, NULL);
    puts("joined");
}

int main(int argc, char **argv)
{
    pthread_t thread;
    path = argc > 1 ? argv[1] : "";
    if (pthread_create(&thread, NULL, load, NULL) != 0) {
        return 1;
    }
    main_waits(thread);
    return 0;
}
