// SPDX-License-Identifier: Apache-2.0
/* Capture of a running thread by perf events and by a signal, where the kernel refuses a system
 * call on the way, or the answer comes late or never. The capture takes the next way or its note
 * says why not; the program goes on, and the next capture works.
 *
 * A filter of this process, not of the program, refuses the calls. Where a test chooses the
 * contents of a perf event's ring, the ring is the test's own. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counted.h"
#include "host_perf.h"
#include "host_signal.h"
#include "os.h"
#include "target_sample.h"
#include "test.h"

/* From now on `call` fails with `error`; so does `other`, if it is not 0. */
static void refuse(unsigned call, unsigned other, unsigned error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other != 0 ? other : call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CHECK_OK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
}

static void need_perf(void)
{
    if (!sonde__host_may_perf()) {
        SKIP("this machine refuses perf events");
    }
}

/* --- the ring --- */

static int ring_error;    /* mapping the ring fails with this errno */
static bool ring_is_ours; /* else: each ring is a new, empty one of the test's */
static struct perf_event_mmap_page *ring;

/* Replaces libc's. Here only perf events map a descriptor as shared memory. */
void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && (flags & MAP_SHARED) != 0 && ring_error != 0) {
        errno = ring_error;
        return MAP_FAILED;
    }
    if (fd >= 0 && (flags & MAP_SHARED) != 0 && ring_is_ours) {
        ring = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return ring;
    }
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

static void put_record(unsigned type, unsigned size, const void *body, size_t body_size)
{
    uint8_t *at = (uint8_t *)ring + sonde__os_page_size() + ring->data_head;
    const struct perf_event_header header = {.type = type, .size = (uint16_t)size};
    memcpy(at, &header, sizeof header);
    memcpy(at + sizeof header, body, body_size);
    ring->data_head += sizeof header + body_size;
}

TEST(a_ring_that_lost_samples_counts_them)
{
    static struct sonde__host_perf_sample sample;
    const uint64_t lost[2] = {1, 5}, more[2] = {1, 2};
    struct sonde__host_perf perf;
    need_perf();
    ring_is_ours = true;
    CHECK_OK(sonde__host_perf_open(sonde__os_pid(), sonde__os_tid(), 1000000000, &perf, NULL));
    put_record(PERF_RECORD_LOST, 24, lost, sizeof lost);
    put_record(PERF_RECORD_LOST, 24, more, sizeof more);
    CHECK(!sonde__host_perf_next(&perf, &sample));
    CHECK_EQ(perf.lost, 7);
    CHECK_EQ(ring->data_tail, ring->data_head);
    sonde__host_perf_close(&perf);
}

/* The reader skips malformed records, and the ring is usable again. */
TEST(records_that_make_no_sense)
{
    static struct sonde__host_perf_sample sample;
    static const struct {
        unsigned type, size;
    } cases[] = {{PERF_RECORD_SAMPLE, 0},
                 {PERF_RECORD_SAMPLE, 7},
                 {PERF_RECORD_SAMPLE, 65535},
                 {PERF_RECORD_SAMPLE, 24},
                 {PERF_RECORD_LOST, 8},
                 {PERF_RECORD_LOST, 65535},
                 {12345, 24}};
    const uint64_t body[2] = {UINT64_MAX, UINT64_MAX};
    struct sonde__host_perf perf;
    need_perf();
    ring_is_ours = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_OK(sonde__host_perf_open(sonde__os_pid(), sonde__os_tid(), 1000000000, &perf, NULL));
        put_record(cases[i].type, cases[i].size, body, sizeof body);
        CHECK(!sonde__host_perf_next(&perf, &sample));
        CHECK(!sonde__host_perf_next(&perf, &sample));
        CHECK_EQ(ring->data_tail, ring->data_head);
        sonde__host_perf_close(&perf);
    }
}

/* --- a thread that wakes up --- */

static struct sonde__sample sample_listed_as(struct sonde__target *target, char letter)
{
    const struct sonde__thread thread = {.tid = shared->tid[0], .letter = letter};
    static uint64_t pcs[64];
    static uint8_t how[64];
    struct sonde__sample sample;
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, 64, 0);
    sonde__sample_take(target, &thread, &stack, &sample);
    return sample;
}

/* It was blocked when the threads were listed. */
TEST_TIMEOUT(a_thread_that_woke_up_is_running, 120)
{
    start_program();
    need_perf();
    struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, SONDE__TARGET_BY_PERF);
    struct sonde__sample sample;
    do {
        sample = sample_listed_as(target, 'S');
    } while (sample.capture.by != SONDE__CAPTURED_PERF);
    CHECK_EQ(sample.thread.letter, 'R');
    CHECK_EQ(sample.thread.state, SONDE_THREAD_RUNNING);
    sonde__target_close(target);
    end_program();
}

/* It may be blocked at one attempt to read it, and running at the next one. */
TEST_TIMEOUT(a_thread_that_wakes_up_while_it_is_read_is_in_no_call, 120)
{
    enum { CAPTURES = 2000 };
    start_program();
    need_perf();
    order(shared->tid[0], NAP);
    struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, SONDE__TARGET_BY_PERF);
    for (unsigned i = 0; i < CAPTURES; i++) {
        struct sonde__sample sample = sample_listed_as(target, 'R');
        if (sample.capture.by == SONDE__CAPTURED_PERF) {
            CHECK_EQ(sample.capture.syscall, -1);
            CHECK_EQ(sample.thread.letter, 'R');
        } else if (sample.capture.by == SONDE__CAPTURED_PASSIVE &&
                   sample.stack.end != SONDE_END_MOVED) {
            CHECK(sample.thread.letter != 'R');
        }
    }
    sonde__target_close(target);
    end_program();
}

/* --- perf, then ptrace --- */

enum { PERF_THEN_PTRACE = SONDE__TARGET_BY_PERF | SONDE__TARGET_BY_PTRACE };

static void check_stopped_instead(const char *said)
{
    struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, PERF_THEN_PTRACE);
    struct sonde__capture captured;
    do {
        captured = capture_running(target, 0);
    } while (captured.status == SONDE_TIMEOUT); /* the thread got no CPU */
    CHECK_OK(captured.status);
    CHECK_EQ(captured.by, SONDE__CAPTURED_PTRACE);
    CHECK_CONTAINS(captured.note, said);
    sonde__target_close(target);
    check_goes_on(0);
    end_program();
}

static void check_perf_refused(int error, const char *said)
{
    start_program();
    refuse(SYS_perf_event_open, 0, (unsigned)error);
    CHECK(!sonde__host_may_perf());
    check_stopped_instead(said);
}

TEST_TIMEOUT(perf_is_refused_to_this_user, 120)
{
    check_perf_refused(EACCES, "perf events are refused (errno 13), so it was stopped");
}

TEST_TIMEOUT(perf_is_refused_by_a_profile, 120)
{
    check_perf_refused(EPERM, "perf events are refused (errno 1), so it was stopped");
}

TEST_TIMEOUT(perf_is_not_in_this_kernel, 120)
{
    check_perf_refused(ENOSYS, "perf events are refused (errno 38), so it was stopped");
}

TEST_TIMEOUT(perf_has_no_descriptor_left, 120)
{
    check_perf_refused(EMFILE, "perf events are refused (errno 24), so it was stopped");
}

TEST_TIMEOUT(perf_may_not_lock_memory_for_its_ring, 120)
{
    start_program();
    need_perf();
    ring_error = EPERM;
    check_stopped_instead("perf events are refused (errno 1), so it was stopped");
}

/* The thread stays in the kernel, or its samples are lost. */
TEST_TIMEOUT(perf_gives_no_sample_in_time, 120)
{
    start_program();
    need_perf();
    ring_is_ours = true;
    check_stopped_instead("no perf sample came, so it was stopped");
}

TEST_TIMEOUT(perf_and_ptrace_are_refused, 120)
{
    start_program();
    refuse(SYS_perf_event_open, SYS_ptrace, EPERM);
    struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, PERF_THEN_PTRACE);
    struct sonde__capture captured = capture_running(target, 0);
    CHECK_EQ(captured.status, SONDE_DENIED);
    CHECK_EQ(captured.by, SONDE__CAPTURED_NOT);
    CHECK_CONTAINS(captured.note, "perf events are refused (errno 1), and so is ptrace");
    sonde__target_close(target);
    check_goes_on(0);
    end_program();
}

TEST_TIMEOUT(refused_perf_without_a_fallback_is_reported, 120)
{
    start_program();
    refuse(SYS_perf_event_open, 0, EACCES);
    struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, SONDE__TARGET_BY_PERF);
    struct sonde__capture captured = capture_running(target, 0);
    CHECK_EQ(captured.by, SONDE__CAPTURED_NOT);
    CHECK_CONTAINS(captured.note, "no perf sample was to be had");
    sonde__target_close(target);
    check_goes_on(0);
    end_program();
}

/* --- by a signal --- */

/* The thread answers as soon as it can. */
static struct sonde__capture check_answers(struct sonde__target *target, unsigned i)
{
    struct sonde__capture captured;
    for (unsigned n = 0; n < LOOKS_MAX; n++) {
        captured = capture_running(target, i);
        if (captured.by == SONDE__CAPTURED_SIGNAL) {
            return captured;
        }
        usleep(LOOK_US);
    }
    FAIL("not asked any more: %s", captured.note);
}

/* Signal thread 0, which does not answer. Where the program allows it, the next request is not
 * affected. */
static struct sonde__target *ask_in_vain(uint32_t ways, const char *said)
{
    struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, ways);
    struct sonde__capture captured = capture_running(target, 0);
    CHECK_EQ(captured.by, SONDE__CAPTURED_NOT);
    CHECK(captured.status != SONDE_OK);
    CHECK_CONTAINS(captured.note, said);
    return target;
}

static void close_and_end(struct sonde__target *target)
{
    sonde__target_close(target);
    check_goes_on(0);
    check_goes_on(1);
    end_program();
}

TEST_TIMEOUT(a_thread_answers_a_signal, 120)
{
    start_program();
    struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, SONDE__TARGET_BY_SIGNAL);
    (void)check_answers(target, 0);
    (void)check_answers(target, 1);
    CHECK(sonde__target_signals(target).sent >= 2);
    close_and_end(target);
}

static void check_sending_refused(unsigned error, const char *said)
{
    start_program();
    refuse(SYS_rt_tgsigqueueinfo, 0, error);
    struct sonde__target *target = ask_in_vain(SONDE__TARGET_BY_SIGNAL, said);
    CHECK_EQ(sonde__target_signals(target).sent, 0);
    CHECK_EQ(sonde__target_signals(target).refused, 1);
    CHECK(!sonde__probe_sample_busy(&shared->sample)); /* the request was withdrawn */
    close_and_end(target);
}

TEST_TIMEOUT(a_signal_may_not_be_sent, 120)
{
    check_sending_refused(EPERM, "a signal to it is refused (errno 1)");
}

TEST_TIMEOUT(no_more_signals_can_be_queued, 120)
{
    check_sending_refused(EAGAIN, "a signal to it is refused (errno 11)");
}

TEST_TIMEOUT(a_thread_that_blocks_the_signal_is_not_asked, 120)
{
    start_program();
    order(shared->tid[0], BLOCK_SIGNAL);
    while (atomic_load(&shared->order[0]) != COUNT) {
        usleep(LOOK_US);
    }
    struct sonde__target *target = ask_in_vain(SONDE__TARGET_BY_SIGNAL, "blocks the signal");
    CHECK_EQ(sonde__target_signals(target).sent, 0);
    CHECK(sonde__target_signals(target).refused >= 1);
    (void)check_answers(target, 1);
    close_and_end(target);
}

/* An answer after the deadline does not count for a later request. */
TEST_TIMEOUT(an_answer_that_comes_late_is_dropped, 120)
{
    start_program();
    atomic_store(&shared->hold, true);
    struct sonde__target *target =
        ask_in_vain(SONDE__TARGET_BY_SIGNAL, "did not answer the signal in time");
    CHECK_EQ(sonde__target_signals(target).unanswered, 1);
    atomic_store(&shared->hold, false);
    for (unsigned n = 0; n < LOOKS_MAX && atomic_load(&shared->sample.late) == 0; n++) {
        usleep(LOOK_US);
    }
    CHECK_EQ(atomic_load(&shared->sample.late), 1);
    (void)check_answers(target, 0);
    close_and_end(target);
}

/* Another handler takes the signal: after one try sonde stops using it. */
TEST_TIMEOUT(a_signal_that_another_handler_takes_is_given_up, 120)
{
    start_program();
    order(shared->tid[1], TAKE_SIGNAL);
    while (atomic_load(&shared->order[1]) != COUNT) {
        usleep(LOOK_US);
    }
    struct sonde__target *target = open_program(SONDE__TARGET_PASSIVE, SONDE__TARGET_BY_SIGNAL);
    struct sonde__capture captured;
    do {
        captured = capture_running(target, 0);
        CHECK_EQ(captured.by, SONDE__CAPTURED_NOT);
    } while (strstr(captured.note, "did not answer") != NULL || /* the thread got no CPU */
             strstr(captured.note, "on its way") != NULL);
    CHECK_CONTAINS(captured.note, "a handler that is not ours took it");
    uint64_t sent = sonde__target_signals(target).sent;
    CHECK_CONTAINS(capture_running(target, 0).note, "a handler that is not ours took it");
    CHECK_EQ(sonde__target_signals(target).sent, sent);
    close_and_end(target);
}

/* perf and ptrace refused: the signal is the third way. */
TEST_TIMEOUT(a_signal_where_perf_and_ptrace_are_refused, 120)
{
    start_program();
    refuse(SYS_perf_event_open, SYS_ptrace, EPERM);
    struct sonde__target *target =
        open_program(SONDE__TARGET_PASSIVE, PERF_THEN_PTRACE | SONDE__TARGET_BY_SIGNAL);
    CHECK_CONTAINS(check_answers(target, 0).note, "so it was asked by a signal");
    close_and_end(target);
}
