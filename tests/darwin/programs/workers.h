// SPDX-License-Identifier: Apache-2.0
/* Threads whose stacks are known: some spin in a leaf function, some wait in a system call. Each of
 * their functions notes its return address by the compiler's builtin; a stack must end with exactly
 * these. */
#ifndef SONDE_DARWIN_WORKERS_H
#define SONDE_DARWIN_WORKERS_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include <mach/kern_return.h>

#include <sonde/stack.h>

/* of the simulated libSystem */
extern int64_t sim_port_references, sim_lists, sim_reads_left;
/* handlers of signals and exceptions that were installed: sim/handlers.c */
extern uint64_t sim_handlers;
/* labels and classes of threads that ran: sim/dispatch.c */
extern uint64_t sim_labels_while_running;
extern uint64_t sim_calls, sim_maps_while_suspended, sim_allocations_while_suspended;
extern uint32_t sim_suspended;
extern kern_return_t sim_suspend_result, sim_state_result, sim_list_result;
extern void (*sim_after_list)(void), (*sim_on_read)(void);
void sim_tell_image(uint32_t index, int is_there);
int sim_is_waiting(pthread_t thread);

extern unsigned mistakes;

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : (void)(mistakes++, printf("line %d: %s\n", __LINE__, #condition)))

enum { SPINNERS = 2, SLEEPERS = 2, WORKERS = SPINNERS + SLEEPERS, DEPTH = 20 };

extern struct worker {
    pthread_t thread;
    uint64_t tid;
    volatile int is_ready, is_over;
    volatile uint64_t turns;
    uint64_t noted[DEPTH + 3];
    unsigned note_count;
} workers[WORKERS]; /* the spinners first */

/* The workers are in their loop and in their call when this returns. */
void start_workers(void);

/* Has the stack of this worker exactly its frames, up to the root? */
int is_right_at(unsigned index, const struct sonde_stack *stack);

/* No port, array or suspension is left, nothing was allocated meanwhile, and the spinners run. */
void check_nothing_is_left(void);

void end_first_spinner(void);

/* What sonde writes, as one string. */
extern char text[1 << 16];
extern size_t text_length;
int append(void *ctx, const void *part, size_t size);

#endif
