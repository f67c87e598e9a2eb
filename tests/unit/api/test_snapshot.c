// SPDX-License-Identifier: Apache-2.0
/* Pictures: all threads as of one moment, and who is not in them. */
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshots.h"

/* --- what is in a snapshot --- */

TEST(blocked_threads_are_read_and_remembered)
{
    enum { READERS = 5 };
    struct worker readers[READERS] = {{0}};
    need_snapshots();
    for (int i = 0; i < READERS; i++) {
        start_reader(&readers[i]);
    }
    CHECK_OK(pthread_setname_np(readers[0].thread, "first"));
    for (int round = 0; round < 20; round++) {
        uint32_t fed = (uint32_t)round % 4;
        for (uint32_t i = 0; i < fed; i++) {
            feed_reader(&readers[i]);
        }
        CHECK_OK(capture(SONDE_CAPTURE_PASSIVE_ONLY, FILES));
        for (int i = 0; i < READERS; i++) {
            check_reader(&readers[i]);
        }
        CHECK_STR(find(readers[0].tid)->thread.name, "first");
        CHECK(seen[0].thread.is_main && seen[0].thread.is_self);
        CHECK_EQ(seen[0].captured.by, SONDE_CAPTURED_SELF);
        CHECK_EQ(seen[0].pcs[0] - (uintptr_t)&capture < FUNCTION_SIZE, true);
        CHECK_EQ(snapshot.held, 0);
        CHECK_EQ(snapshot.stop_ns, 0);
        CHECK_EQ(snapshot.threads, seen_count);
        if (round > 0 && !TEST_SIGNALS_ARE_LATE) { /* a sanitizer has threads of its own */
            CHECK_EQ(snapshot.unchanged, READERS - fed);
            CHECK_EQ(snapshot.consistent, 1);
        }
    }
    for (int i = 0; i < READERS; i++) {
        end_reader(&readers[i]);
    }
    CHECK_OK(capture(0, 0)); /* closes what was kept: the harness looks for left files */
    check_action_is(SIG_DFL);
}

TEST(running_threads_are_held)
{
    enum { SPINNERS = 4 };
    struct worker spinners[SPINNERS] = {{0}}, reader = {0};
    need_snapshots();
    start_reader(&reader);
    for (int i = 0; i < SPINNERS; i++) {
        start(&spinners[i], spin);
    }
    for (int round = 0; round < 50; round++) {
        CHECK_OK(capture(0, FILES));
        for (uint32_t i = 0; i < seen_count; i++) {
            /* a sanitizer has a thread of its own that blocks all signals */
            if (seen[i].captured.status != SONDE_OK && !TEST_SIGNALS_ARE_LATE) {
                FAIL("%s: %s (%s)", seen[i].thread.name, sonde_status_text(seen[i].captured.status),
                     seen[i].captured.note);
            }
        }
        CHECK(snapshot.consistent || TEST_SIGNALS_ARE_LATE); /* a sanitizer has deaf threads */
        CHECK_EQ(snapshot.held, SPINNERS);
        CHECK(snapshot.stop_ns > 0 && snapshot.stop_ns <= snapshot.total_ns);
        for (int i = 0; i < SPINNERS; i++) {
            const struct seen *s = find(spinners[i].tid);
            check_stands_in(s, (void *)&spin);
            CHECK_EQ(s->thread.state, SONDE_THREAD_RUNNING);
        }
        check_reader(&reader);
        check_action_is(SIG_DFL);
    }
    for (int i = 0; i < SPINNERS; i++) {
        end(&spinners[i]);
    }
    end_reader(&reader);
    CHECK_OK(capture(0, 0));
}

/* Who holds the lock is in hold_lock(), and nobody else: a snapshot of one moment never shows two.
 * (Stacks that are captured one after the other do, in one of ten.) */
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;

static void hold_lock(unsigned turns, const sigset_t *unblock);
extern const char __start_hold_lock_code[], __stop_hold_lock_code[]; /* nothing else is there */

static void *hold_often(void *arg)
{
    struct worker *w = arg;
    sigset_t all;
    sigfillset(&all);
    begin_work(w);
    for (unsigned n = 1; !__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE); n++) {
        bool is_deaf = n % 4 == 0; /* while it waits for the lock */
        if (is_deaf) {
            pthread_sigmask(SIG_BLOCK, &all, NULL);
        }
        while (pthread_mutex_trylock(&held_lock) != 0) { /* of which some spin, */
            if (is_deaf || n % 3 == 0) {                 /* and some sleep */
                pthread_mutex_lock(&held_lock);
                break;
            }
        }
        hold_lock(n % 700, is_deaf ? &all : NULL);
        pthread_mutex_unlock(&held_lock);
    }
    return NULL;
}

static __attribute__((noinline, section("hold_lock_code"))) void hold_lock(unsigned turns,
                                                                           const sigset_t *unblock)
{
    if (unblock != NULL) {
        pthread_sigmask(SIG_UNBLOCK, unblock, NULL);
    }
    for (volatile unsigned i = 0; i < turns; i++) {
    }
}

/* Until `wanted` snapshots were consistent: a thread that is deaf just then is not in them. */
static void check_one_moment(unsigned wanted)
{
    enum { WORKERS = 4 };
    struct worker workers[WORKERS] = {{0}};
    unsigned consistent = 0, holding = 0;
    for (int i = 0; i < WORKERS; i++) {
        start(&workers[i], hold_often);
    }
    for (unsigned round = 0; consistent < wanted && round < 20 * wanted; round++) {
        unsigned holders = 0;
        CHECK_OK(capture(SONDE_CAPTURE_BARE, FILES));
        for (uint32_t i = 0; i < seen_count; i++) {
            holders += holds(&seen[i], __start_hold_lock_code,
                             (size_t)(__stop_hold_lock_code - __start_hold_lock_code));
        }
        if (snapshot.consistent) {
            CHECK(holders <= 1 || TEST_SIGNALS_ARE_LATE);
            consistent++;
            holding += holders;
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        end(&workers[i]);
    }
    CHECK_EQ(consistent, wanted);
    CHECK(holding > 0);
    CHECK_OK(capture(0, 0));
}

TEST_TIMEOUT(a_snapshot_is_of_one_moment, 600)
{
    need_snapshots();
    check_one_moment(test_long() ? 10000 : 100);
}

/* --- while other programs have the CPUs --- */

enum { BURNERS = 4 };

static void start_burners(pid_t *burners)
{
    for (int i = 0; i < BURNERS; i++) {
        burners[i] = fork();
        CHECK(burners[i] >= 0);
        if (burners[i] == 0) {
            alarm(300);
            for (;;) {
            }
        }
    }
}

static void end_burners(const pid_t *burners)
{
    for (int i = 0; i < BURNERS; i++) {
        kill(burners[i], SIGKILL);
        CHECK_EQ(waitpid(burners[i], NULL, 0), burners[i]);
    }
}

/* Threads that wait for a CPU have their stack of that moment though they write it later, when the
 * others have long been let go. */
TEST_TIMEOUT(a_snapshot_is_of_one_moment_on_a_busy_machine, 300)
{
    pid_t burners[BURNERS];
    need_snapshots();
    start_burners(burners);
    check_one_moment(test_long() ? 1000 : 15);
    end_burners(burners);
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Nobody is held until all have had a CPU: that takes them a time slice each. */
TEST_TIMEOUT(threads_are_held_briefly_on_a_busy_machine, 300)
{
    enum { SPINNERS = 8, ROUNDS = 15 };
    struct worker spinners[SPINNERS] = {{0}};
    uint64_t stops[ROUNDS], totals[ROUNDS];
    pid_t burners[BURNERS];
    need_snapshots();
    start_burners(burners);
    for (int i = 0; i < SPINNERS; i++) {
        start(&spinners[i], spin);
    }
    CHECK_OK(capture(0, FILES));
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(capture(0, FILES));
        CHECK(snapshot.consistent || TEST_SIGNALS_ARE_LATE);
        CHECK_EQ(snapshot.held, SPINNERS);
        stops[round] = snapshot.stop_ns;
        totals[round] = snapshot.total_ns;
        for (int i = 0; i < SPINNERS; i++) {
            check_stands_in(find(spinners[i].tid), (void *)&spin);
        }
    }
    for (int i = 0; i < SPINNERS; i++) {
        end(&spinners[i]);
    }
    end_burners(burners);
    qsort(stops, ROUNDS, sizeof *stops, compare_times);
    qsort(totals, ROUNDS, sizeof *totals, compare_times);
    if (!TEST_SIGNALS_ARE_LATE) {
        CHECK(stops[ROUNDS / 2] < 2000000);
        CHECK(stops[ROUNDS / 2] * 2 < totals[ROUNDS / 2]);
    }
    CHECK_OK(capture(0, 0));
}

/* A system-call filter as containers have them. */
static void refuse_membarrier(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        SKIP("no seccomp filters here: %s", strerror(errno));
    }
    CHECK_EQ(syscall(SYS_membarrier, 0, 0, 0), -1);
}

/* Then all are held until all have answered. */
TEST(a_snapshot_is_of_one_moment_where_nobody_can_be_interrupted)
{
    need_snapshots();
    refuse_membarrier();
    check_one_moment(30);
}

/* --- who cannot be read --- */

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

/* The parent of a vfork sleeps without a way out (D) until its child is done. */
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
#if !defined(SONDE_SANITIZED) /* theirs is called by another function */
    CHECK_EQ(find(w.tid)->stack.end, SONDE_END_ROOT);
    CHECK(holds(find(w.tid), (void *)&wait_in_vfork, FUNCTION_SIZE));
#endif
    CHECK_OK(capture(0, 0)); /* with signals, too, it is read where it is */
    CHECK_EQ(find(w.tid)->captured.by, SONDE_CAPTURED_PASSIVE);
    CHECK_EQ(write(vfork_fds[1], "x", 1), 1);
    pthread_join(w.thread, NULL);
    CHECK(wait(&status) > 0);
    close(vfork_fds[0]), close(vfork_fds[1]);
}

/* As vfork(), but the child gets page tables of its own first: some milliseconds on a CPU in the
 * kernel, and no instruction of the program between them and the wait. */
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

/* It runs when it is asked, and comes to a wait that takes no signal instead of to our handler. */
TEST(a_thread_that_is_lost_on_its_way_to_the_answer)
{
    const size_t size = (size_t)1 << 30;
    bool was_asked = false;
    need_snapshots();
    if (TEST_SIGNALS_ARE_LATE) {
        SKIP("the sanitizer has its own idea of a child");
    }
    /* a page of zeros many times over: tables, and no memory; they are copied if one was written */
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
        CHECK(snapshot.total_ns < 10000000000u); /* nobody waits for its answer */
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
    CHECK_OK(capture(0, 0)); /* the signal went with its thread */
    check_action_is(SIG_DFL);
    if (!was_asked) { /* a write of ours waits for the copy, and mostly comes before the question */
        SKIP("it never ran in the kernel when it was asked");
    }
}

/* One read of a pipe, which the ring is told to leave to a worker. */
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

/* The kernel's threads end a little after their ring. */
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

/* The kernel's thread that makes a call for the ring: it blocks in it as a thread of ours would. */
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
    CHECK_EQ(byte, 'y'); /* what it does for the program was not disturbed */
    close(ring), close(fds[0]), close(fds[1]);
    wait_alone();
}

/* The kernel's thread that polls the submission queue is in the list of this process' threads. */
TEST(a_worker_of_io_uring)
{
    struct io_uring_params params = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 10000};
    long fd = syscall(SYS_io_uring_setup, 4, &params);
    bool found = false;
    if (fd < 0) {
        SKIP("no io_uring here: %s", strerror(errno));
    }
    need_snapshots();
    for (int i = 0; i < 1000 && !found; i++) { /* it has its name a moment after its start */
        CHECK_OK(capture(i % 2 == 0 ? SONDE_CAPTURE_PASSIVE_ONLY : 0, 0));
        for (uint32_t k = 0; k < seen_count; k++) {
            if (strncmp(seen[k].thread.name, "iou-sqp-", 8) == 0) {
                found = i > 0; /* with and without signals */
                CHECK_EQ(seen[k].captured.status, SONDE_UNSUPPORTED);
                CHECK_CONTAINS(seen[k].captured.note, "io_uring");
                CHECK_EQ(seen[k].stack.count, 0);
            }
        }
        CHECK_EQ(snapshot.held, 0); /* it is not asked */
        usleep(1000);
    }
    CHECK(found);
    if (!TEST_SIGNALS_ARE_LATE) {
        CHECK_EQ(snapshot.consistent, 1); /* no stack of this program is missing */
    }
    close((int)fd);
    wait_alone();
}

/* --- who may take one --- */

static int take_another(void *ctx, const struct sonde_thread *thread,
                        const struct sonde_stack *stack, const struct sonde_captured *captured)
{
    enum sonde_status *inner = ctx;
    struct sonde_stack other;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    (void)thread, (void)stack, (void)captured;
    sonde_stack_init(&other, pcs, how, DEPTH, 0);
    *inner = sonde_threads_snapshot(NULL, &other, take, NULL, NULL);
    return 1;
}

TEST(one_at_a_time)
{
    enum sonde_status inner = SONDE_OK;
    struct sonde_stack stack;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    need_snapshots();
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_OK(sonde_threads_snapshot(NULL, &stack, take_another, &inner, NULL));
    CHECK_EQ(inner, SONDE_BUSY);
    CHECK_OK(capture(SONDE_CAPTURE_PASSIVE_ONLY, 0));
}

static enum sonde_status from_handler = SONDE_OK;

static __attribute__((noinline)) void deep_in_handler(int depth)
{
    volatile char room[64];
    room[0] = 0;
    if (depth > 0) {
        deep_in_handler(depth - 1);
    } else {
        from_handler = capture(0, 0);
    }
    room[1] = room[0];
}

static void on_usr1(int signal)
{
    (void)signal;
    deep_in_handler(300);
}

TEST(refused_in_a_handler)
{
    struct sigaction action = {.sa_handler = on_usr1};
    stack_t alternate = {.ss_size = 1 << 20};
    need_snapshots();
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    raise(SIGUSR1);
    CHECK_EQ(from_handler, SONDE_USAGE);
    from_handler = SONDE_OK;
    alternate.ss_sp = malloc(alternate.ss_size);
    CHECK_OK(sigaltstack(&alternate, NULL));
    action.sa_flags = SA_ONSTACK;
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    raise(SIGUSR1);
    CHECK_EQ(from_handler, SONDE_USAGE);
    alternate.ss_flags = SS_DISABLE;
    CHECK_OK(sigaltstack(&alternate, NULL));
    free(alternate.ss_sp);
}

TEST(wrong_arguments)
{
    struct sonde_capture_options options = {.struct_bytes = sizeof options, .flags = 0x80};
    struct sonde_stack stack;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_EQ(sonde_threads_snapshot(NULL, NULL, take, NULL, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_threads_snapshot(NULL, &stack, NULL, NULL, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_threads_snapshot(&options, &stack, take, NULL, NULL), SONDE_USAGE);
}
