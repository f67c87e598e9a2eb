// SPDX-License-Identifier: Apache-2.0
/* A program whose threads count and obey orders, for tests of captures by another process. */
#ifndef SONDE_TEST_COUNTED_H
#define SONDE_TEST_COUNTED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe_sample.h"
#include "target.h"

enum { THREADS = 2, LOOKS_MAX = 60000, LOOK_US = 1000 };

enum order {
    COUNT,
    VFORK, /* until `vfork_over`: the thread is in an uninterruptible wait */
    EXIT_THREAD,
    EXIT_PROCESS, /* with 7 */
    EXEC,         /* a program that ends at once, with 0 */
    BLOCK_SIGNAL, /* the one by which it is asked */
    TAKE_SIGNAL,  /* it gets a handler that does nothing */
    REST,         /* until a SIGUSR1 comes */
    NAP,          /* for a moment, again and again between counts */
};

struct shared {
    _Atomic uint64_t tid[THREADS];
    _Atomic int order[THREADS]; /* enum order */
    _Atomic uint64_t turns[THREADS];
    _Atomic bool vfork_over;
    _Atomic int signals;        /* SIGUSR1: those that arrived */
    _Atomic bool captured;      /* by a process that traces for the test */
    _Atomic bool interrupted;   /* PTRACE_INTERRUPT was called */
    _Atomic bool hold;          /* the probe's handler does not begin to answer */
    _Atomic int32_t supervisor; /* of a test that has one */
    int32_t asker;
    struct sonde__probe_sample sample;
};
extern struct shared *shared;
extern pid_t program;

/* Skips the test under an emulator. */
void start_program(void);
void end_program(void);

/* Give the thread an order; it obeys soon. */
void order(uint64_t tid, enum order what);
/* As the kernel prints it; '?': it is gone. */
char letter_of(uint64_t tid);
bool await_letter(uint64_t tid, char letter);
int32_t tracer_of(uint64_t tid);
/* Check that it runs, and that nobody traces it. */
void check_goes_on(unsigned i);

struct sonde__target *open_program(enum sonde__target_mode mode, uint32_t ways);
/* Thread `i`. */
struct sonde__capture capture(struct sonde__target *target, unsigned i);
/* Repeat while it had no CPU and so was not tried. */
struct sonde__capture capture_running(struct sonde__target *target, unsigned i);

#endif
