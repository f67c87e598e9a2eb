// SPDX-License-Identifier: Apache-2.0
/* Programs whose habits a probe inside could disturb, one per sub-command. Each prints what it saw;
 * two plain runs print the same. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Enough turns of an event loop to be learned, then two seconds of rest, then turns again. */
static void turn(int count, int wait_ms)
{
    int pipes[2] = {-1, -1};
    struct pollfd p = {-1, POLLIN, 0};
    if (pipe(pipes) == 0) {
        p.fd = pipes[0];
    }
    for (int i = 0; i < count; i++) {
        poll(&p, 1, wait_ms);
    }
    close(pipes[0]);
    close(pipes[1]);
}

/* A daemon that closes inherited descriptors gets the lowest numbers for new ones. */
static int close_all(void)
{
    turn(5, 1);
    for (int fd = 3; fd < 1024; fd++) {
        close(fd);
    }
    turn(5, 1);
    printf("opened as %d\n", open("/dev/null", O_RDONLY));
    printf("opened as %d\n", open("/dev/null", O_RDONLY));
    close(0);
    printf("opened as %d\n", open("/dev/null", O_RDONLY));
    return 0;
}

static int clear_environment(char **argv)
{
    clearenv();
    turn(5, 1);
    printf("environment %s\n", environ == NULL || *environ == NULL ? "empty" : *environ);
    fflush(stdout);
    execve(argv[0], argv, (char *[]){NULL});
    return 1;
}

static int lead_session(void)
{
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        pid_t session = setsid();
        turn(5, 1);
        printf("leads session %d group %d\n", session == getpid(), getpgid(0) == getpid());
        exit(3);
    }
    pid_t ended = waitpid(child, &status, 0);
    printf("child ended: %d with %d\n", ended == child, WEXITSTATUS(status));
    errno = 0;
    ended = wait(&status);
    printf("no other child: %d %s\n", (int)ended, strerror(errno));
    return 0;
}

static int undumpable(void)
{
    turn(5, 1);
    printf("prctl %d\n", prctl(PR_SET_DUMPABLE, 0));
    turn(5, 1);
    usleep(400000); /* long enough for the watch to look */
    turn(5, 1);
    printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
    return 0;
}

/* A function without variables that vfork's two returns could corrupt. */
__attribute__((noinline)) static pid_t start_by_vfork(char *const argv[])
{
    pid_t child = vfork();
    if (child == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    return child;
}

static int many_children(void)
{
    int good = 0;
    char *const argv[] = {(char[]){"true"}, NULL};
    for (int i = 0; i < 50; i++) {
        int status = -1;
        pid_t child = start_by_vfork(argv);
        waitpid(child, &status, 0);
        good += status == 0;
        if (posix_spawnp(&child, "true", NULL, NULL, argv, environ) == 0) {
            waitpid(child, &status, 0);
            good += status == 0;
        }
        turn(1, 0);
    }
    printf("%d of 100 children ended with 0\n", good);
    return 0;
}

static void *turn_thread(void *argument)
{
    turn(4, 1);
    return argument;
}

static int many_threads(void)
{
    int good = 0;
    for (int round = 0; round < 20; round++) {
        pthread_t threads[20];
        for (int i = 0; i < 20; i++) {
            good += pthread_create(&threads[i], NULL, turn_thread, NULL) == 0;
        }
        for (int i = 0; i < 20; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    printf("%d threads\n", good);
    return 0;
}

/* The program gets signals that a profiler might use only when somebody sends them. */
static volatile sig_atomic_t seen[NSIG];

static void see(int number)
{
    seen[number]++;
}

static int signals(void)
{
    for (int i = 1; i < NSIG; i++) {
        signal(i, see);
    }
    turn(10, 1);
    for (int64_t end = now_us() + 600000; now_us() < end;) {
    }
    usleep(300000);
    turn(10, 1);
    raise(SIGURG);
    raise(SIGPROF);
    for (int i = 1; i < NSIG; i++) {
        if (seen[i] != 0) {
            printf("signal %d: %d\n", i, (int)seen[i]);
        }
    }
    return 0;
}

/* No timed wait ends early or fails. */
static int waits(void)
{
    int early = 0;
    int failed = 0;
    turn(5, 5);
    for (int i = 0; i < 50; i++) {
        struct timespec pause = {0, 10000000};
        int64_t begin = now_us();
        failed += nanosleep(&pause, NULL) != 0;
        early += now_us() - begin < 10000;
        begin = now_us();
        failed += poll(NULL, 0, 10) != 0;
        early += now_us() - begin < 10000;
    }
    printf("%d early, %d failed\n", early, failed);
    return 0;
}

/* Detach like a daemon and go on; write the file argv[2] at the end. */
static int daemonise(const char *path)
{
    if (fork() != 0) {
        _exit(0);
    }
    setsid();
    if (fork() != 0) {
        _exit(0);
    }
    if (chdir("/") != 0) {
        return 1;
    }
    for (int fd = 0; fd < 256; fd++) {
        close(fd);
    }
    open("/dev/null", O_RDWR);
    dup(0);
    dup(0);
    turn(20, 20);
    FILE *file = fopen(path, "we");
    if (file != NULL) {
        fprintf(file, "daemon: session %d, parent %d\n", getsid(0) != getpid(), getppid() > 0);
        fclose(file);
    }
    return 0;
}

/* The parent ends at once, the child later: nobody waits for the child. */
static int orphan(const char *path)
{
    turn(5, 1);
    if (fork() == 0) {
        turn(5, 1);
        usleep(300000);
        FILE *file = fopen(path, "we");
        if (file != NULL) {
            fputs("orphan\n", file);
            fclose(file);
        }
        _exit(4);
    }
    return 5;
}

/* The program executes itself, three times. */
static int execute_itself(char **argv)
{
    char *count = argv[2];
    turn(5, 5);
    printf("%s more\n", count);
    fflush(stdout);
    if (*count > '0') {
        (*count)--;
        execv("/proc/self/exe", argv);
        return 1;
    }
    return 6;
}

/* The new root contains nothing of sonde. */
static int change_root(const char *path)
{
    turn(10, 2);
    printf("chroot %d\n", chroot(path) == 0 && chdir("/") == 0);
    turn(10, 2);
    usleep(400000);
    turn(10, 2);
    printf("old root %s\n", access("/usr/bin", F_OK) == 0 ? "there" : "gone");
    fflush(stdout);
    execl("/program", "program", "exits", (char *)NULL);
    return 7;
}

static int wait_for_threads(void)
{
    pthread_t threads[200];
    int good = 0;
    for (int i = 0; i < 200; i++) {
        good += pthread_create(&threads[i], NULL, turn_thread, NULL) == 0;
    }
    usleep(400000);
    turn(10, 2);
    for (int i = 0; i < good; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%d threads at once\n", good);
    return 0;
}

static int exits(void)
{
    turn(5, 1);
    printf("buffered, no newline");
    return 9;
}

static int limits(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NPROC, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    struct rlimit files = {3, 3};
    setrlimit(RLIMIT_NOFILE, &files);
    turn(10, 10);
    usleep(400000);
    turn(10, 10);
    fprintf(stderr, "limits kept\n");
    return 0;
}

static void on_alarm(int number)
{
    (void)number;
}

static void say_wait(const char *what, int result)
{
    printf("%s %d %s\n", what, result, result < 0 ? strerror(errno) : "");
}

/* Waits of the known loop fail in each way, with one thread and after a second one existed. */
static void fail_waits(void)
{
    struct epoll_event event;
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval soon = {.it_value.tv_usec = 20000};
    struct pollfd p = {0, POLLIN, 0};
    int epfd = epoll_create1(0), other = dup(1);
    sigaction(SIGALRM, &action, NULL);
    epoll_ctl(epfd, EPOLL_CTL_ADD, other, &(struct epoll_event){.events = EPOLLOUT});
    for (int i = 0; i < 10; i++) {
        epoll_wait(epfd, &event, 1, 1);
    }
    epoll_ctl(epfd, EPOLL_CTL_DEL, other, NULL);
    errno = 0;
    say_wait("none", epoll_wait(epfd, &event, 1, 0));
    printf("errno %d\n", errno);
    say_wait("max", epoll_wait(epfd, &event, 0, 0));
    setitimer(ITIMER_REAL, &soon, NULL);
    say_wait("interrupted", epoll_wait(epfd, &event, 1, 5000));
    epoll_ctl(epfd, EPOLL_CTL_ADD, other, &(struct epoll_event){.events = EPOLLHUP});
    close(other);
    close(epfd);
    say_wait("closed", epoll_wait(epfd, &event, 1, 0));
    for (int i = 0; i < 10; i++) {
        poll(&p, 1, 0);
    }
    setitimer(ITIMER_REAL, &soon, NULL);
    p.fd = -1;
    say_wait("poll interrupted", poll(&p, 1, 5000));
}

static void *no_work(void *argument)
{
    return argument;
}

static int failing_waits(void)
{
    pthread_t thread;
    fail_waits();
    pthread_create(&thread, NULL, no_work, NULL);
    pthread_join(thread, NULL);
    fail_waits();
    return 0;
}

static void on_cancel(void *what)
{
    printf("cancelled in %s\n", (const char *)what);
    fflush(stdout);
    _exit(5);
}

/* The only thread cancels itself: the next wait of the known loop ends it. The program has a copy
 * of libc's variable (a copy relocation), which libc does not write then. */
static int cancel_self(bool by_epoll)
{
    printf("alone %d\n", __libc_single_threaded);
    struct epoll_event event;
    struct pollfd p = {-1, POLLIN, 0};
    int epfd = epoll_create1(0);
    for (int i = 0; i < 20; i++) {
        (void)(by_epoll ? epoll_wait(epfd, &event, 1, 1) : poll(&p, 1, 1));
    }
    pthread_cleanup_push(on_cancel, by_epoll ? "epoll_wait" : "poll");
    pthread_cancel(pthread_self());
    (void)(by_epoll ? epoll_wait(epfd, &event, 1, 100) : poll(&p, 1, 100));
    pthread_cleanup_pop(0);
    puts("not cancelled");
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (argc < 1) {
        return 2;
    }
    if (strcmp(what, "close-all") == 0) {
        return close_all();
    }
    if (strcmp(what, "clear-environment") == 0) {
        argv[1] = (char[]){"environment"};
        return clear_environment(argv);
    }
    if (strcmp(what, "environment") == 0) {
        printf("after exec %s\n", *environ == NULL ? "empty" : *environ);
        return 0;
    }
    if (strcmp(what, "lead-session") == 0) {
        return lead_session();
    }
    if (strcmp(what, "undumpable") == 0) {
        return undumpable();
    }
    if (strcmp(what, "many-children") == 0) {
        return many_children();
    }
    if (strcmp(what, "many-threads") == 0) {
        return many_threads();
    }
    if (strcmp(what, "signals") == 0) {
        return signals();
    }
    if (strcmp(what, "waits") == 0) {
        return waits();
    }
    if (strcmp(what, "failing-waits") == 0) {
        return failing_waits();
    }
    if (strcmp(what, "cancel-epoll") == 0 || strcmp(what, "cancel-poll") == 0) {
        return cancel_self(strcmp(what, "cancel-epoll") == 0);
    }
    if (strcmp(what, "limits") == 0) {
        return limits();
    }
    if (strcmp(what, "exits") == 0) {
        return exits();
    }
    if (strcmp(what, "threads") == 0) {
        return wait_for_threads();
    }
    if (argc > 2 && strcmp(what, "execute-itself") == 0) {
        return execute_itself(argv);
    }
    if (argc > 2 && strcmp(what, "change-root") == 0) {
        return change_root(argv[2]);
    }
    if (argc > 2 && strcmp(what, "daemonise") == 0) {
        return daemonise(argv[2]);
    }
    if (argc > 2 && strcmp(what, "orphan") == 0) {
        return orphan(argv[2]);
    }
    return 2;
}
