// SPDX-License-Identifier: Apache-2.0
/* Shared by the tests of snapshots: a snapshot that is kept, and threads that block or run. */
#ifndef SONDE_TEST_SNAPSHOTS_H
#define SONDE_TEST_SNAPSHOTS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include <sonde/thread.h>

#include "test.h"
#include "test_signals.h"

enum { DEPTH = 64, SEEN_MAX = 64, FILES = 128 };

struct seen {
    struct sonde_thread thread;
    struct sonde_captured captured;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
};

extern struct seen seen[SEEN_MAX];
extern uint32_t seen_count;
extern struct sonde_snapshot snapshot;

/* Take a snapshot into `seen`. Frame 0 of the calling thread is in this function. */
enum sonde_status capture(uint32_t flags, uint32_t files);
/* sonde_thread_each: keep what is delivered. */
int take(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *stack,
         const struct sonde_captured *captured);
/* The thread must be in the snapshot. */
const struct seen *find(uint64_t tid);
/* No test function is larger, even with the checks of a sanitizer. */
#define FUNCTION_SIZE 2048
/* True if the function is on the stack, or if a late signal of the thread hides that. */
bool holds(const struct seen *s, const void *function, size_t size);

/* Check that a signalled thread is in that function, and its stack complete. */
void check_stands_in(const struct seen *s, const void *function);

/* Skip the test if snapshots are unsupported: an emulator shows its host's registers. */
void need_snapshots(void);
void check_action_is(void (*handler)(int));

struct worker {
    pthread_t thread;
    uint64_t tid;
    int ready, stop;
    int fds[2];
    unsigned bytes; /* read so far */
    int error;
};

/* For the thread: it may be captured now. */
void begin_work(struct worker *w);
/* Returns when the thread has begun. */
void start(struct worker *w, void *(*function)(void *));
void end(struct worker *w);

void *spin(void *worker);
void *read_bytes(void *worker);
/* Returns when the thread is in its read. */
void start_reader(struct worker *w);
void end_reader(struct worker *w);
/* Wake it, and wait until it is in its next read. */
void feed_reader(struct worker *w);
void check_reader(const struct worker *w);

#endif
