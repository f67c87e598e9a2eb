// SPDX-License-Identifier: Apache-2.0
#include "capture_roster.h"

#include "base_mem.h"
#include "base_status.h"
#include "capture_park.h"
#include "capture_thread.h"
#include "capture_window.h"

enum {
    SPARE = 16, /* threads that may start during a snapshot, plus a quarter of those that exist */
    BATCH = 32, /* stacks read together */
    FILES_EACH = 2,
    ALIGN = 64,
};

/* --- memory --- */

static size_t align_up(size_t size)
{
    return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void *carve(uint8_t **at, size_t size)
{
    void *memory = *at;
    *at += align_up(size);
    return memory;
}

static void init_thread(struct sonde__roster_thread *thread, uint64_t tid)
{
    struct sonde_stack stack = thread->stack; /* its arrays stay */
    sonde__base_mem_set(thread, 0, sizeof *thread);
    thread->tid = tid;
    thread->wait_fd = -1;
    thread->schedstat_fd = -1;
    thread->stat_fd = -1;
    thread->stack = stack;
}

static void close_files(struct sonde__roster *roster, struct sonde__roster_thread *thread)
{
    if (thread->wait_fd >= 0) {
        sonde__os_close(thread->wait_fd);
        roster->files--;
    }
    if (thread->schedstat_fd >= 0) {
        sonde__os_close(thread->schedstat_fd);
        roster->files--;
    }
    thread->wait_fd = -1;
    thread->schedstat_fd = -1;
}

static void forget_stacks(struct sonde__roster *roster)
{
    for (uint32_t i = 0; i < roster->count; i++) {
        if (roster->threads[i].phase != SONDE__ROSTER_GONE) {
            roster->threads[i].phase = SONDE__ROSTER_NEW;
        }
    }
}

/* Map memory for `capacity` threads. Moves all that is known about them but their stacks. */
static enum sonde_status map_memory(struct sonde__roster *roster, uint32_t capacity,
                                    const struct sonde_stack *like)
{
    struct sonde__roster old = *roster;
    size_t frames = (size_t)capacity * like->capacity;
    size_t async = (size_t)capacity * like->async_capacity;
    size_t size =
        align_up(capacity * sizeof *roster->threads) + align_up(capacity * sizeof *roster->tids) +
        align_up((size_t)BATCH * SONDE__WINDOW_BYTES) + align_up(frames * sizeof(uint64_t)) +
        align_up(async * sizeof(uint64_t)) + align_up(frames);
    uint8_t *at = sonde__os_map(size);
    uint64_t *pcs, *async_pcs;
    uint8_t *how;
    if (at == NULL) {
        return SONDE_MEMORY;
    }
    roster->memory = at;
    roster->memory_size = size;
    roster->threads = carve(&at, capacity * sizeof *roster->threads);
    roster->tids = carve(&at, capacity * sizeof *roster->tids);
    roster->windows = carve(&at, (size_t)BATCH * SONDE__WINDOW_BYTES);
    pcs = carve(&at, frames * sizeof(uint64_t));
    async_pcs = carve(&at, async * sizeof(uint64_t));
    how = carve(&at, frames);
    roster->capacity = capacity;
    for (uint32_t i = 0; i < roster->count; i++) {
        roster->threads[i] = old.threads[i];
    }
    for (uint32_t i = 0; i < capacity; i++) {
        roster->threads[i].stack.pcs = pcs + (size_t)i * like->capacity;
        roster->threads[i].stack.how = how + (size_t)i * like->capacity;
        roster->threads[i].stack.async_pcs = async_pcs + (size_t)i * like->async_capacity;
    }
    forget_stacks(roster);
    if (old.memory != NULL) {
        sonde__os_unmap(old.memory, old.memory_size);
    }
    return SONDE_OK;
}

void sonde__capture_roster_clear(const struct sonde__roster *roster,
                                 struct sonde__roster_thread *thread)
{
    struct sonde_stack *stack = &thread->stack;
    uint64_t *async_pcs = stack->async_pcs;
    sonde_stack_init(stack, stack->pcs, stack->how, roster->depth, roster->outer);
    sonde_stack_set_async(stack, async_pcs, roster->async);
}

/* Remove entries of ended threads; the order of the others stays. Each entry keeps its arrays. */
static void compact(struct sonde__roster *roster)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < roster->count; i++) {
        struct sonde__roster_thread *thread = &roster->threads[i];
        if (thread->phase == SONDE__ROSTER_GONE) {
            close_files(roster, thread);
            continue;
        }
        if (kept != i) {
            struct sonde__roster_thread moved = *thread;
            *thread = roster->threads[kept];
            roster->threads[kept] = moved;
        }
        kept++;
    }
    roster->count = kept;
}

enum sonde_status sonde__capture_roster_prepare(struct sonde__roster *roster,
                                                const struct sonde_stack *like)
{
    bool is_alike = roster->depth == like->capacity && roster->async == like->async_capacity;
    size_t threads;
    SONDE_TRY(sonde__os_count_threads(&threads));
    compact(roster);
    if (threads > UINT32_MAX / 2) {
        return SONDE_MEMORY;
    }
    if (!is_alike || threads + SPARE > roster->capacity) {
        SONDE_TRY(map_memory(roster, (uint32_t)(threads + threads / 4 + (size_t)2 * SPARE), like));
    } else if (roster->outer != like->outer) {
        forget_stacks(roster);
    }
    roster->depth = like->capacity;
    roster->async = like->async_capacity;
    roster->outer = like->outer;
    return SONDE_OK;
}

void sonde__capture_roster_close(struct sonde__roster *roster, uint32_t keep)
{
    for (uint32_t i = roster->count; i > 0 && roster->files > keep; i--) {
        close_files(roster, &roster->threads[i - 1]);
    }
}

void sonde__capture_roster_done(struct sonde__roster *roster)
{
    sonde__capture_roster_close(roster, 0);
    if (roster->memory != NULL) {
        sonde__os_unmap(roster->memory, roster->memory_size);
    }
    sonde__base_mem_set(roster, 0, sizeof *roster);
}

/* --- the list --- */

static bool is_alive(const struct sonde__roster_thread *thread)
{
    return thread->phase != SONDE__ROSTER_GONE;
}

/* Find a thread in the roster, from `at` on and around. The system lists threads in a stable
 * order, so it is nearly always the next. */
static uint32_t find_thread(const struct sonde__roster *roster, uint64_t tid, uint32_t at,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = at + i < count ? at + i : at + i - count;
        if (roster->threads[index].tid == tid && is_alive(&roster->threads[index])) {
            return index;
        }
    }
    return UINT32_MAX;
}

enum sonde_status sonde__capture_roster_list(struct sonde__roster *roster)
{
    size_t total = 0;
    uint32_t known = roster->count, at = 0;
    enum sonde_status status = SONDE_OK;
    SONDE_TRY(sonde__os_list_threads(0, roster->tids, roster->capacity, &total, NULL));
    if (total > roster->capacity) {
        total = roster->capacity;
        status = SONDE_LIMIT;
    }
    for (uint32_t i = 0; i < known; i++) {
        roster->threads[i].is_listed = false;
    }
    for (size_t i = 0; i < total; i++) {
        uint64_t tid = roster->tids[i];
        uint32_t index = find_thread(roster, tid, at, known);
        if (index == UINT32_MAX) {
            if (roster->count == roster->capacity) {
                status = SONDE_LIMIT;
                break;
            }
            index = roster->count++;
            init_thread(&roster->threads[index], tid);
        } else {
            at = index + 1 < known ? index + 1 : 0;
        }
        roster->threads[index].is_listed = true;
    }
    for (uint32_t i = 0; i < known && status == SONDE_OK; i++) {
        if (!roster->threads[i].is_listed) {
            roster->threads[i].phase = SONDE__ROSTER_GONE;
        }
    }
    return status;
}

bool sonde__capture_roster_is_whole(const struct sonde__roster *roster)
{
    size_t count, alive = 0;
    if (sonde__os_count_threads(&count) != SONDE_OK) {
        return false;
    }
    for (uint32_t i = 0; i < roster->count; i++) {
        alive += is_alive(&roster->threads[i]);
    }
    return alive == count;
}

/* --- looking --- */

void sonde__capture_roster_fail(const struct sonde__roster *roster,
                                struct sonde__roster_thread *thread, enum sonde_status status,
                                const char *note)
{
    thread->phase = status == SONDE_ABSENT ? SONDE__ROSTER_GONE : SONDE__ROSTER_FAILED;
    thread->status = (uint8_t)status;
    thread->note = note;
    sonde__capture_roster_clear(roster, thread);
}

/* Open one of a thread's files. It stays open if the pool of files has room. */
static enum sonde_status open_file(struct sonde__roster *roster, uint64_t tid,
                                   enum sonde__os_thread_file file, int32_t *kept_fd,
                                   int32_t *ret_fd)
{
    SONDE_TRY(sonde__os_thread_open(0, tid, file, ret_fd, NULL));
    if (roster->files < roster->files_max) {
        *kept_fd = *ret_fd;
        roster->files++;
    }
    return SONDE_OK;
}

/* A kernel without these counters shows zeros, or has no such file. */
static enum sonde_status read_counters(struct sonde__roster *roster,
                                       struct sonde__roster_thread *thread,
                                       struct sonde__os_schedstat *ret_counters)
{
    int32_t fd = thread->schedstat_fd;
    enum sonde_status status;
    sonde__base_mem_set(ret_counters, 0, sizeof *ret_counters);
    if (fd < 0 && open_file(roster, thread->tid, SONDE__OS_THREAD_SCHEDSTAT, &thread->schedstat_fd,
                            &fd) != SONDE_OK) {
        return SONDE_OK; /* the other file shows whether the thread is gone */
    }
    status = sonde__os_read_schedstat(fd, ret_counters, NULL);
    if (fd != thread->schedstat_fd) {
        sonde__os_close(fd);
    }
    return status;
}

static enum sonde_status read_wait(struct sonde__roster *roster,
                                   struct sonde__roster_thread *thread,
                                   struct sonde__os_wait *ret_wait)
{
    int32_t fd = thread->wait_fd;
    enum sonde_status status;
    if (fd < 0) {
        SONDE_TRY(open_file(roster, thread->tid, SONDE__OS_THREAD_SYSCALL, &thread->wait_fd, &fd));
    }
    status = sonde__os_read_wait(fd, ret_wait, NULL);
    if (fd != thread->wait_fd) {
        sonde__os_close(fd);
    }
    return status;
}

/* Has the thread not run since `seen`? The count of its turns on a CPU decides. If a kernel does
 * not count them, its CPU time and the place of its wait do. */
static bool stood_still(struct sonde__roster *roster, struct sonde__roster_thread *thread,
                        const struct sonde__os_schedstat *now)
{
    struct sonde__os_wait wait;
    if (!sonde__os_schedstat_is_same(now, &thread->seen)) {
        return false;
    }
    return now->slices != 0 ||
           (read_wait(roster, thread, &wait) == SONDE_OK && sonde__os_wait_is_blocked(&wait) &&
            sonde__os_wait_is_same(&wait, &thread->wait));
}

/* A thread that was released from an earlier snapshot may not have left our handler yet, and may
 * still be shown in its wait there. It runs: it returns to the program without being woken again.
 * If it leaves between the two reads, its counters change, and it is looked at again. */
static bool is_blocked(const struct sonde__roster_thread *thread)
{
    return sonde__os_wait_is_blocked(&thread->wait) && !sonde__capture_park_is_inside(thread->tid);
}

bool sonde__capture_roster_look(struct sonde__roster *roster, struct sonde__roster_thread *thread)
{
    struct sonde__os_schedstat now;
    enum sonde_status status;
    /* keep the reads of the thread's memory before that of the counters; on x86-64 only the
     * compiler could reorder them */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    status = read_counters(roster, thread, &now);
    if (status == SONDE_OK && thread->phase == SONDE__ROSTER_READ &&
        stood_still(roster, thread, &now)) {
        return true;
    }
    if (status == SONDE_OK) {
        thread->seen = now;
        status = read_wait(roster, thread, &thread->wait);
    }
    if (status != SONDE_OK) {
        sonde__capture_roster_fail(roster, thread, status, NULL);
    } else {
        thread->phase = is_blocked(thread) ? SONDE__ROSTER_BLOCKED : SONDE__ROSTER_RUNNING;
        thread->call = sonde__os_wait_call(&thread->wait);
    }
    return false;
}

/* --- reading --- */

/* Explain a thread that waits without a stack: a worker that the kernel made for the program, or
 * a thread that has ended and is still listed (the main thread may be). */
static void explain_no_stack(const struct sonde__roster *roster,
                             struct sonde__roster_thread *thread)
{
    struct sonde__capture_stat stat;
    enum sonde_status status = sonde__capture_read_stat(thread->tid, &stat);
    if (status != SONDE_OK) {
        sonde__capture_roster_fail(roster, thread, status, NULL);
    } else if (stat.letter == 'Z' || stat.letter == 'X') {
        sonde__capture_roster_fail(roster, thread, SONDE_ABSENT, "it has ended");
    } else if (sonde__capture_is_kernels(&stat)) {
        sonde__capture_roster_fail(roster, thread, SONDE_UNSUPPORTED, SONDE__NOTE_KERNELS);
    } else {
        sonde__capture_roster_fail(roster, thread, SONDE_UNREADABLE,
                                   "the system does not tell its stack");
    }
}

static void read_batch(struct sonde__roster *roster, struct sonde__roster_thread **threads,
                       uint32_t count, const struct sonde__image_set *images)
{
    struct sonde__os_part parts[BATCH];
    for (uint32_t i = 0; i < count; i++) {
        parts[i].bytes = roster->windows + (size_t)i * SONDE__WINDOW_BYTES;
        sonde__capture_window_plan(sonde__os_wait_sp(&threads[i]->wait), threads[i]->stack_bytes,
                                   &parts[i]);
    }
    sonde__os_read_parts(parts, count);
    for (uint32_t i = 0; i < count; i++) {
        struct sonde__roster_thread *thread = threads[i];
        sonde__capture_roster_clear(roster, thread);
        thread->stack_bytes =
            sonde__capture_window_walk(&thread->stack, &thread->wait, images, &parts[i]);
        thread->phase = SONDE__ROSTER_READ;
    }
}

uint32_t sonde__capture_roster_read(struct sonde__roster *roster,
                                    const struct sonde__image_set *images)
{
    struct sonde__roster_thread *batch[BATCH];
    uint32_t in_batch = 0, read = 0;
    for (uint32_t i = 0; i < roster->count; i++) {
        struct sonde__roster_thread *thread = &roster->threads[i];
        if (thread->phase != SONDE__ROSTER_BLOCKED) {
            continue;
        }
        if (sonde__os_wait_sp(&thread->wait) == 0) {
            explain_no_stack(roster, thread);
            continue;
        }
        read++;
        batch[in_batch++] = thread;
        if (in_batch == BATCH) {
            read_batch(roster, batch, in_batch, images);
            in_batch = 0;
        }
    }
    read_batch(roster, batch, in_batch, images);
    return read;
}
