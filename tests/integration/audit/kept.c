// SPDX-License-Identifier: Apache-2.0
/* A program for rules that keep arguments: known numbers of calls with known values, some of which
 * cannot be read, or change while they are read. */
#include "kept.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void close_all(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

static void open_files(void)
{
    int folder = open("/dev", O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < NULL_OPENS; i++) {
        close_all(open("/dev/null", O_RDONLY));
    }
    for (unsigned i = 0; i < ZERO_OPENS; i++) {
        close_all(open("/dev/../dev//zero", O_WRONLY));
    }
    for (unsigned i = 0; i < FOLDER_OPENS; i++) {
        close_all(openat(folder, "full", O_RDONLY));
    }
    for (unsigned i = 0; i < NUMBER_OPENS; i++) {
        close_all((int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0));
    }
    close_all(folder);
}

static void ask(void)
{
    char name[700];
    for (unsigned i = 0; i < MANY_NAMES; i++) {
        snprintf(name, sizeof name, "MANY_%u", i);
        (void)!getenv(name);
    }
    memset(name, 'x', 600);
    memcpy(name, "LONG_", 5);
    name[600] = '\0';
    for (unsigned i = 0; i < LONG_NAMES; i++) {
        (void)!getenv(name);
    }
    memset(name, 'y', EDGE_SIZE + 1);
    memcpy(name, "EDGE_", 5);
    name[EDGE_SIZE + 1] = '\0'; /* one too long */
    (void)!getenv(name);
    name[EDGE_SIZE] = '\0';
    (void)!getenv(name);
    for (unsigned i = 0; i < WEIGHTS * (WEIGHTS + 1) / 2; i++) {
        static const char order[] = "1223334444";
        snprintf(name, sizeof name, "WEIGHT_%c", order[i]);
        (void)!getenv(name);
    }
    (void)!getenv("ODD_\n\x1b[31m\xff");
    (void)!getenv("");
    (void)!getenv("SECRET_token=hush");
}

static void connect_sockets(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(8)};
    struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/no/such/socket"};
    struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = "\0hidden"};
    struct sockaddr_un parts = {.sun_family = AF_UNIX, .sun_path = "\0two\0parts"};
    struct sockaddr other = {.sa_family = AF_NETLINK};
    in.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1, of documentation (RFC 5737) */
    in6.sin6_addr = in6addr_loopback;
    for (unsigned i = 0; i < IP_CONNECTS; i++) {
        (void)!connect(-1, (const struct sockaddr *)&in, sizeof in);
    }
    (void)!connect(-1, (const struct sockaddr *)&in6, sizeof in6);
    (void)!connect(-1, (const struct sockaddr *)&un, sizeof un);
    (void)!connect(-1, (const struct sockaddr *)&abstract,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 7));
    (void)!connect(-1, (const struct sockaddr *)&parts,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 10));
    (void)!connect(-1, (const struct sockaddr *)&un, sizeof un.sun_family);
    (void)!connect(-1, &other, sizeof other);
    (void)!lseek(-1, (off_t)0x123456789a, -7);
    (void)!connect(-1, NULL, 0);
    (void)!connect(-1, (const struct sockaddr *)(uintptr_t)8, sizeof in); /* NOLINT: on purpose */
}

static char *page;
static size_t page_size;

static void pass_bad_pointers(void)
{
    static volatile uintptr_t nowhere = 8;
    memset(page, 'a', page_size); /* what follows it cannot be read */
    for (unsigned i = 0; i < BAD_ACCESSES; i++) {
        const char *volatile none = NULL;
        (void)!access(none, F_OK);
        (void)!access((const char *)nowhere, F_OK);
        (void)!access(page + page_size - 4, F_OK);
    }
}

static _Atomic int end;

static void *change(void *unused)
{
    for (unsigned i = 0; atomic_load(&end) == 0; i++) {
        if (i % 3 == 0) {
            mprotect(page, page_size, PROT_NONE);
        } else if (i % 3 == 1) {
            (void)!mmap(page, page_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        } else {
            memset(page, 'b', page_size - 1);
            strcpy(page, "RACE_1");
        }
    }
    return unused;
}

static void race(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, change, NULL) != 0) {
        exit(1);
    }
    for (unsigned i = 0; i < RACED_ACCESSES; i++) {
        (void)!faccessat(AT_FDCWD, page, F_OK, 0);
    }
    atomic_store(&end, 1);
    pthread_join(thread, NULL);
}

static void *ask_in_thread(void *unused)
{
    char name[32];
    for (unsigned i = 0; i < THREAD_ASKS; i++) {
        snprintf(name, sizeof name, "THREAD_%u", i % 10);
        (void)!getenv(name);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    page = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || munmap(page + page_size, page_size) != 0) {
        return 1;
    }
    open_files();
    ask();
    connect_sockets();
    pass_bad_pointers();
    race();
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, ask_in_thread, NULL) != 0) {
            return 1;
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
