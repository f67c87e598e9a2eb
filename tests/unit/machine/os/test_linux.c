// SPDX-License-Identifier: Apache-2.0
/* The Linux port on this machine (also under an emulator). libc is the oracle. */
#include <errno.h>
#include <gnu/libc-version.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os.h"
#include "os_confined.h"
#include "test.h"

TEST(identity_and_clock)
{
    struct timespec t;
    uint64_t now_ns;
    CHECK_EQ(sonde__os_pid(), getpid());
    CHECK_EQ(sonde__os_tid(), syscall(SYS_gettid));
    clock_gettime(CLOCK_MONOTONIC, &t);
    now_ns = sonde__os_now_ns();
    CHECK(now_ns >= (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
    CHECK(now_ns - (uint64_t)t.tv_sec * 1000000000 < 60000000000);
    CHECK_EQ(sonde__os_page_size(), sysconf(_SC_PAGESIZE));
}

/* Two pages: the first with a pattern, the second one a hole. */
static uint8_t *map_before_hole(size_t *ret_page)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    for (size_t i = 0; i < page; i++) {
        p[i] = (uint8_t)(i * 7 + i / 256);
    }
    CHECK_OK(munmap(p + page, page));
    *ret_page = page;
    return p;
}

static void check_reads(void)
{
    size_t page;
    uint8_t *p = map_before_hole(&page);
    uint8_t *bytes = malloc(3 * page);
    uint64_t at = (uint64_t)(uintptr_t)p;
    CHECK_EQ(sonde__os_read(at, bytes, page), page);
    CHECK_EQ(memcmp(bytes, p, page), 0);
    CHECK_EQ(sonde__os_read(at + 11, bytes, 5), 5);
    CHECK_EQ(memcmp(bytes, p + 11, 5), 0);
    CHECK_EQ(sonde__os_read(at + page - 3, bytes, 8), 3); /* cut at the hole */
    CHECK_EQ(memcmp(bytes, p + page - 3, 3), 0);
    CHECK_EQ(sonde__os_read(at, bytes, 3 * page), page);
    CHECK_EQ(sonde__os_read(at + page, bytes, 8), 0);
    CHECK_EQ(sonde__os_read(0, bytes, 8), 0);
    CHECK_EQ(sonde__os_read(UINT64_MAX - 7, bytes, 64), 0);
    CHECK_EQ(sonde__os_read(0x8000000000000000, bytes, 8), 0);
    CHECK_EQ(sonde__os_read(at, bytes, 0), 0);
    CHECK_OK(mprotect(p, page, PROT_NONE));
    CHECK_EQ(sonde__os_read(at, bytes, 8), 0);
    free(bytes);
    munmap(p, 3 * page);
}

TEST(read_own_memory)
{
    CHECK(sonde__os_reader() != SONDE__OS_READER_NONE);
    check_reads();
}

/* Readable parts, holes and parts that reach into a hole, in every order; and more parts than one
 * call takes. */
TEST(read_many_parts)
{
    enum { PARTS = 100 };
    size_t page;
    uint8_t *p = map_before_hole(&page);
    uint64_t at = (uint64_t)(uintptr_t)p;
    static uint8_t bytes[PARTS][64];
    struct sonde__os_part parts[PARTS];
    for (unsigned seed = 0; seed < 8; seed++) {
        for (unsigned i = 0; i < PARTS; i++) {
            unsigned kind = (i * 7 + seed * 13) / 3 % 4;
            uint64_t address = kind == 0   ? at + i
                               : kind == 1 ? at + page
                               : kind == 2 ? at + page - 1 - i % 60
                                           : at + 2 * i;
            parts[i] = (struct sonde__os_part){address, bytes[i], 64, 12345};
        }
        memset(bytes, 0, sizeof bytes);
        sonde__os_read_parts(parts, PARTS);
        for (unsigned i = 0; i < PARTS; i++) {
            uint64_t left = at + page > parts[i].address ? at + page - parts[i].address : 0;
            CHECK_EQ(parts[i].got, left < 64 ? left : 64);
            CHECK_EQ(memcmp(bytes[i], (void *)(uintptr_t)parts[i].address, parts[i].got), 0);
        }
    }
    sonde__os_read_parts(parts, 0);
    munmap(p, 3 * page);
}

TEST(handler_of_a_signal)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    uint64_t function = 7;
    CHECK(sonde__os_signal_handler(SIGURG, &function));
    CHECK_EQ(function, 0);
    CHECK_OK(sigaction(SIGURG, &action, NULL));
    CHECK(sonde__os_signal_handler(SIGURG, &function));
    CHECK_EQ(function, 1);
    action.sa_handler = (void (*)(int))(uintptr_t)&abort;
    CHECK_OK(sigaction(SIGURG, &action, NULL));
    CHECK(sonde__os_signal_handler(SIGURG, &function));
    CHECK(function == (uintptr_t)&abort);
    CHECK(!sonde__os_signal_handler(100000, &function));
}

/* A system-call filter as in containers: from now on process_vm_readv fails with `error`. */
static void refuse_process_vm_readv(unsigned error)
{
#if defined(__x86_64__)
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        SKIP("no seccomp filters here: %s", strerror(errno));
    }
#else
    (void)error;
    SKIP("the emulator has no seccomp; its own ENOSYS takes the same way");
#endif
}

TEST(read_own_memory_where_process_vm_readv_is_refused)
{
    refuse_process_vm_readv(EPERM);
    CHECK_EQ(sonde__os_reader(), SONDE__OS_READER_PIPE);
    check_reads();
}

/* Neither process_vm_readv() nor a pipe: a filter may kill for both. */
TEST(read_own_memory_of_a_confined_process)
{
    const struct rlimit none = {0, 0};
    refuse_process_vm_readv(EPERM);
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &none));
    CHECK_EQ(sonde__os_reader(), SONDE__OS_READER_NONE);
    sonde__os_confine();
    check_reads();
}

/* A child's memory differs from ours: a read of the wrong process would show. */
static void check_reads_of_child(bool refused)
{
    static volatile uint64_t cell = 1;
    uint64_t value = 0;
    size_t page;
    int32_t os_error = 0;
    uint8_t *p = map_before_hole(&page);
    uint8_t *bytes = malloc(3 * page);
    pid_t child = fork();
    if (child == 0) {
        cell = 4711;
        p[page - 1] = 77;
        raise(SIGSTOP);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, NULL, WUNTRACED), child);
    CHECK_EQ(sonde__os_read_process(child, (uint64_t)(uintptr_t)&cell, &value, 8, &os_error), 8);
    CHECK_EQ(value, 4711);
    CHECK_EQ(cell, 1);
    CHECK_EQ(sonde__os_read_process(child, (uint64_t)(uintptr_t)p, bytes, 3 * page, &os_error),
             page);
    CHECK_EQ(bytes[page - 1], 77);
    CHECK_EQ(os_error, EFAULT);
    CHECK_EQ(sonde__os_read_process(child, 8, &value, 8, &os_error), 0);
    CHECK_EQ(os_error, EFAULT);
    CHECK_EQ(sonde__os_read_process(child, UINT64_MAX - 7, bytes, 64, &os_error), 0);
    CHECK_EQ(sonde__os_read_process(child, 0x8000000000000000, bytes, 8, &os_error), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_EQ(sonde__os_read_process(child, (uint64_t)(uintptr_t)&cell, &value, 8, &os_error), 0);
    CHECK(refused || os_error == ESRCH);
    free(bytes);
    munmap(p, 3 * page);
}

TEST(read_another_process)
{
    if (sonde__os_reader() != SONDE__OS_READER_PROCESS) {
        SKIP("process_vm_readv does not work here");
    }
    check_reads_of_child(false);
}

TEST(read_another_process_where_process_vm_readv_is_refused)
{
    refuse_process_vm_readv(EPERM);
    check_reads_of_child(true);
}

TEST(read_another_process_where_process_vm_readv_is_missing)
{
    refuse_process_vm_readv(ENOSYS);
    check_reads_of_child(true);
}

struct sleeper {
    pthread_t thread;
    uint64_t tid;
    int pipe[2];
};

static void *sleep_in_read(void *arg)
{
    struct sleeper *s = arg;
    char c;
    __atomic_store_n(&s->tid, sonde__os_tid(), __ATOMIC_RELEASE);
    CHECK_EQ(read(s->pipe[0], &c, 1), 1);
    return NULL;
}

static void start(struct sleeper *s)
{
    s->tid = 0;
    CHECK_OK(pipe(s->pipe));
    CHECK_OK(pthread_create(&s->thread, NULL, sleep_in_read, s));
    while (__atomic_load_n(&s->tid, __ATOMIC_ACQUIRE) == 0) {
        usleep(1000);
    }
}

static void finish(struct sleeper *s)
{
    CHECK_EQ(write(s->pipe[1], "x", 1), 1);
    pthread_join(s->thread, NULL);
    close(s->pipe[0]);
    close(s->pipe[1]);
}

TEST(threads_are_listed)
{
    struct sleeper s[40];
    uint64_t tids[64], few[3];
    size_t before, total = 0;
    CHECK_OK(sonde__os_list_threads(0, tids, 64, &before, NULL));
    for (int i = 0; i < 40; i++) {
        start(&s[i]);
    }
    CHECK_OK(sonde__os_list_threads(0, tids, 64, &total, NULL));
    CHECK_EQ(total, before + 40);
    CHECK_EQ(tids[0], getpid());
    for (int i = 0; i < 40; i++) {
        size_t at = 0;
        while (at < total && tids[at] != s[i].tid) {
            at++;
        }
        CHECK(at < total);
    }
    CHECK_OK(sonde__os_list_threads(0, few, 3, &total, NULL));
    CHECK_EQ(total, before + 40); /* threads that do not fit are counted */
    for (int i = 0; i < 40; i++) {
        finish(&s[i]);
    }
    CHECK_EQ(sonde__os_list_threads(INT32_MAX, tids, 64, &total, NULL), SONDE_ABSENT);
}

TEST(wait_of_a_real_thread)
{
    struct sleeper s;
    struct sonde__os_wait wait;
    struct sonde__os_call call = {.number = -1};
    struct sonde__os_schedstat stat;
    int32_t fd, stat_fd, os_error = 0;
    start(&s);
    if (sonde__os_reader() != SONDE__OS_READER_PROCESS) {
        finish(&s);
        SKIP("an emulator shows the host's registers here");
    }
    CHECK_OK(sonde__os_thread_open(0, s.tid, SONDE__OS_THREAD_SYSCALL, &fd, NULL));
    CHECK_OK(sonde__os_thread_open(getpid(), s.tid, SONDE__OS_THREAD_SCHEDSTAT, &stat_fd, NULL));
    for (int i = 0; i < 5000 && call.number != SYS_read; i++) {
        usleep(1000);
        CHECK_OK(sonde__os_read_wait(fd, &wait, NULL));
        call = sonde__os_wait_call(&wait);
    }
    CHECK_EQ(call.number, SYS_read);
    CHECK_EQ(call.args[0], s.pipe[0]);
    CHECK_EQ(call.args[2], 1);
    CHECK(sonde__os_wait_is_blocked(&wait) && sonde__os_wait_sp(&wait) != 0);
    CHECK_OK(sonde__os_read_schedstat(stat_fd, &stat, NULL));
    CHECK(stat.slices > 0);
    finish(&s);
    CHECK_EQ(sonde__os_read_wait(fd, &wait, &os_error), SONDE_ABSENT);
    CHECK_EQ(os_error, ESRCH);
    sonde__os_close(fd);
    sonde__os_close(stat_fd);
    CHECK_EQ(sonde__os_thread_open(0, s.tid, SONDE__OS_THREAD_COMM, &fd, NULL), SONDE_ABSENT);
}

static volatile sig_atomic_t signalled_tid;
static void *volatile signalled_value;

static void note_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    signalled_tid = (sig_atomic_t)sonde__os_tid();
    signalled_value = info->si_value.sival_ptr;
}

TEST(signal_reaches_the_thread_with_its_value)
{
    struct sleeper s;
    struct sigaction action = {.sa_sigaction = note_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK_OK(sigaction(SIGURG, &action, NULL));
    start(&s);
    CHECK_OK(sonde__os_signal_thread(sonde__os_sender(), s.tid, SIGURG, 0x123456789abc));
    for (int i = 0; i < 5000 && signalled_tid == 0; i++) {
        usleep(1000);
    }
    CHECK_EQ(signalled_tid, s.tid);
    CHECK_EQ((uintptr_t)signalled_value, 0x123456789abc);
    finish(&s);
    /* a joined thread may leave the kernel a little later */
    for (int i = 0;
         i < 1000 && sonde__os_signal_thread(sonde__os_sender(), s.tid, SIGURG, 0) == SONDE_OK;
         i++) {
        usleep(1000);
    }
    CHECK_EQ(sonde__os_signal_thread(sonde__os_sender(), s.tid, SIGURG, 0), SONDE_ABSENT);
}

TEST(threads_that_run_are_interrupted)
{
    CHECK(!sonde__os_interrupt_running()); /* not prepared yet */
    if (!sonde__os_interrupt_prepare()) {
        SKIP("the system does not interrupt a process' threads");
    }
    CHECK(sonde__os_interrupt_prepare());
    CHECK(sonde__os_interrupt_running());
}

static void *wake_later(void *arg)
{
    uint32_t *word = arg;
    usleep(20000);
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    while (!sonde__os_wake(word, false, false) && __atomic_load_n(word, __ATOMIC_RELAXED) == 1) {
        usleep(1000);
    }
    return NULL;
}

TEST(sleep_and_wake)
{
    uint32_t word = 0;
    pthread_t thread;
    CHECK_EQ(sonde__os_sleep(&word, 0, 1000000, false), SONDE_TIMEOUT);
    CHECK_EQ(sonde__os_sleep(&word, 0, 1000000, true), SONDE_TIMEOUT);
    CHECK_EQ(sonde__os_sleep(&word, 5, SONDE__OS_FOREVER, false), SONDE_OK);
    CHECK_OK(pthread_create(&thread, NULL, wake_later, &word));
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) {
        CHECK_OK(sonde__os_sleep(&word, 0, SONDE__OS_FOREVER, false));
    }
    __atomic_store_n(&word, 2, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK(!sonde__os_wake(&word, false, true));
}

TEST(map_and_unmap)
{
    uint8_t *p = sonde__os_map(100000);
    uint8_t byte;
    CHECK(p != NULL);
    CHECK_EQ(p[0] + p[99999], 0);
    p[99999] = 1;
    sonde__os_unmap(p, 100000);
    CHECK_EQ(sonde__os_read((uint64_t)(uintptr_t)p, &byte, 1), 0);
    CHECK(sonde__os_map((size_t)1 << 60) == NULL);
}

TEST(write_goes_on_to_the_end)
{
    enum { BYTES = 200000 }; /* more than a pipe holds: several system calls */
    static uint8_t bytes[BYTES], got[BYTES];
    int fds[2];
    size_t have = 0;
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    CHECK_OK(pipe(fds));
    pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        sonde__os_write(fds[1], bytes, BYTES);
        _exit(0);
    }
    close(fds[1]);
    for (ssize_t n; (n = read(fds[0], got + have, BYTES - have)) > 0;) {
        have += (size_t)n;
    }
    CHECK_EQ(waitpid(child, NULL, 0), child);
    CHECK_EQ(have, BYTES);
    CHECK(memcmp(got, bytes, BYTES) == 0);
    close(fds[0]);
    sonde__os_write(fds[0], bytes, BYTES); /* closed: no effect */
}

TEST(loader_knows_its_images)
{
    struct sonde__os_image here, libc;
    CHECK(sonde__os_find_image((uint64_t)(uintptr_t)&loader_knows_its_images, &here));
    CHECK(here.start <= (uint64_t)(uintptr_t)&loader_knows_its_images);
    CHECK(here.end > (uint64_t)(uintptr_t)&loader_knows_its_images);
    CHECK(here.eh_frame_hdr >= here.start && here.eh_frame_hdr < here.end);
    CHECK_EQ(*(const uint8_t *)(uintptr_t)here.eh_frame_hdr, 1); /* version of .eh_frame_hdr */
    CHECK(sonde__os_find_image((uint64_t)(uintptr_t)&gnu_get_libc_version, &libc));
    CHECK(libc.key != here.key);
    CHECK(!sonde__os_find_image(16, &libc));
}

enum { STACK_SIZE = 1 << 18 };

static void *check_stack_of_thread(void *stack)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), end = 0;
    CHECK(sonde__os_own_stack_end(here, &end));
    CHECK(end > here && end <= (uint64_t)(uintptr_t)stack + STACK_SIZE);
    CHECK((uint64_t)(uintptr_t)stack + STACK_SIZE - end < 65536);
    return NULL;
}

TEST(stack_bounds)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), end = 0;
    void *stack = sonde__os_map(STACK_SIZE);
    pthread_attr_t attr;
    pthread_t thread;
    CHECK(sonde__os_main_stack_end(&end));
    CHECK(end > here);
    CHECK(end - here < (1u << 20));
    CHECK(sonde__os_own_stack_end(here, &end));
    CHECK(!sonde__os_own_stack_end(end, &end));
    CHECK(stack != NULL);
    pthread_attr_init(&attr);
    CHECK_OK(pthread_attr_setstack(&attr, stack, STACK_SIZE));
    CHECK_OK(pthread_create(&thread, &attr, check_stack_of_thread, stack));
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    sonde__os_unmap(stack, STACK_SIZE);
}

static volatile int alternate_seen;

static void inspect_alternate(int number)
{
    uint64_t start, end;
    bool active;
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    (void)number;
    alternate_seen =
        sonde__os_alternate_stack(&start, &end, &active) && active && here >= start && here < end;
}

TEST(alternate_stack)
{
    uint64_t start, end;
    bool active = true;
    stack_t stack = {.ss_size = 65536, .ss_sp = malloc(65536)};
    stack_t none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = inspect_alternate, .sa_flags = SA_ONSTACK};
    sigaltstack(&none, NULL); /* a sanitizer has set one up */
    CHECK(!sonde__os_alternate_stack(&start, &end, &active));
    CHECK_OK(sigaltstack(&stack, NULL));
    CHECK(sonde__os_alternate_stack(&start, &end, &active));
    CHECK(!active);
    CHECK_EQ(start, (uintptr_t)stack.ss_sp);
    CHECK_EQ(end - start, 65536);
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    raise(SIGUSR1);
    CHECK(alternate_seen);
    CHECK_OK(sigaltstack(&none, NULL));
    free(stack.ss_sp);
}

TEST(a_word_that_can_be_read)
{
    size_t page = sonde__os_page_size();
    uint64_t at = (uint64_t)(uintptr_t)mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != (uint64_t)(uintptr_t)MAP_FAILED);
    CHECK_OK(mprotect((void *)(uintptr_t)(at + page), page, PROT_NONE));
    for (int i = 0; i < 2; i++) {      /* the port tries the ways once */
        CHECK(sonde__os_can_read(at)); /* not touched yet */
        CHECK(sonde__os_can_read(at + page - 1));
        CHECK(!sonde__os_can_read(at + page));
        CHECK(!sonde__os_can_read(at + 2 * page - 8));
        CHECK(sonde__os_can_read(at + 2 * page));
        CHECK(sonde__os_can_read_across(at + page / 2)); /* the border of a smaller page */
        CHECK(!sonde__os_can_read_across(at + page));
        CHECK(!sonde__os_can_read_across(at + 2 * page));
        CHECK(!sonde__os_can_read(0));
        CHECK(!sonde__os_can_read(UINT64_MAX));
        CHECK(sonde__os_can_read((uint64_t)(uintptr_t)&page));
    }
    CHECK_OK(mprotect((void *)(uintptr_t)(at + page), page, PROT_READ));
    CHECK(sonde__os_can_read_across(at + page));
    CHECK(sonde__os_can_read_across(at + 2 * page));
    CHECK_OK(munmap((void *)(uintptr_t)(at + page), page)); /* a hole that stays unmapped */
    CHECK(!sonde__os_can_read(at + page));
    CHECK(!sonde__os_can_read_across(at + page));
}
