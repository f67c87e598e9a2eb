// SPDX-License-Identifier: Apache-2.0
#include "capture_snapshot.h"

#include "base_mem.h"
#include "base_status.h"
#include "capture_park.h"
#include "capture_thread.h"
#include "capture_walk.h"

enum {
    ROUNDS_MAX = 8, /* if threads still wake then, the snapshot is not consistent */
    LEAVE_LOOK_NS = 20000,
    HOLD_SPARE_NS = 100000000,
    STAT_FILES_MAX = 64, /* kept open while threads are asked; more are opened each time */
    STOPPED_LOOKS = 4,   /* in a row: a thread is only briefly between signal and handler */
    STAND_LOOK_NS = 50000,
    /* After the release, the program uses its CPUs again: a thread that has not answered yet
     * waits for a time slice of each thread before it. */
    SLICE_NS = 6000000,
    ANSWER_LOOK_NS = 2000000, /* a thread with a CPU has answered by then */
    ANSWER_LOOK_MAX_NS = 20000000,
};

#define NOTE_SILENT "it runs and did not answer the signal in time"

struct round {
    struct sonde__snapshot *snapshot;
    const struct sonde__image_set *images;
    uint64_t begin_ns, deadline_ns, stop_begin_ns;
    uint64_t handler;    /* the signal's handler, as the system has it */
    uint32_t stat_files; /* open stat files of threads */
    bool is_open;        /* a thread was asked */
    bool can_interrupt;  /* sonde__os_interrupt_running() works */
};

#define each_thread(thread, roster)                                                                \
    for (struct sonde__roster_thread *thread = (roster)->threads,                                  \
                                     *end_ = (roster)->threads + (roster)->count;                  \
         thread < end_; thread++)

static uint32_t count_phase(const struct sonde__roster *roster, enum sonde__roster_phase phase)
{
    uint32_t count = 0;
    each_thread(thread, roster)
    {
        count += thread->phase == phase;
    }
    return count;
}

/* --- looking --- */

static void capture_self(const struct sonde__snapshot *snapshot,
                         struct sonde__roster_thread *thread)
{
    sonde__capture_roster_clear(snapshot->roster, thread);
    sonde__capture_walk_counted(&thread->stack, snapshot->caller, false, snapshot->skip,
                                SONDE__CAPTURE_OWN);
    thread->phase = SONDE__ROSTER_SELF;
}

/* A stack of the last snapshot is kept only if the kernel counts the thread's time slices. */
static void begin_threads(struct sonde__snapshot *snapshot)
{
    uint64_t self = sonde__os_tid();
    each_thread(thread, snapshot->roster)
    {
        bool is_remembered = thread->phase == SONDE__ROSTER_READ && thread->seen.slices != 0;
        thread->is_unanswered = false;
        thread->note = NULL;
        if (thread->phase == SONDE__ROSTER_GONE) {
            continue;
        }
        if (thread->tid == self) {
            capture_self(snapshot, thread);
        } else if (!is_remembered) {
            thread->phase = SONDE__ROSTER_NEW;
        }
    }
}

/* Check all threads in `phase`. Returns how many are unchanged. */
static uint32_t look_all(struct sonde__snapshot *snapshot, enum sonde__roster_phase phase)
{
    uint32_t same = 0;
    each_thread(thread, snapshot->roster)
    {
        if (thread->phase == phase) {
            same += sonde__capture_roster_look(snapshot->roster, thread);
        }
    }
    return same;
}

/* Find new and ended threads. False: the roster may lack some threads. */
static bool find_threads(struct sonde__snapshot *snapshot)
{
    for (unsigned i = 0; i < ROUNDS_MAX && !sonde__capture_roster_is_whole(snapshot->roster); i++) {
        if (sonde__capture_roster_list(snapshot->roster) != SONDE_OK) {
            return false;
        }
        (void)look_all(snapshot, SONDE__ROSTER_NEW);
    }
    return sonde__capture_roster_is_whole(snapshot->roster);
}

/* --- asking --- */

static void sleep_ns(uint64_t ns)
{
    uint32_t nobody = 0;
    enum sonde_status status = sonde__os_sleep(&nobody, 0, ns, false);
    (void)status;
}

static enum sonde_status read_stat(const struct sonde__roster_thread *thread,
                                   struct sonde__capture_stat *ret_stat)
{
    return thread->stat_fd >= 0 ? sonde__capture_read_stat_file(thread->stat_fd, ret_stat)
                                : sonde__capture_read_stat(thread->tid, ret_stat);
}

/* Does the thread block the signal? It does in our own handler, but can be asked there: the
 * signal arrives when it leaves. */
static bool blocks_signal(const struct round *round, const struct sonde__roster_thread *thread,
                          struct sonde__capture_stat *stat)
{
    uint64_t begin_ns = sonde__os_now_ns();
    for (;;) {
        bool blocks = (stat->blocked >> (round->snapshot->signal - 1) & 1) != 0;
        if (!blocks || sonde__capture_park_is_inside(thread->tid)) {
            return false;
        }
        bool is_brief =
            sonde__capture_park_was_inside(thread->tid) || sonde__capture_blocks_all(stat);
        if (round->is_open || !is_brief ||
            sonde__os_now_ns() - begin_ns > SONDE__CAPTURE_MOMENT_NS) {
            return true;
        }
        sleep_ns(LEAVE_LOOK_NS);
        if (read_stat(thread, stat) != SONDE_OK) {
            return false; /* it has ended: the request will fail */
        }
    }
}

/* Read state and signal masks of a thread that will be asked. Keeps the file open. */
static enum sonde_status open_stat(struct round *round, struct sonde__roster_thread *thread,
                                   struct sonde__capture_stat *ret_stat)
{
    if (thread->stat_fd < 0 && round->stat_files < STAT_FILES_MAX) {
        SONDE_TRY(
            sonde__os_thread_open(0, thread->tid, SONDE__OS_THREAD_STAT, &thread->stat_fd, NULL));
        round->stat_files++;
    }
    return read_stat(thread, ret_stat);
}

static void close_stats(struct round *round)
{
    each_thread(thread, round->snapshot->roster)
    {
        if (thread->stat_fd >= 0) {
            sonde__os_close(thread->stat_fd);
            thread->stat_fd = -1;
        }
    }
    round->stat_files = 0;
}

/* May this running thread be asked? Else it is FAILED or GONE. */
static bool is_askable(struct round *round, struct sonde__roster_thread *thread)
{
    struct sonde__capture_stat stat;
    enum sonde_status status = open_stat(round, thread, &stat);
    if (status != SONDE_OK) {
        sonde__capture_roster_fail(round->snapshot->roster, thread, status, NULL);
    } else if (stat.letter == 'Z' || stat.letter == 'X') {
        sonde__capture_roster_fail(round->snapshot->roster, thread, SONDE_ABSENT, NULL);
    } else if (sonde__capture_is_kernels(&stat)) {
        sonde__capture_roster_fail(round->snapshot->roster, thread, SONDE_UNSUPPORTED,
                                   SONDE__NOTE_KERNELS);
    } else if ((stat.pending >> (round->snapshot->signal - 1) & 1) != 0 &&
               !sonde__capture_park_is_inside(thread->tid)) {
        sonde__capture_roster_fail(
            round->snapshot->roster, thread, SONDE_BUSY,
            "it runs, and a signal of that kind (SIGURG) is already pending");
    } else if (!round->snapshot->may_signal) {
        sonde__capture_roster_fail(round->snapshot->roster, thread, SONDE_BUSY,
                                   "it runs, and signals are not allowed here");
    } else if (blocks_signal(round, thread, &stat)) {
        sonde__capture_roster_fail(round->snapshot->roster, thread, SONDE_BUSY,
                                   "it runs and blocks the signal that would ask it (SIGURG)");
    } else {
        return true;
    }
    return false;
}

/* Is our handler still set? If the program has replaced it, its own would get the signal. */
static bool is_handler_set(const struct round *round)
{
    uint64_t function = 0;
    return round->snapshot->is_handler_set &&
           sonde__os_signal_handler(round->snapshot->signal, &function) &&
           function == round->handler;
}

static void ask(struct round *round, struct sonde__roster_thread *thread)
{
    struct sonde__snapshot *snapshot = round->snapshot;
    enum sonde_status status;
    if (!is_handler_set(round)) {
        sonde__capture_roster_fail(snapshot->roster, thread, SONDE_BUSY,
                                   "it runs, and the program handles the signal (SIGURG) itself");
        return;
    }
    sonde__capture_roster_clear(snapshot->roster, thread);
    thread->is_pending = false;
    status = sonde__capture_park_ask(thread->tid, snapshot->signal, &thread->stack, &thread->slot);
    if (status == SONDE_OK) {
        thread->phase = SONDE__ROSTER_ASKED;
    } else {
        sonde__capture_roster_fail(snapshot->roster, thread, status,
                                   status == SONDE_LIMIT
                                       ? "more threads run than can be held together"
                                       : "the signal could not be sent");
    }
}

/* A copy of the thread's record, without the stack, which the thread may be writing. */
static struct sonde__roster_thread without_stack(const struct sonde__roster_thread *thread)
{
    return (struct sonde__roster_thread){
        .tid = thread->tid,
        .wait_fd = thread->wait_fd,
        .schedstat_fd = thread->schedstat_fd,
        .stat_fd = thread->stat_fd,
        .is_listed = thread->is_listed,
        .is_unanswered = thread->is_unanswered,
        .is_pending = thread->is_pending,
        .is_late = thread->is_late,
        .slot = thread->slot,
        .stack_bytes = thread->stack_bytes,
        .note = thread->note,
        .seen = thread->seen,
        .wait = thread->wait,
    };
}

/* Withdraw requests that will not be answered: the thread has ended, or is in a wait that no
 * signal ends. The collector reads such a thread in its wait, while the others are stopped. A
 * late signal does nothing. */
static void withdraw_lost(struct sonde__snapshot *snapshot)
{
    each_thread(thread, snapshot->roster)
    {
        if (thread->phase != SONDE__ROSTER_ASKED || !sonde__capture_park_is_asked(thread->slot)) {
            continue;
        }
        struct sonde__roster_thread now = without_stack(thread);
        now.phase = SONDE__ROSTER_NEW;
        (void)sonde__capture_roster_look(snapshot->roster, &now);
        thread->wait_fd = now.wait_fd;
        thread->schedstat_fd = now.schedstat_fd;
        bool stays = now.phase == SONDE__ROSTER_GONE || (now.seen.slices == thread->seen.slices &&
                                                         now.seen.cpu_ns == thread->seen.cpu_ns);
        thread->seen = now.seen;
        if (now.phase == SONDE__ROSTER_RUNNING || !stays ||
            sonde__capture_park_look(thread->slot) != SONDE__PARKED_ABSENT) {
            continue; /* it may only wait for a page, or has just answered */
        }
        now.stack = thread->stack; /* ours again, and empty */
        *thread = now;
        thread->is_unanswered = now.phase == SONDE__ROSTER_BLOCKED;
    }
}

/* Will the thread answer before it runs any code of the program? All threads with a CPU entered
 * the kernel after they were asked, and return through our handler unless they block the signal.
 * So a thread that waits for a CPU is stopped even though it has not run the handler. */
static bool is_pending(const struct round *round, struct sonde__roster_thread *thread)
{
    uint32_t signal = 1u << (round->snapshot->signal - 1);
    struct sonde__capture_stat stat;
    if (!thread->is_pending && round->can_interrupt && read_stat(thread, &stat) == SONDE_OK) {
        thread->is_pending =
            stat.letter == 'R' && (stat.pending & signal) != 0 && (stat.blocked & signal) == 0;
    }
    return thread->is_pending;
}

/* Will the missing threads answer in time if they get only their share of the CPUs? */
static bool may_come_later(const struct round *round)
{
    uint64_t now_ns = sonde__os_now_ns();
    uint64_t left_ns = round->deadline_ns > now_ns ? round->deadline_ns - now_ns : 0;
    return sonde__capture_park_missing() <= left_ns / 2 / SLICE_NS;
}

/* Is the thread stopped, in our handler or on the way there? */
static bool is_stopped(const struct round *round, struct sonde__roster_thread *thread)
{
    for (unsigned i = 0; i < STOPPED_LOOKS; i++) {
        if (!sonde__capture_park_is_asked(thread->slot) || is_pending(round, thread)) {
            return true;
        }
    }
    return false;
}

static bool all_are_stopped(const struct round *round)
{
    if (!round->can_interrupt || !may_come_later(round)) {
        return false;
    }
    each_thread(thread, round->snapshot->roster)
    {
        if (thread->phase == SONDE__ROSTER_ASKED && !is_stopped(round, thread)) {
            return false;
        }
    }
    return true;
}

/* Sleep until all have answered, but at most for *pause_ns, which is then raised, and not beyond
 * the deadline. False: the deadline has passed. */
static bool wait_a_while(const struct round *round, uint64_t *pause_ns)
{
    uint64_t now_ns = sonde__os_now_ns();
    uint64_t left_ns = round->deadline_ns > now_ns ? round->deadline_ns - now_ns : 0;
    bool is_last = left_ns <= *pause_ns;
    sonde__capture_park_wait(now_ns + (is_last ? left_ns : *pause_ns));
    *pause_ns = *pause_ns * 2 < ANSWER_LOOK_MAX_NS ? *pause_ns * 2 : ANSWER_LOOK_MAX_NS;
    return !is_last;
}

/* Wait until all asked threads are stopped. False: some may still run. */
static bool wait_standing(const struct round *round)
{
    uint64_t pause_ns = round->can_interrupt ? STAND_LOOK_NS : ANSWER_LOOK_NS;
    while (sonde__capture_park_missing() > 0 && !all_are_stopped(round)) {
        if (!wait_a_while(round, &pause_ns)) {
            return sonde__capture_park_missing() == 0;
        }
        if (pause_ns > ANSWER_LOOK_NS) {
            withdraw_lost(round->snapshot);
        }
    }
    return true;
}

/* Ask the running threads to park, after all slow work. False: some may still run. */
static bool ask_running(struct round *round)
{
    struct sonde__snapshot *snapshot = round->snapshot;
    uint32_t askable = 0;
    each_thread(thread, snapshot->roster)
    {
        askable += thread->phase == SONDE__ROSTER_RUNNING && is_askable(round, thread);
    }
    if (askable == 0) {
        return true;
    }
    if (!round->is_open) {
        /* if the system has another handler, a sanitizer has wrapped ours, and the program may
         * run between the delivery and our part */
        uint64_t handler = snapshot->set_handler();
        snapshot->is_handler_set = handler != 0;
        if (!sonde__os_signal_handler(snapshot->signal, &round->handler)) {
            round->handler = 0;
        }
        round->can_interrupt = round->handler == handler && sonde__os_interrupt_prepare();
        sonde__capture_park_open(snapshot->timeout_ns + HOLD_SPARE_NS);
        round->stop_begin_ns = sonde__os_now_ns();
        round->is_open = true;
    }
    each_thread(thread, snapshot->roster)
    {
        if (thread->phase == SONDE__ROSTER_RUNNING) {
            ask(round, thread);
        }
    }
    round->can_interrupt = round->can_interrupt && sonde__os_interrupt_running();
    return wait_standing(round);
}

/* Collect the answers. Threads that are writing their stack, or still will, stay ASKED. */
static void take_answers(struct sonde__snapshot *snapshot)
{
    each_thread(thread, snapshot->roster)
    {
        if (thread->phase != SONDE__ROSTER_ASKED) {
            continue;
        }
        switch (sonde__capture_park_see(thread->slot)) {
        case SONDE__PARKED_HELD:
            thread->phase = SONDE__ROSTER_PARKED;
            break;
        case SONDE__PARKED_LEFT:
            thread->phase = SONDE__ROSTER_PARKED;
            snapshot->is_consistent = false;
            break;
        case SONDE__PARKED_WALKING:
        case SONDE__PARKED_ABSENT:
            break;
        }
    }
}

/* --- the end --- */

/* Read threads that began to wait on their way to our handler. They have run no code of the
 * program if they did not move until they were read. */
static void read_lost(const struct round *round)
{
    struct sonde__roster *roster = round->snapshot->roster;
    withdraw_lost(round->snapshot);
    each_thread(thread, roster)
    {
        thread->is_late = thread->phase == SONDE__ROSTER_BLOCKED;
    }
    (void)sonde__capture_roster_read(roster, round->images);
    each_thread(thread, roster)
    {
        if (thread->is_late && thread->phase == SONDE__ROSTER_READ &&
            !sonde__capture_roster_look(roster, thread)) {
            sonde__capture_roster_fail(roster, thread, SONDE_TIMEOUT, NOTE_SILENT);
        }
    }
}

/* After the release, wait for threads that could not answer before: they do when they get a CPU. */
static void wait_answers(struct round *round)
{
    struct sonde__roster *roster = round->snapshot->roster;
    uint64_t pause_ns = ANSWER_LOOK_NS;
    while (sonde__capture_park_missing() > 0 && wait_a_while(round, &pause_ns)) {
        if (sonde__capture_park_missing() > 0) {
            read_lost(round);
        }
    }
    each_thread(thread, roster)
    {
        if (thread->phase != SONDE__ROSTER_ASKED) {
            continue;
        }
        switch (sonde__capture_park_look(thread->slot)) {
        case SONDE__PARKED_ABSENT:
            sonde__capture_roster_fail(roster, thread, SONDE_TIMEOUT, NOTE_SILENT);
            thread->is_unanswered = true;
            break;
        case SONDE__PARKED_WALKING:
            sonde__capture_park_finish(thread->slot);
            thread->phase = SONDE__ROSTER_PARKED;
            break;
        case SONDE__PARKED_HELD:
        case SONDE__PARKED_LEFT:
            thread->phase = SONDE__ROSTER_PARKED;
            break;
        }
    }
}

static void release(struct round *round)
{
    struct sonde__snapshot *snapshot = round->snapshot;
    if (!round->is_open) {
        return;
    }
    take_answers(snapshot);
    snapshot->stop_ns = sonde__os_now_ns() - round->stop_begin_ns;
    sonde__capture_park_release();
    wait_answers(round);
}

/* Read threads that began to wait instead of answering (an uninterruptible wait takes no
 * signal). They are read later than the others. But not one that has still not left our handler:
 * its wait is not the program's. */
static void read_unanswered(struct sonde__snapshot *snapshot)
{
    each_thread(thread, snapshot->roster)
    {
        struct sonde_captured captured;
        enum sonde_status status;
        if (thread->phase != SONDE__ROSTER_FAILED || !thread->is_unanswered ||
            sonde__capture_park_is_inside(thread->tid)) {
            continue;
        }
        sonde__capture_roster_clear(snapshot->roster, thread);
        status = sonde__capture_blocked(thread->tid, &thread->stack, &captured);
        if (status == SONDE_OK) {
            thread->phase = SONDE__ROSTER_READ;
            thread->seen.slices = 0; /* not kept for the next snapshot */
            thread->call.number = captured.syscall;
            sonde__base_mem_copy(thread->call.args, captured.syscall_args,
                                 sizeof thread->call.args);
        } else if (status == SONDE_ABSENT) {
            thread->phase = SONDE__ROSTER_GONE;
        }
    }
}

/* Does the snapshot have a stack of every thread that has one? */
static bool is_whole(const struct sonde__snapshot *snapshot)
{
    each_thread(thread, snapshot->roster)
    {
        if (thread->phase == SONDE__ROSTER_FAILED && thread->status != SONDE_UNSUPPORTED) {
            return false;
        }
    }
    return true;
}

static void take_rounds(struct round *round)
{
    struct sonde__snapshot *snapshot = round->snapshot;
    struct sonde__roster *roster = snapshot->roster;
    for (snapshot->rounds = 1;; snapshot->rounds++) {
        uint32_t read = count_phase(roster, SONDE__ROSTER_READ);
        bool is_standing = ask_running(round);
        take_answers(snapshot);
        /* all asked threads are stopped: this is the moment, if nothing else has moved */
        bool is_same = look_all(snapshot, SONDE__ROSTER_READ) == read;
        bool is_complete = find_threads(snapshot);
        uint32_t fresh = sonde__capture_roster_read(roster, round->images);
        if (is_standing && is_same && is_complete && fresh == 0 &&
            count_phase(roster, SONDE__ROSTER_RUNNING) == 0) {
            return;
        }
        if (snapshot->rounds == ROUNDS_MAX || sonde__os_now_ns() >= round->deadline_ns) {
            snapshot->is_consistent = false;
            return;
        }
    }
}

/* No rounds are left: fail the threads that were last seen running, which were not asked. */
static void give_up_running(struct sonde__snapshot *snapshot)
{
    each_thread(thread, snapshot->roster)
    {
        if (thread->phase == SONDE__ROSTER_RUNNING) {
            sonde__capture_roster_fail(snapshot->roster, thread, SONDE_TIMEOUT,
                                       "it woke each time it was read");
        }
    }
}

enum sonde_status sonde__capture_snapshot(struct sonde__snapshot *snapshot)
{
    struct sonde__roster *roster = snapshot->roster;
    struct round round = {.snapshot = snapshot, .begin_ns = sonde__os_now_ns()};
    struct sonde__capture_pin pin;
    round.deadline_ns = round.begin_ns + snapshot->timeout_ns;
    snapshot->is_consistent = true;
    if (!sonde__capture_roster_is_whole(roster)) {
        SONDE_TRY(sonde__capture_roster_list(roster));
    }
    pin = sonde__capture_pin();
    round.images = pin.images;
    begin_threads(snapshot);
    snapshot->unchanged = look_all(snapshot, SONDE__ROSTER_READ);
    (void)look_all(snapshot, SONDE__ROSTER_NEW);
    snapshot->is_consistent = find_threads(snapshot);
    /* every kept stack was valid from the last snapshot until now, so at one moment: if these
     * are all threads, the snapshot is complete */
    if (sonde__capture_roster_read(roster, pin.images) != 0 ||
        count_phase(roster, SONDE__ROSTER_RUNNING) != 0) {
        snapshot->is_consistent = true;
        take_rounds(&round);
        release(&round);
        close_stats(&round);
        give_up_running(snapshot);
    }
    read_unanswered(snapshot);
    sonde__capture_unpin(pin);
    snapshot->is_consistent = snapshot->is_consistent && is_whole(snapshot);
    return SONDE_OK;
}
