// SPDX-License-Identifier: Apache-2.0
/* Counts calls by stack: the hot half of an audit.
 *
 * A call is a label (the caller's number for a function) and a stack. The stack goes into the
 * depot; each pair of label and stack has a number. Each thread has a row of counters by these
 * numbers, so threads do not write to the same memory. A row belongs to a memo slot
 * (capture_memo.h): the next thread that leases the slot continues it, and the sum of all rows is
 * exact. Threads without a slot share one row.
 *
 * Bounded: a call whose stack has no room in the depot is counted by its label alone. Context:
 * handler, unless said otherwise. */
#ifndef SONDE_RECORD_H
#define SONDE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "arch_regs.h"
#include "depot.h"
#include "record_phase.h"

struct sonde__record;

/* Frames kept of a stack: the innermost ones; of a deeper stack also this many of the outermost. */
enum { SONDE__RECORD_DEPTH = 256, SONDE__RECORD_OUTER = 64 };

/* Labels are below this. A caller that counts by phase (record_phase.h) adds the phase's number,
 * times this. */
enum { SONDE__RECORD_LABELS = 1024 };
enum { SONDE__RECORD_LABELS_ALL = SONDE__RECORD_LABELS * SONDE__RECORD_PHASES };

/* nodes: of the depot. Returns OK | USAGE (too many) | MEMORY. Context: start-up */
SONDE_NODISCARD enum sonde_status sonde__record_open(uint32_t nodes,
                                                     struct sonde__record **ret_record);
/* No thread may be recording. record: may be null */
void sonde__record_close(struct sonde__record *record);

/* The same in memory of the caller: sonde__record_size() zeroed bytes at a page boundary, which
 * other processes may share; only the used part is touched. sonde__record_close() does not free it.
 * Others may write anything there: counts and stacks are wrong then, but no access is outside of
 * it. Returns null for too many nodes, or without memory. Context: start-up */
uint64_t sonde__record_size(uint32_t nodes);
/* The size of its first part, without the counters: enough for stacks alone. */
uint64_t sonde__record_stacks_size(uint32_t nodes);
/* Where in it the depot begins. */
uint64_t sonde__record_depot_offset(void);
struct sonde__record *sonde__record_at(void *memory, uint32_t nodes);

/* Read such a record from another process: entries, stacks and losses, as of now. Returns
 * OK | MEMORY. Release: sonde__record_close(). Context: start-up */
SONDE_NODISCARD enum sonde_status sonde__record_view(const void *memory, uint32_t nodes,
                                                     struct sonde__record **ret_record);

/* Limit the time that threads spend on stacks: walks over code without CFI are expensive. A walk
 * beyond the budget of its thread ends at the first such frame (SONDE_END_COSTLY); the call is
 * still counted. The budget is CPU time: BUDGET_NS plus a part of what the thread has used so far.
 */
#define SONDE__RECORD_BUDGET_NS   ((uint64_t)200000000)
#define SONDE__RECORD_BUDGET_PART 2u /* a half */
void sonde__record_limit_walks(struct sonde__record *record);

/* Also keep of each number when it was counted, and by which threads. now_ns: a clock of the
 * caller, read for each call; 0 is no time. Returns false without memory. Context: start-up */
bool sonde__record_keep_seen(struct sonde__record *record, uint64_t (*now_ns)(void));

/* Threads get numbers as they make their first calls. */
enum { SONDE__RECORD_THREADS = 63 };
/* The bit of all later threads, and of those that may share thread-local variables. */
#define SONDE__RECORD_OTHER_THREADS ((uint64_t)1 << SONDE__RECORD_THREADS)
/* The thread with a number below SONDE__RECORD_THREADS; 0: there is none. */
uint64_t sonde__record_tid(const struct sonde__record *record, uint32_t thread);

struct sonde__depot *sonde__record_depot(const struct sonde__record *record);
uint32_t sonde__record_nodes(const struct sonde__record *record); /* that it was opened for */

/* Look (record_images.h) at the images of this process, as of the snapshot that captures use. Not
 * for a record in memory of the caller. Returns OK | MEMORY. Context: any thread, one at a time
 */
SONDE_NODISCARD enum sonde_status sonde__record_inspect_images(struct sonde__record *record);

/* The calling thread's stack: its id in the depot, NONE where there was no room. */
uint32_t sonde__record_stack(struct sonde__record *record, const struct sonde__regs *caller,
                             uint32_t skip);

/* Count one call. False: the stack had no room; the call is counted by its label alone. */
bool sonde__record_call(struct sonde__record *record, uint32_t label, uint32_t stack);

/* The same; returns the number of the label and stack, or NO_NUMBER where the stack had no room.
 * is_stranger: the thread may share its thread-local variables with another running thread; its
 * stack is from sonde__record_stranger_stack(). */
#define SONDE__RECORD_NO_NUMBER UINT32_MAX
uint32_t sonde__record_count(struct sonde__record *record, uint32_t label, uint32_t stack,
                             bool is_stranger);
uint32_t sonde__record_stranger_stack(struct sonde__record *record,
                                      const struct sonde__regs *caller);

/* Both in one, for such a thread. */
bool sonde__record_stranger(struct sonde__record *record, uint32_t label,
                            const struct sonde__regs *caller);

/* What was counted, by number. The meaning of a number never changes. */
struct sonde__record_entry {
    uint32_t number;
    uint32_t label;
    uint32_t stack;
    uint64_t count;
    uint64_t first_ns, last_ns; /* when, by the clock; 0: not kept */
    uint64_t threads;           /* bits, by the threads' numbers */
};
uint32_t sonde__record_numbers(const struct sonde__record *record);
/* False: there is no entry of this number (yet; some numbers never get one). */
bool sonde__record_entry(const struct sonde__record *record, uint32_t number,
                         struct sonde__record_entry *ret_entry);
/* Calls with this label whose stacks had no room. */
uint64_t sonde__record_lost(const struct sonde__record *record, uint32_t label);

#endif
