// SPDX-License-Identifier: Apache-2.0
/* Two threads that want each other's lock, where a recorder takes one of its own: this one calls
 * dlsym() from a callback of dl_iterate_phdr(), under the loader's lock, while the other one loads
 * a library. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { TURNS = 3 };

static atomic_bool is_held, is_over;

static void *look_up(void *arg)
{
    while (!is_over) {
        if (is_held) {
            (void)!dlsym(RTLD_DEFAULT, "getppid");
        }
    }
    return arg;
}

/* Long enough for the other thread to reach the loader's lock. */
static int ask(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)info, (void)size, (void)ctx;
    is_held = true;
    usleep(20000);
    (void)!dlsym(RTLD_DEFAULT, "getppid");
    is_held = false;
    return 1;
}

int main(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, look_up, NULL) != 0) {
        return 1;
    }
    for (int i = 0; i < TURNS; i++) {
        dl_iterate_phdr(ask, NULL);
        (void)getppid();
    }
    is_over = true;
    pthread_join(other, NULL);
    puts("ended");
    return 0;
}
