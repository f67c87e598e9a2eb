// SPDX-License-Identifier: Apache-2.0
/* Descriptors, sockets, locks and children of the port: texts of the kernel, and this process. */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host_wait.h"
#include "os.h"
#include "test.h"

TEST(lines_of_locks)
{
    struct sonde__host_lock lock;
    CHECK(sonde__host_parse_lock("12: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF\n", &lock));
    CHECK_STR(lock.kind, "FLOCK");
    CHECK_EQ(lock.id, 12);
    CHECK_EQ(lock.pid, 4711);
    CHECK_EQ(lock.inode, 1234);
    CHECK(lock.writes && !lock.waits);
    CHECK(sonde__host_parse_lock("12:   -> POSIX  ADVISORY  READ 5 00:3a:18446744073709551615 0 9",
                                 &lock));
    CHECK(lock.waits && !lock.writes);
    CHECK(lock.inode == UINT64_MAX);
    CHECK(sonde__host_parse_lock("3: OFDLCK ADVISORY  READ -1 08:01:7 0 EOF", &lock));
    CHECK_EQ(lock.pid, -1);
    CHECK(!sonde__host_parse_lock("", &lock));
    CHECK(!sonde__host_parse_lock("12", &lock));
    CHECK(!sonde__host_parse_lock("12: ", &lock));
    CHECK(!sonde__host_parse_lock("12: -> FLOCK ADVISORY WRITE x fe:01:1 0 EOF", &lock));
    CHECK(!sonde__host_parse_lock("12: AKINDTHATISTOOLONG ADVISORY WRITE 1 fe:01:1 0 EOF", &lock));
    CHECK(!sonde__host_parse_lock("12: FLOCK ADVISORY WRITE 4711 nofile 0 EOF", &lock));
}

TEST(lines_of_sockets)
{
    struct sonde__host_net_line l;
    static const uint8_t here[4] = {127, 0, 0, 1}, there[4] = {10, 0, 2, 15};
    CHECK(sonde__host_parse_net_line("   0: 0100007F:1F90 0F02000A:0035 0A 00000000:00000000 "
                                     "00:00000000 00000000  1000        0 12345 1 0 100",
                                     &l));
    CHECK_EQ(l.size, 4);
    CHECK(memcmp(l.local, here, 4) == 0 && memcmp(l.remote, there, 4) == 0);
    CHECK_EQ(l.local_port, 8080);
    CHECK_EQ(l.remote_port, 53);
    CHECK_EQ(l.state, 10);
    CHECK_EQ(l.inode, 12345);
    /* IPv4 in IPv6 is the same address */
    CHECK(sonde__host_parse_net_line("1: 0000000000000000FFFF00000100007F:1F90 "
                                     "0000000000000000FFFF00000F02000A:0035 01 0:0 0:0 0 0 0 7",
                                     &l));
    CHECK_EQ(l.size, 4);
    CHECK(memcmp(l.local, here, 4) == 0 && memcmp(l.remote, there, 4) == 0);
    CHECK(sonde__host_parse_net_line("1: 00000000000000000000000001000000:0001 "
                                     "00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 7",
                                     &l));
    CHECK_EQ(l.size, 16);
    CHECK_EQ(l.local[15], 1);
    CHECK(!sonde__host_parse_net_line("  sl  local_address rem_address   st tx_queue", &l));
    CHECK(!sonde__host_parse_net_line("", &l));
    CHECK(!sonde__host_parse_net_line("0: 0100007F", &l));
    CHECK(!sonde__host_parse_net_line("0: 0100007:1F90 0F02000A:0035 0A 0:0 0:0 0 0 0 7", &l));
    CHECK(!sonde__host_parse_net_line("0: 0100007F:1F90 0F02000A:0035 0A 0:0", &l));
}

TEST(descriptors)
{
    struct sonde__host_fd what;
    struct itimerspec later = {.it_value = {4711, 0}};
    int event = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0), set = epoll_create1(0);
    int file = open("/etc/passwd", O_RDONLY);
    struct epoll_event in = {.events = EPOLLIN};
    CHECK(timerfd_settime(timer, 0, &later, NULL) == 0);
    CHECK(epoll_ctl(set, EPOLL_CTL_ADD, event, &in) == 0);
    CHECK(epoll_ctl(set, EPOLL_CTL_ADD, timer, &in) == 0);
    uint64_t tid = (uint64_t)syscall(SYS_gettid);
    sonde__host_fd_read(getpid(), tid, file, &what);
    CHECK_EQ(what.kind, SONDE__HOST_FD_PATH);
    CHECK_STR(what.text, "/etc/passwd");
    sonde__host_fd_read(getpid(), tid, set, &what);
    CHECK_EQ(what.set_count, 2);
    CHECK((what.set[0] == event && what.set[1] == timer) ||
          (what.set[0] == timer && what.set[1] == event));
    sonde__host_fd_read(getpid(), tid, timer, &what);
    CHECK(what.has_timer && what.timer_ns > 4000 * (uint64_t)1000000000u &&
          what.timer_ns <= 4711 * (uint64_t)1000000000u);
    close(file);
    sonde__host_fd_read(getpid(), tid, file, &what); /* closed meanwhile */
    CHECK_EQ(what.kind, SONDE__HOST_FD_CLOSED);
    sonde__host_fd_read(getpid(), tid, -1, &what);
    CHECK_EQ(what.kind, SONDE__HOST_FD_CLOSED);
    sonde__host_fd_read(INT32_MAX, INT32_MAX, 0, &what); /* no such process */
    CHECK_EQ(what.kind, SONDE__HOST_FD_CLOSED);
    close(event);
    close(timer);
    close(set);
}

static uint64_t pipe_inode(int fd)
{
    struct sonde__host_fd what;
    sonde__host_fd_read(getpid(), (uint64_t)getpid(), fd, &what);
    CHECK_EQ(what.kind, SONDE__HOST_FD_PIPE);
    return what.inode;
}

TEST(holders_of_a_pipe)
{
    struct sonde__host_holders holders;
    int ends[2];
    size_t count;
    bool reads = false, writes = false;
    CHECK(pipe(ends) == 0);
    sonde__host_holders_read(getpid(), UINT64_MAX / 2, &holders);
    CHECK(!holders.cut);
    const struct sonde__host_holder *found =
        sonde__host_holders_find(&holders, SONDE__HOST_FD_PIPE, pipe_inode(ends[0]), &count);
    CHECK_EQ(count, 2);
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(found[i].pid, getpid());
        reads = reads || (found[i].fd == ends[0] && found[i].reads && !found[i].writes);
        writes = writes || (found[i].fd == ends[1] && !found[i].reads && found[i].writes);
    }
    CHECK(reads && writes);
    (void)sonde__host_holders_find(&holders, SONDE__HOST_FD_PIPE, UINT64_MAX, &count);
    CHECK_EQ(count, 0);
    sonde__host_holders_done(&holders);
    /* without time the search ends at once, and reports it */
    sonde__host_holders_read(getpid(), 0, &holders);
    CHECK(holders.cut);
    CHECK(holders.processes <= 1);
    sonde__host_holders_done(&holders);
    close(ends[0]);
    close(ends[1]);
}

TEST(a_pair_of_sockets)
{
    struct sonde__host_fd one, two;
    struct sonde__host_socket socket;
    int ends[2];
    if (sonde__os_reader() != SONDE__OS_READER_PROCESS) {
        SKIP("the emulator does not pass questions about sockets on");
    }
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    sonde__host_fd_read(getpid(), (uint64_t)getpid(), ends[0], &one);
    sonde__host_fd_read(getpid(), (uint64_t)getpid(), ends[1], &two);
    CHECK(sonde__host_socket_read(getpid(), (uint64_t)getpid(), one.inode, true, &socket));
    CHECK_STR(socket.kind, "unix");
    CHECK_EQ(socket.peer_inode, two.inode);
    CHECK(!sonde__host_socket_read(getpid(), (uint64_t)getpid(), UINT64_MAX, true, &socket));
    CHECK(!sonde__host_socket_read(getpid(), (uint64_t)getpid(), 0, true, &socket));
    CHECK(!sonde__host_socket_address(getpid(), (uint64_t)getpid(), "", 1, &socket));
    CHECK(!sonde__host_socket_address(getpid(), (uint64_t)getpid(), "\377\377abcdef", 8, &socket));
    close(ends[0]);
    close(ends[1]);
}

TEST(children_and_commands)
{
    char text[64], channel[64];
    int32_t pids[4];
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            pause();
        }
    }
    CHECK_EQ(sonde__host_children_read(getpid(), pids, 4), 1);
    CHECK_EQ(pids[0], child);
    CHECK_EQ(sonde__host_children_read(getpid(), pids, 0), 1);
    CHECK(sonde__host_command_read(child, text, sizeof text));
    CHECK(strstr(text, "test_unit_host") != NULL || strlen(text) == sizeof text - 1);
    CHECK_EQ(sonde__host_thread_process((uint64_t)child), child);
    CHECK(sonde__host_has_thread(child, (uint64_t)child));
    CHECK(!sonde__host_has_thread(child, (uint64_t)getpid()));
    CHECK(!sonde__host_has_thread(child, 0));
    CHECK_EQ(sonde__host_thread_of_inner(child, (uint64_t)child), child);
    CHECK_EQ(sonde__host_thread_of_inner(child, 4000000000u), 0);
    sonde__host_wait_channel(child, (uint64_t)child, channel, sizeof channel);
    kill(child, SIGKILL);
    siginfo_t info;
    CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
    CHECK_EQ(sonde__host_children_read(getpid(), pids, 4), 0); /* the child has ended: a zombie */
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK(!sonde__host_command_read(child, text, sizeof text));
    CHECK_EQ(sonde__host_thread_process((uint64_t)child), 0);
}

TEST(load_of_a_thread)
{
    struct sonde__host_load before, after;
    volatile char *memory;
    struct sonde__host_load_files files = {0};
    CHECK(sonde__host_load_read(getpid(), (uint64_t)getpid(), NULL, &before));
    size_t size = (size_t)4 << 20;
    memory = malloc(size);
    for (size_t i = 0; i < size; i += 4096) {
        memory[i] = 1;
    }
    CHECK(sonde__host_load_read(getpid(), (uint64_t)getpid(), &files, &after));
    CHECK(after.minor_faults > before.minor_faults);
    CHECK(after.io_pressure_ns >= before.io_pressure_ns);
    free((void *)memory);
    CHECK(!sonde__host_load_read(INT32_MAX, INT32_MAX, &files, &after));
    CHECK_EQ(after.has_pressure, before.has_pressure);
    sonde__host_load_close(&files);
    CHECK(!files.cpu.is_known && !files.io.is_known);
}

static void make_call(unsigned kind, const int ends[2], const struct timespec *time, uint32_t *word)
{
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    switch (kind) {
    case 0:
        (void)syscall(SYS_nanosleep, time, NULL);
        break;
    case 1:
        (void)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, time, NULL);
        break;
    case 2:
        (void)syscall(SYS_futex, word, FUTEX_WAIT, 0, time, NULL, 0);
        break;
    default:
        (void)poll(&fd, 1, 1000000);
    }
}

static int64_t read_call(pid_t pid, bool resumed)
{
    struct sonde__os_wait wait;
    int32_t fd;
    CHECK_OK(sonde__os_thread_open(pid, (uint64_t)pid, SONDE__OS_THREAD_SYSCALL, &fd, NULL));
    CHECK_OK(sonde__os_read_wait(fd, &wait, NULL));
    sonde__os_close(fd);
    if (resumed) {
        sonde__host_wait_resumed(pid, (uint64_t)pid, &wait);
    }
    return sonde__os_wait_call(&wait).number;
}

/* The call that the kernel shows before a stop is the one that is named after it. The time is where
 * the lower half of its address looks like a negative clock. */
TEST(calls_that_the_kernel_resumes)
{
    int ends[2];
    CHECK_OK(pipe(ends));
    struct timespec *time = mmap((void *)(uintptr_t)0x10080000000, 4096, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(time != MAP_FAILED);
    *time = (struct timespec){.tv_sec = 1000};
    if (sonde__os_reader() != SONDE__OS_READER_PROCESS || (int32_t)(uintptr_t)time >= 0) {
        SKIP("under an emulator calls are not shown, or the address is taken");
    }
    for (unsigned kind = 0; kind < 4; kind++) {
        pid_t pid = fork();
        if (pid == 0) {
            uint32_t word = 0;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            make_call(kind, ends, time, &word);
            _exit(0);
        }
        int64_t made = -1, again = -1;
        while (made < 0) {
            made = read_call(pid, false);
        }
        CHECK_OK(kill(pid, SIGSTOP));
        CHECK(waitpid(pid, NULL, WUNTRACED) == pid);
        CHECK_OK(kill(pid, SIGCONT));
        while (again < 0 || again == made) { /* restart_syscall */
            again = read_call(pid, false);
        }
        CHECK_EQ(read_call(pid, true), made);
        CHECK_OK(kill(pid, SIGKILL));
        CHECK(waitpid(pid, NULL, 0) == pid);
    }
    CHECK_OK(munmap(time, 4096));
    close(ends[0]);
    close(ends[1]);
}
