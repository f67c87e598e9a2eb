// SPDX-License-Identifier: Apache-2.0
/* A loop of poll() that stalls on request: `groups same N` N times for one cause, each time by
 * other ways through it; `groups causes N` N times for each of many causes, which main() has no
 * part in. Each cause is a function of its own, or a callee of one hot function. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;
static uint64_t until_ns, stall_ns;
static uint32_t seed = 1;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int is_over(void)
{
    return now_ns() >= until_ns;
}

static unsigned pick(unsigned below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static NOINLINE void spin(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        sink += i;
    }
}

/* --- one cause: a document is parsed; which values it has, differs --- */

static NOINLINE void hash_text(void)
{
    spin(20000 + pick(20000));
    sink++;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static NOINLINE void sort_keys(void)
{
    int keys[300];
    for (unsigned i = 0; i < 300; i++) {
        keys[i] = (int)pick(10000);
    }
    qsort(keys, 300, sizeof *keys, compare);
    sink += (uint64_t)keys[0];
}

static NOINLINE void format_number(void)
{
    char text[64];
    for (unsigned i = 0; i < 120; i++) {
        sink += (uint64_t)snprintf(text, sizeof text, "%.12g %u", (double)pick(1000) / 7, i);
    }
}

static NOINLINE void copy_text(void)
{
    static char from[262144], to[262144];
    memcpy(to, from, sizeof to);
    sink += (uint64_t)to[pick(262144)];
}

static NOINLINE void parse_value(unsigned depth)
{
    static void (*const kinds[])(void) = {hash_text, sort_keys, format_number, copy_text};
    if (depth > 0) {
        parse_value(depth - 1);
        sink++;
        return;
    }
    kinds[pick(4)]();
    sink++;
}

static NOINLINE void load_document(void)
{
    while (!is_over()) {
        parse_value(pick(20));
        if (pick(40) == 0) {
            usleep(200); /* a slow disk now and then */
        }
    }
}

/* --- many causes --- */

#define BUSY(name)                                                                                 \
    static NOINLINE void name(void)                                                                \
    {                                                                                              \
        while (!is_over()) {                                                                       \
            spin(5000);                                                                            \
        }                                                                                          \
        sink++;                                                                                    \
    }
BUSY(render_page)
BUSY(update_index)
BUSY(draw_chart)
BUSY(check_spelling)
BUSY(find_duplicates)
BUSY(encode_video)
BUSY(layout_text)
BUSY(scale_image)
BUSY(hot_first)
BUSY(hot_second)
BUSY(hot_third)

/* Three causes: its callees. */
static NOINLINE void hot(unsigned which)
{
    static void (*const callees[])(void) = {hot_first, hot_second, hot_third};
    spin(1000);
    callees[which]();
    sink++;
}

static NOINLINE void call_first(void)
{
    hot(0);
    sink++;
}

static NOINLINE void hot_of_0(void)
{
    hot(0);
    sink++;
}

static NOINLINE void wait_a_while(void)
{
    usleep((useconds_t)(stall_ns / 1000));
    sink++;
}

static NOINLINE void wait_for_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        usleep((useconds_t)(stall_ns / 1000));
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sink++;
}

static void *write_later(void *fd)
{
    usleep((useconds_t)(stall_ns / 1000));
    sink += (uint64_t)write((int)(intptr_t)fd, "x", 1);
    return NULL;
}

static NOINLINE void read_pipe(void)
{
    int fds[2];
    pthread_t thread;
    char byte;
    if (pipe(fds) == 0) {
        pthread_create(&thread, NULL, write_later, (void *)(intptr_t)fds[1]);
        sink += (uint64_t)read(fds[0], &byte, 1);
        pthread_join(thread, NULL);
        close(fds[0]);
        close(fds[1]);
    }
}

static NOINLINE void receive_reply(void)
{
    int fds[2];
    pthread_t thread;
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0) {
        pthread_create(&thread, NULL, write_later, (void *)(intptr_t)fds[1]);
        sink += (uint64_t)recv(fds[0], &byte, 1, 0);
        pthread_join(thread, NULL);
        close(fds[0]);
        close(fds[1]);
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *hold_lock(void *taken)
{
    pthread_mutex_lock(&lock);
    *(volatile int *)taken = 1;
    usleep((useconds_t)(stall_ns / 1000));
    pthread_mutex_unlock(&lock);
    return NULL;
}

static NOINLINE void take_lock(void)
{
    volatile int taken = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, hold_lock, (void *)&taken);
    while (!taken) {
    }
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    sink++;
}

static NOINLINE void join_thread(void)
{
    pthread_t thread;
    int fd = open("/dev/null", O_WRONLY);
    pthread_create(&thread, NULL, write_later, (void *)(intptr_t)fd);
    pthread_join(thread, NULL);
    close(fd);
}

/* One function, blocked in two ways. */
static NOINLINE void store(int how)
{
    struct pollfd none = {.fd = -1};
    if (how == 0) {
        poll(&none, 1, (int)(stall_ns / 1000000));
    } else {
        usleep((useconds_t)(stall_ns / 1000));
    }
    sink++;
}

static NOINLINE void store_by_poll(void)
{
    store(0);
    sink++;
}

static void hot_of_1(void)
{
    hot(1);
}

static void hot_of_2(void)
{
    hot(2);
}

static void (*const causes[])(void) = {
    render_page,   update_index, draw_chart,   check_spelling, find_duplicates,
    encode_video,  layout_text,  scale_image,  hot_of_0,       hot_of_1,
    hot_of_2,      call_first,   wait_a_while, wait_for_child, read_pipe,
    receive_reply, take_lock,    join_thread,  store_by_poll,  load_document,
};

/* --- the loop --- */

static void turn(int fd, unsigned turns)
{
    for (unsigned i = 0; i < turns; i++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, 1, 5);
    }
}

int main(int argc, char **argv)
{
    unsigned count = argc > 3 ? (unsigned)atoi(argv[2]) : 1;
    int fd = eventfd(0, EFD_CLOEXEC), same = argc > 1 && strcmp(argv[1], "same") == 0;
    stall_ns = (argc > 3 ? (uint64_t)atoi(argv[3]) : 100) * 1000000u;
    turn(fd, 10);
    for (unsigned c = 0; c < (same ? 1 : sizeof causes / sizeof *causes); c++) {
        for (unsigned i = 0; i < count; i++) {
            until_ns = now_ns() + stall_ns;
            (same ? load_document : causes[c])();
            turn(fd, 8);
        }
        dprintf(1, "%u\n", same ? count : c);
    }
    return 0;
}
