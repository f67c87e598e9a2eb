// SPDX-License-Identifier: Apache-2.0
/* A watch of the test's own process, its callback, and functions whose names the tests look for. */
#ifndef TEST_WATCHES_H
#define TEST_WATCHES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sonde/watch.h>

#define MS 1000000ull

/* ThreadSanitizer ends a fork child that starts a thread. */
#if defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define CAN_START_IN_CHILD false
#    endif
#endif
#if defined(__SANITIZE_THREAD__)
#    define CAN_START_IN_CHILD false
#elif !defined(CAN_START_IN_CHILD)
#    define CAN_START_IN_CHILD true
#endif

uint64_t watches_now_ns(void);
/* The injected functions. */
void watch_test_burns(uint64_t for_ns);
void watch_test_blocks(uint64_t for_ns);
/* One wait of the loop of this thread. */
void wait_idle(int timeout_ms);

/* The callback's arguments. */
struct told {
    pthread_mutex_t mutex;
    _Atomic unsigned count;
    struct sonde_stall last;
    char *text;
};
void watches_on_stall(void *ctx, const struct sonde_stall *stall);

/* Skips the test where the system does not show where threads wait. */
struct sonde_watch *watches_start(const struct sonde_watch_options *options);
/* With watches_on_stall(), if told is not null. */
struct sonde_watch *start(struct told *told, uint64_t threshold_ns, int report_fd);
/* Turns with a stall each, until one was reported: if the watch gets no CPU, its clock does not
 * count that time, and a stall may be too short. */
void stall_until_told(struct told *told, void (*stall)(uint64_t for_ns));
/* The text of the report in this file. Ownership: the caller frees it. */
char *watches_show_report(const char *path);

#endif
