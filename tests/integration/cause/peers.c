// SPDX-License-Identifier: Apache-2.0
/* A process that waits for another one, argv[1] says how. "WAITER OTHER" (pids) and other facts for
 * the test go to the file argv[2]. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *truth;
static const char *folder;
static char buffer[65536];

/* The other process, which does nothing more. */
static pid_t other(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    return pid;
}

static void rest(void)
{
    for (;;) {
        pause();
    }
}

/* All is set up, and the caller is about to wait. */
static void go(pid_t pid, const char *more)
{
    fprintf(truth, "%d %d %s\n", (int)getpid(), (int)pid, more);
    fclose(truth);
    printf("ready\n");
    fflush(stdout);
}

static void with_pipe(const char *how)
{
    int ends[2];
    if (pipe(ends) != 0) {
        exit(2);
    }
    int reads = strcmp(how, "pipe-full") != 0, hidden = strcmp(how, "pipe-hidden") == 0;
    pid_t pid = strcmp(how, "pipe-own") == 0 ? getpid() : other();
    if (pid == 0) {
        close(ends[reads ? 0 : 1]);
        while (strcmp(how, "pipe-many") == 0 && eventfd(0, 0) >= 0 && pipe(ends) == 0) {
        }
        rest();
    }
    if (strcmp(how, "pipe-own") != 0) {
        close(ends[reads ? 1 : 0]);
    }
    if (hidden && (setgid(65534) != 0 || setuid(65534) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)) {
        exit(2);
    }
    go(pid, "");
    while (reads ? read(ends[0], buffer, 1) : write(ends[1], buffer, sizeof buffer)) {
    }
}

static void with_fifo(int both)
{
    char path[512];
    snprintf(path, sizeof path, "%s/fifo", folder);
    mkfifo(path, 0600);
    pid_t pid = both ? other() : 0;
    if (both && pid == 0) {
        (void)open(path, O_WRONLY);
        rest();
    }
    if (!both) {
        go(0, path);
    }
    int fd = open(path, O_RDONLY);
    go(pid, path);
    (void)read(fd, buffer, 1);
}

static void with_pair(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        exit(2);
    }
    pid_t pid = other();
    if (pid == 0) {
        close(ends[0]);
        rest();
    }
    close(ends[1]);
    go(pid, "");
    (void)recv(ends[0], buffer, 1, 0);
}

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

static socklen_t make_address(union address *address, const char *how)
{
    memset(address, 0, sizeof *address);
    if (strncmp(how, "unix", 4) == 0) {
        address->un.sun_family = AF_UNIX;
        snprintf(address->un.sun_path, sizeof address->un.sun_path, "%s/socket", folder);
        return sizeof address->un;
    }
    if (strncmp(how, "tcp6", 4) == 0) {
        address->in6.sin6_family = AF_INET6;
        address->in6.sin6_addr = in6addr_loopback;
        return sizeof address->in6;
    }
    address->in.sin_family = AF_INET;
    address->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sizeof address->in;
}

/* "...": the other one has accepted; "...-backlog": it never does, and its queue is full. */
static void with_server(const char *how)
{
    union address address;
    socklen_t size = make_address(&address, how);
    int full = strstr(how, "backlog") != NULL, made[2];
    int server = socket(address.any.sa_family, SOCK_STREAM, 0);
    (void)pipe(made);
    if (bind(server, &address.any, size) != 0 || listen(server, full ? 0 : 5) != 0) {
        exit(2);
    }
    getsockname(server, &address.any, &size);
    pid_t pid = other();
    if (pid == 0) {
        if (!full) {
            (void)accept(server, NULL, NULL);
        }
        (void)write(made[1], "x", 1);
        rest();
    }
    close(server);
    for (int i = 0; full && i < 8; i++) {
        int filler = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(filler, &address.any, size);
    }
    usleep(full ? 100000 : 0);
    int fd = socket(address.any.sa_family, SOCK_STREAM, 0);
    char more[200] = "";
    if (address.any.sa_family == AF_INET) {
        snprintf(more, sizeof more, "127.0.0.1:%u", ntohs(address.in.sin_port));
    } else if (address.any.sa_family == AF_INET6) {
        snprintf(more, sizeof more, "[::1]:%u", ntohs(address.in6.sin6_port));
    } else {
        snprintf(more, sizeof more, "%s", address.un.sun_path);
    }
    if (full) {
        go(pid, more);
        (void)connect(fd, &address.any, size);
        exit(3);
    }
    if (connect(fd, &address.any, size) != 0) {
        exit(2);
    }
    (void)read(made[0], buffer, 1);
    go(pid, more);
    (void)read(fd, buffer, 1);
}

/* A name server that does not answer, in namespaces of our own. */
static void with_dns(void)
{
    static const char resolv[] = "nameserver 127.0.0.1\noptions timeout:30 attempts:3\n";
    struct addrinfo *result;
    char path[512];
    union address address;
    socklen_t size = make_address(&address, "udp");
    struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    snprintf(path, sizeof path, "%s/resolv.conf", folder);
    FILE *file = fopen(path, "w");
    fputs(resolv, file);
    fclose(file);
    if (unshare(CLONE_NEWNS | CLONE_NEWNET) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(path, "/etc/resolv.conf", NULL, MS_BIND, NULL) != 0) {
        printf("refused\n");
        exit(77);
    }
    int control = socket(AF_INET, SOCK_DGRAM, 0);
    address.in.sin_port = htons(53);
    if (ioctl(control, SIOCSIFFLAGS, &up) != 0 || bind(control, &address.any, size) != 0) {
        exit(2);
    }
    pid_t pid = other();
    if (pid == 0) {
        rest();
    }
    close(control);
    go(pid, "127.0.0.1:53");
    (void)getaddrinfo("never.example.com", "80", NULL, &result);
}

static void with_lock(const char *how, int in_circle)
{
    char path[512], second[512];
    int told[2];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/lock", folder);
    snprintf(second, sizeof second, "%s/lock2", folder);
    (void)pipe(told);
    if (in_circle) {
        (void)flock(open(second, O_RDWR | O_CREAT | O_CLOEXEC, 0600), LOCK_EX);
    }
    pid_t pid = other();
    if (pid == 0) {
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        (void)(strcmp(how, "posix") == 0 ? fcntl(fd, F_SETLK, &lock)
               : strcmp(how, "ofd") == 0 ? fcntl(fd, F_OFD_SETLK, &lock)
                                         : flock(fd, LOCK_EX));
        (void)write(told[1], "x", 1);
        if (in_circle) {
            (void)flock(open(second, O_RDWR, 0600), LOCK_EX);
        }
        rest();
    }
    (void)read(told[0], buffer, 1);
    close(told[0]);
    close(told[1]);
    int fd = open(path, O_RDWR);
    go(pid, path);
    (void)(strcmp(how, "posix") == 0 ? fcntl(fd, F_SETLKW, &lock)
           : strcmp(how, "ofd") == 0 ? fcntl(fd, F_OFD_SETLKW, &lock)
                                     : flock(fd, LOCK_EX));
}

/* fork() waits until somebody has read of it: whoever watches the memory wants to know. */
static void with_fork(void)
{
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK};
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_register all = {.range = {(uint64_t)(uintptr_t)memory, 4096},
                                  .mode = UFFDIO_REGISTER_MODE_MISSING};
    bool is_watched =
        fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &all) == 0;
    go(0, is_watched ? "watched" : "refused");
    if (!is_watched || fork() == 0) {
        rest();
    }
}

static void with_child(const char *how)
{
    if (strcmp(how, "vfork") == 0) {
        go(0, "");
        if (vfork() == 0) { /* the parent is held until the child executes a program */
            rest();
        }
        _exit(3);
    }
    if (strcmp(how, "child-fd") == 0 && other() == 0) {
        rest();
    }
    int executed[2];
    (void)pipe2(executed, O_CLOEXEC);
    pid_t pid = other();
    if (pid == 0) {
        execlp("sleep", "sleep", "4711", (char *)NULL);
        _exit(127);
    }
    close(executed[1]);
    (void)read(executed[0], buffer, 1);
    go(pid, "sleep 4711");
    if (strcmp(how, "child-id") == 0) {
        siginfo_t info;
        waitid(P_ALL, 0, &info, WEXITED);
    } else if (strcmp(how, "child-fd") == 0) { /* there is another child */
        siginfo_t info;
        waitid(P_PIDFD, (id_t)syscall(SYS_pidfd_open, pid, 0), &info, WEXITED);
    } else {
        waitpid(strcmp(how, "child-any") == 0 ? -1 : pid, NULL, 0);
    }
}

/* Each waits for bytes of the other one. */
static void with_mutual_pipes(void)
{
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) {
        exit(2);
    }
    pid_t pid = other();
    if (pid == 0) {
        close(to[1]);
        close(from[0]);
        (void)read(to[0], buffer, 1);
    }
    close(to[0]);
    close(from[1]);
    go(pid, "");
    (void)read(from[0], buffer, 1);
}

static void with_descriptor(const char *how)
{
    struct itimerspec later = {.it_value = {4711, 0}};
    int event = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0), set = epoll_create1(0);
    struct epoll_event in = {.events = EPOLLIN};
    struct pollfd polled[2] = {{event, POLLIN, 0}, {timer, POLLIN, 0}};
    char more[100];
    timerfd_settime(timer, 0, &later, NULL);
    epoll_ctl(set, EPOLL_CTL_ADD, event, &in);
    epoll_ctl(set, EPOLL_CTL_ADD, timer, &in);
    snprintf(more, sizeof more, "%d %d %d", event, timer, set);
    go(0, more);
    if (strcmp(how, "eventfd") == 0) {
        (void)read(event, buffer, 8);
    } else if (strcmp(how, "epoll") == 0) {
        (void)epoll_wait(set, &in, 1, -1);
    } else {
        (void)poll(polled, 2, -1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4 || (truth = fopen(argv[2], "w")) == NULL) {
        return 2;
    }
    const char *how = argv[1];
    folder = argv[3];
    struct rlimit files = {20000, 20000};
    (void)(strcmp(how, "pipe-many") == 0 && setrlimit(RLIMIT_NOFILE, &files));
    if (strcmp(how, "mutual") == 0) {
        with_mutual_pipes();
    } else if (strncmp(how, "pipe", 4) == 0) {
        with_pipe(how);
    } else if (strncmp(how, "fifo", 4) == 0) {
        with_fifo(strcmp(how, "fifo-read") == 0);
    } else if (strcmp(how, "pair") == 0) {
        with_pair();
    } else if (strncmp(how, "tcp", 3) == 0 || strncmp(how, "unix", 4) == 0) {
        with_server(how);
    } else if (strcmp(how, "dns") == 0) {
        with_dns();
    } else if (strcmp(how, "flock") == 0 || strcmp(how, "posix") == 0 || strcmp(how, "ofd") == 0) {
        with_lock(how, 0);
    } else if (strcmp(how, "flock-circle") == 0) {
        with_lock("flock", 1);
    } else if (strcmp(how, "fork") == 0) {
        with_fork();
    } else if (strncmp(how, "child", 5) == 0 || strcmp(how, "vfork") == 0) {
        with_child(how);
    } else {
        with_descriptor(how);
    }
    return 3;
}
