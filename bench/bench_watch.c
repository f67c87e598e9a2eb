// SPDX-License-Identifier: Apache-2.0
/* What the watch adds to one turn of a loop that is known: the wrapped epoll_wait against libc's
 * own, in turns, in a program that carries the probe as `sonde run` loads it. The turn itself,
 * without the wrapper and the call, is shown beside it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "probe_turn.h"

typedef int wait_function(int, struct epoll_event *, int, int);

static struct sonde__probe_page page;
static struct sonde__probe_slot *slot;
static wait_function *libc_wait;
static int epfd;

static void call_libc(void *ctx)
{
    struct epoll_event event;
    (void)ctx;
    (void)libc_wait(epfd, &event, 1, 0);
}

static void call_wrapped(void *ctx)
{
    struct epoll_event event;
    (void)ctx;
    (void)epoll_wait(epfd, &event, 1, 0);
}

static void turn(void *ctx)
{
    struct sonde__probe_wait wait = {3, 0x7000, 0x400100, 0, SONDE__PROBE_EPOLL, false, true};
    struct timespec now;
    (void)ctx;
    if (sonde__probe_enter(slot, &wait) != SONDE__PROBE_NESTED) {
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        sonde__probe_leave(slot, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
        bench_keep(sonde__probe_must_wake(&page) ? slot : NULL);
    }
}

/* Started again as `sonde run` would start it. */
static void start_with_probe(char *self)
{
    char *argv[] = {self, (char *)(uintptr_t) "probe", NULL};
    char preload[4096], number[16];
    int fd = memfd_create("bench", 0);
    struct sonde__probe_page *shared;
    snprintf(preload, sizeof preload, "%s", self);
    char *slash = strrchr(preload, '/');
    if (fd < 0 || slash == NULL || ftruncate(fd, sizeof *shared) != 0) {
        return;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) {
        return;
    }
    shared->version = SONDE__PROBE_VERSION;
    shared->slot_count = SONDE__PROBE_SLOTS;
    snprintf(slash, sizeof preload - (size_t)(slash - preload), "/../preload/libsonde-preload.so");
    snprintf(number, sizeof number, "%d", fd);
    setenv("LD_PRELOAD", preload, 1);
    setenv("SONDE_RUN_PAGE", number, 1);
    execv(self, argv);
}

int main(int argc, char **argv)
{
    static char self[4000];
    (void)argv;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (argc < 2 && n > 0) {
        self[n] = '\0';
        start_with_probe(self);
    }
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    libc_wait = libc != NULL ? (wait_function *)(uintptr_t)dlsym(libc, "epoll_wait") : NULL;
    bool probed = libc_wait != NULL && libc_wait != epoll_wait;
    epfd = epoll_create1(EPOLL_CLOEXEC);
    slot = sonde__probe_claim(&page, 1);
    const struct bench_method methods[] = {
        {"libc", libc_wait != NULL ? call_libc : NULL, NULL},
        {"wrapped", probed ? call_wrapped : NULL, NULL},
        {"turn", turn, NULL},
    };
    double ns[3];
    bench_compare(methods, 3, ns);
    bench_print(ns[2], "ns", "watch.turn.inner_ns");
    if (probed) {
        bench_print(ns[0], "ns", "watch.turn.epoll_wait_ns");
        bench_print(ns[1] - ns[0], "ns", "watch.turn.added_ns");
    } else {
        bench_note("watch.turn.added_ns: the probe was not loaded");
    }
    return 0;
}
