// SPDX-License-Identifier: Apache-2.0
/* Threads that a snapshot cannot read or reads in another way, and its report of them. */
#include <errno.h>
#include <inttypes.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshots.h"

TEST(without_signals)
{
    struct worker spinner = {0};
    const struct seen *s;
    need_snapshots();
    start(&spinner, spin);
    CHECK_OK(capture(SONDE_CAPTURE_PASSIVE_ONLY, 0));
    s = find(spinner.tid);
    CHECK_EQ(s->captured.status, SONDE_BUSY);
    CHECK_CONTAINS(s->captured.note, "signals are not allowed");
    CHECK_EQ(s->stack.count, 0);
    CHECK_EQ(s->stack.end, SONDE_END_NOT_READ);
    CHECK_EQ(snapshot.consistent, 0);
    CHECK_EQ(snapshot.held, 0);
    CHECK(snapshot.unread >= 1);
    end(&spinner);
}

static void *spin_with_signal_blocked(void *arg)
{
    sigset_t set;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return spin(arg);
}

TEST(a_thread_that_blocks_the_signal)
{
    struct worker deaf = {0}, spinner = {0};
    sigset_t pending;
    need_snapshots();
    start(&deaf, spin_with_signal_blocked);
    start(&spinner, spin);
    for (int i = 0; i < 20; i++) {
        CHECK_OK(capture(0, 0));
        CHECK_EQ(find(deaf.tid)->captured.status, SONDE_BUSY);
        CHECK_CONTAINS(find(deaf.tid)->captured.note, "blocks the signal");
        CHECK_OK(find(spinner.tid)->captured.status);
        CHECK_EQ(snapshot.consistent, 0);
        check_action_is(SIG_DFL);
    }
    CHECK_OK(sigpending(&pending));
    CHECK_EQ(sigismember(&pending, SIGURG), 0);
    end(&deaf);
    end(&spinner);
}

static int vfork_fds[2];

static __attribute__((noinline)) void *wait_in_vfork(void *arg)
{
    struct worker *w = arg;
    begin_work(w);
    if (vfork() == 0) {
        char byte;
        (void)!syscall(SYS_read, vfork_fds[0], &byte, 1);
        _exit(0);
    }
    return NULL;
}

/* The parent of a vfork waits uninterruptibly (D) until its child is done. */
TEST(a_thread_in_an_uninterruptible_wait)
{
    struct worker w = {0};
    int status;
    bool found = false;
    need_snapshots();
    if (TEST_SIGNALS_ARE_LATE) {
        SKIP("the sanitizer makes a fork of a vfork");
    }
    CHECK_OK(pipe(vfork_fds));
    start(&w, wait_in_vfork);
    for (int i = 0; i < 1000 && !found; i++) {
        usleep(1000);
        CHECK_OK(capture(SONDE_CAPTURE_PASSIVE_ONLY, 0));
        found = find(w.tid)->thread.state == SONDE_THREAD_DISK;
    }
    CHECK(found);
    CHECK_EQ(find(w.tid)->thread.letter, 'D');
    CHECK_EQ(find(w.tid)->captured.by, SONDE_CAPTURED_PASSIVE);
#if !defined(SONDE_SANITIZED) /* a sanitizer's vfork has another caller */
    CHECK_EQ(find(w.tid)->stack.end, SONDE_END_ROOT);
    CHECK(holds(find(w.tid), (void *)&wait_in_vfork, FUNCTION_SIZE));
#endif
    CHECK_OK(capture(0, 0)); /* also where signals are allowed it is read passively */
    CHECK_EQ(find(w.tid)->captured.by, SONDE_CAPTURED_PASSIVE);
    CHECK_EQ(write(vfork_fds[1], "x", 1), 1);
    pthread_join(w.thread, NULL);
    CHECK(wait(&status) > 0);
    close(vfork_fds[0]), close(vfork_fds[1]);
}

/* Like vfork(), but the kernel first copies the page tables for the child: some milliseconds on a
 * CPU, and no instruction of the program between that and the wait. */
static __attribute__((noinline)) void *copy_tables_and_wait(void *arg)
{
    struct worker *w = arg;
    begin_work(w);
    if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0) {
        char byte;
        (void)!syscall(SYS_read, vfork_fds[0], &byte, 1);
        syscall(SYS_exit_group, 0);
    }
    return NULL;
}

static bool is_signal_pending(uint64_t tid)
{
    char path[64], *text, *line;
    size_t size;
    unsigned long long pending = 0;
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu64 "/status", tid);
    text = test_read_file(path, &size);
    line = strstr(text, "SigPnd:");
    CHECK(line != NULL && sscanf(line, "SigPnd: %llx", &pending) == 1);
    free(text);
    return (pending >> (SIGURG - 1) & 1) != 0;
}

/* The thread runs when the signal is sent, but enters an uninterruptible wait instead of our
 * handler. */
TEST(a_thread_that_is_lost_on_its_way_to_the_answer)
{
    const size_t size = (size_t)1 << 30;
    bool was_asked = false;
    need_snapshots();
    if (TEST_SIGNALS_ARE_LATE) {
        SKIP("the sanitizer has its own idea of a child");
    }
    /* many mappings of the zero page: page tables without memory. fork copies them if one page was
     * written */
    char *tables = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(tables != MAP_FAILED);
    CHECK_OK(madvise(tables, size, MADV_NOHUGEPAGE));
    CHECK_OK(madvise(tables, size, MADV_POPULATE_READ));
    CHECK_OK(mprotect(tables, size, PROT_READ | PROT_WRITE));
    tables[0] = 1;
    for (int round = 0; round < 100 && !was_asked; round++) {
        struct worker w = {0};
        int status;
        CHECK_OK(pipe(vfork_fds));
        start(&w, copy_tables_and_wait);
        CHECK_OK(capture(0, FILES));
        was_asked = is_signal_pending(w.tid);
        CHECK(snapshot.total_ns < 10000000000u); /* the snapshot does not wait for its answer */
        if (was_asked) {
            CHECK_OK(find(w.tid)->captured.status);
            CHECK_EQ(find(w.tid)->captured.by, SONDE_CAPTURED_PASSIVE);
            CHECK(find(w.tid)->stack.count > 0);
        }
        CHECK_EQ(write(vfork_fds[1], "x", 1), 1);
        pthread_join(w.thread, NULL);
        CHECK(wait(&status) > 0);
        close(vfork_fds[0]), close(vfork_fds[1]);
    }
    munmap(tables, size);
    CHECK_OK(capture(0, 0)); /* the signal was lost with its thread */
    check_action_is(SIG_DFL);
    if (!was_asked) { /* our write waits for the copy, and mostly precedes the request */
        SKIP("it never ran in the kernel when it was asked");
    }
}

/* Submit one read of a pipe to a worker of the ring. */
static int submit_read(int ring, const struct io_uring_params *params, int fd, char *byte)
{
    size_t queue_size = params->sq_off.array + params->sq_entries * sizeof(uint32_t);
    char *queue = mmap(NULL, queue_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                       IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry =
        mmap(NULL, params->sq_entries * sizeof *entry, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    CHECK(queue != MAP_FAILED && entry != MAP_FAILED);
    *entry = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                   .flags = IOSQE_ASYNC,
                                   .fd = fd,
                                   .addr = (uint64_t)(uintptr_t)byte,
                                   .len = 1};
    *(uint32_t *)(void *)(queue + params->sq_off.array) = 0;
    __atomic_store_n((uint32_t *)(void *)(queue + params->sq_off.tail), 1, __ATOMIC_RELEASE);
    int count = (int)syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0);
    munmap(queue, queue_size);
    munmap(entry, params->sq_entries * sizeof *entry);
    return count;
}

/* The kernel's threads end shortly after their ring. */
static void wait_alone(void)
{
    for (int i = 0; i < 1000; i++) {
        struct sonde_thread threads[8] = {{.struct_bytes = sizeof threads[0]}};
        uint32_t count;
        CHECK_OK(sonde_threads_list(threads, 8, &count));
        if (count == 1) {
            break;
        }
        usleep(1000);
    }
}

/* A kernel thread that makes a call for the ring blocks in it like the program's threads. */
TEST(a_worker_of_io_uring_that_is_blocked)
{
    struct io_uring_params params = {.flags = 0};
    int fds[2], ring = (int)syscall(SYS_io_uring_setup, 4, &params);
    bool found = false;
    char byte = 0;
    if (ring < 0) {
        SKIP("no io_uring here: %s", strerror(errno));
    }
    need_snapshots();
    CHECK_OK(pipe(fds));
    CHECK_EQ(submit_read(ring, &params, fds[0], &byte), 1);
    for (int i = 0; i < 1000 && !found; i++) {
        CHECK_OK(capture(i % 2 == 0 ? SONDE_CAPTURE_PASSIVE_ONLY : 0, 0));
        for (uint32_t k = 0; k < seen_count; k++) {
            if (strncmp(seen[k].thread.name, "iou-wrk-", 8) == 0) {
                found = i > 0; /* with and without signals */
                CHECK_EQ(seen[k].captured.status, SONDE_UNSUPPORTED);
                CHECK_CONTAINS(seen[k].captured.note, "io_uring");
                CHECK_EQ(seen[k].stack.count, 0);
            }
        }
        CHECK_EQ(snapshot.held, 0);
        usleep(1000);
    }
    CHECK(found);
    CHECK_EQ(write(fds[1], "y", 1), 1);
    for (int i = 0; i < 1000 && __atomic_load_n(&byte, __ATOMIC_ACQUIRE) != 'y'; i++) {
        usleep(1000);
    }
    CHECK_EQ(byte, 'y'); /* its work for the program was not disturbed */
    close(ring), close(fds[0]), close(fds[1]);
    wait_alone();
}

/* The kernel thread that polls the submission queue is listed as a thread of this process. */
TEST(a_worker_of_io_uring)
{
    struct io_uring_params params = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 10000};
    long fd = syscall(SYS_io_uring_setup, 4, &params);
    bool found = false;
    if (fd < 0) {
        SKIP("no io_uring here: %s", strerror(errno));
    }
    need_snapshots();
    for (int i = 0; i < 1000 && !found; i++) { /* it gets its name shortly after its start */
        CHECK_OK(capture(i % 2 == 0 ? SONDE_CAPTURE_PASSIVE_ONLY : 0, 0));
        for (uint32_t k = 0; k < seen_count; k++) {
            if (strncmp(seen[k].thread.name, "iou-sqp-", 8) == 0) {
                found = i > 0; /* with and without signals */
                CHECK_EQ(seen[k].captured.status, SONDE_UNSUPPORTED);
                CHECK_CONTAINS(seen[k].captured.note, "io_uring");
                CHECK_EQ(seen[k].stack.count, 0);
            }
        }
        CHECK_EQ(snapshot.held, 0); /* no signal was sent to it */
        usleep(1000);
    }
    CHECK(found);
    if (!TEST_SIGNALS_ARE_LATE) {
        CHECK_EQ(snapshot.consistent, 1); /* all stacks of this program were read */
    }
    close((int)fd);
    wait_alone();
}
