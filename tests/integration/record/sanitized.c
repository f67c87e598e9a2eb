// SPDX-License-Identifier: Apache-2.0
/* A program with a sanitizer's runtime: it defines functions before libc, which replace the
 * recorder's, and which call the next definitions after the program. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int calls;

static void *work(void *arg)
{
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&mutex);
        calls += getppid() != 0;
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

/* A debugger opens these names, which must not mean another file in it. */
static int is_own_name(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    return strncmp(info->dlpi_name, "/proc/self/", 11) == 0;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*floor_of)(double) =
        library != NULL ? (double (*)(double))dlsym(library, "floor") : NULL;
    int is_right = dl_iterate_phdr(is_own_name, NULL) == 0;
    puts(is_right && calls == 100 && floor_of != NULL && floor_of(2.5) == 2 ? "right" : "wrong");
    return 0;
}
