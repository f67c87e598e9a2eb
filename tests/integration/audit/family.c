// SPDX-License-Identifier: Apache-2.0
/* Makes processes of all kinds. Each calls getenv("FAMILY") a known number of times:
 *   family MODE [ARGUMENT] */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "family.h"

extern char **environ;
static const char *self;

static void call(int count)
{
    for (int i = 0; i < count; i++) {
        (void)!getenv("FAMILY");
    }
}

static void wait_for(pid_t pid)
{
    (void)waitpid(pid, NULL, 0);
}

/* A child, and a child of that. */
static void forked(void)
{
    for (int i = 0; i < FORKED; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            call(100 * (i + 1));
            pid_t grandchild = fork();
            if (grandchild == 0) {
                call(1);
                exit(0);
            }
            wait_for(grandchild);
            _exit(0);
        }
        wait_for(pid);
    }
}

static void executed(void)
{
    char command[4200];
    pid_t pid = fork();
    if (pid == 0) {
        char *argv[] = {(char *)"family", (char *)"leaf", (char *)"7", NULL};
        execv(self, argv);
    }
    wait_for(pid);
    char *argv[] = {(char *)"family", (char *)"leaf", (char *)"8", NULL};
    if (posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0) {
        wait_for(pid);
    }
    pid = vfork();
    if (pid == 0) {
        execl(self, "family", "leaf", "9", (char *)NULL);
        _exit(1);
    }
    wait_for(pid);
    snprintf(command, sizeof command, "'%s' leaf 10", self);
    (void)!system(command);
    snprintf(command, sizeof command, "'%s' leaf 11", self);
    FILE *pipe = popen(command, "r");
    if (pipe != NULL) {
        (void)pclose(pipe);
    }
    pid = fork();
    if (pid == 0) { /* with no environment */
        char *none[] = {NULL};
        execle(self, "family", "leaf", "12", (char *)NULL, none);
    }
    wait_for(pid);
}

/* One child is killed when it has made its calls, another one goes on. */
static void killed(void)
{
    int ready[2];
    char byte;
    (void)!pipe(ready);
    pid_t pid = fork();
    if (pid == 0) {
        call(1000);
        (void)!write(ready[1], "x", 1);
        for (;;) {
            pause();
        }
    }
    (void)!read(ready[0], &byte, 1);
    (void)kill(pid, SIGKILL);
    wait_for(pid);
    pid = fork();
    if (pid == 0) {
        call(500);
        _exit(0);
    }
    wait_for(pid);
}

static void many(int count)
{
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            call(1);
            _exit(0);
        }
        wait_for(pid);
    }
}

/* All live at the same time. */
static void crowd(int count)
{
    int go[2];
    char byte;
    (void)!pipe(go);
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            close(go[1]);
            (void)!read(go[0], &byte, 1);
            call(1);
            _exit(0);
        }
    }
    close(go[1]);
    while (wait(NULL) > 0) {
    }
}

/* As crowd(), but each calls at once and lives on, as workers of a server. A child that had to wait
 * often, which no clock of a loaded machine tells, ends with 1. */
static void workers(int count)
{
    int go[2], status, slow = 0;
    char byte;
    (void)!pipe(go);
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            struct rusage usage;
            close(go[1]);
            call(1);
            (void)getrusage(RUSAGE_SELF, &usage);
            (void)!read(go[0], &byte, 1);
            _exit(usage.ru_nvcsw > 1500);
        }
    }
    sleep(3);
    close(go[1]);
    while (wait(&status) > 0) {
        slow += status != 0;
    }
    if (slow != 0) {
        printf("%d children had to wait\n", slow);
    }
}

/* Writes over its own recording, which is the largest mapping of that name. */
static void damage(void)
{
    char line[512];
    uintptr_t at = 0, most = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end;
        if (strstr(line, "sonde-turns") != NULL && sscanf(line, "%lx-%lx", &start, &end) == 2 &&
            end - start > most) {
            at = start;
            most = end - start;
        }
    }
    if (at != 0) {
        memset((void *)at, 0x5a, 4 << 20);
    }
    _exit(0);
}

static void damaged(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        call(77);
        damage();
    }
    wait_for(pid);
    many(3);
}

/* The child outlives us. */
static void orphaned(void)
{
    int ready[2], stays[2];
    char byte;
    (void)!pipe(ready);
    (void)!pipe(stays);
    if (fork() == 0) {
        call(50);
        close(STDOUT_FILENO); /* readers of our output see its end */
        close(STDERR_FILENO);
        (void)!write(ready[1], "x", 1);
        sleep(30);
        _exit(0);
    }
    (void)!read(ready[0], &byte, 1);
}

static void other(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl(path, path, "leaf", "9", (char *)NULL);
        _exit(1);
    }
    wait_for(pid);
}

static void by_descriptors(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        (void)close(fd);
    }
    many(2);
    pid_t pid = fork();
    if (pid == 0) {
        execl(self, "family", "leaf", "5", (char *)NULL);
    }
    wait_for(pid);
}

/* Two children that wait for their turn; a third one begins the phase by the pid of the first. */
struct waiting {
    pid_t pid;
    int go, done;
};

/* The calls in its first part are made when this returns. */
static struct waiting start_waiting(int before, int after)
{
    int go[2], done[2];
    char byte;
    (void)!pipe(go);
    (void)!pipe(done);
    struct waiting child = {fork(), go[1], done[0]};
    if (child.pid == 0) {
        call(before);
        (void)!write(done[1], "x", 1);
        (void)!read(go[0], &byte, 1);
        call(after);
        _exit(0);
    }
    close(done[1]); /* a child that crashes is not waited for */
    close(go[0]);
    (void)!read(child.done, &byte, 1);
    return child;
}

static void finish_waiting(const struct waiting *child)
{
    (void)!write(child->go, "x", 1);
    wait_for(child->pid);
}

static void phased(const char *sonde)
{
    char pid[16];
    int status = -1;
    struct waiting a = start_waiting(100, 1000), b = start_waiting(200, 2000);
    snprintf(pid, sizeof pid, "%d", (int)a.pid);
    pid_t marker = fork();
    if (marker == 0) {
        execl(sonde, sonde, "mark", pid, "consent", (char *)NULL);
        _exit(127);
    }
    (void)waitpid(marker, &status, 0);
    if (status != 0) {
        exit(1);
    }
    finish_waiting(&a);
    finish_waiting(&b);
    call(20);
    char *argv[] = {(char *)"family", (char *)"leaf", (char *)"400", NULL};
    if (posix_spawn(&marker, self, NULL, NULL, argv, environ) == 0) {
        wait_for(marker);
    }
}

/* A forked child, a program, and the first process again. */
static void limited(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        call(5);
        _exit(0);
    }
    wait_for(pid);
    char *argv[] = {(char *)"family", (char *)"leaf", (char *)"5", NULL};
    if (posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0) {
        wait_for(pid);
    }
    call(4);
}

/* The first process makes no call, five children make the same. */
static void alike(void)
{
    for (int i = 0; i < FORKED; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            call(3);
            _exit(0);
        }
        wait_for(pid);
    }
}

int main(int argc, char **argv)
{
    static char path[4096];
    const char *mode = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    self = path;
    if (strcmp(mode, "leaf") == 0) {
        call(number);
        return 0;
    }
    if (strcmp(mode, "alike") == 0) {
        alike();
        return 5;
    }
    call(OWN_CALLS);
    if (strcmp(mode, "forked") == 0) {
        forked();
    } else if (strcmp(mode, "executed") == 0) {
        executed();
    } else if (strcmp(mode, "killed") == 0) {
        killed();
    } else if (strcmp(mode, "many") == 0) {
        many(number);
    } else if (strcmp(mode, "crowd") == 0) {
        crowd(number);
    } else if (strcmp(mode, "workers") == 0) {
        workers(number);
    } else if (strcmp(mode, "damaged") == 0) {
        damaged();
    } else if (strcmp(mode, "orphaned") == 0) {
        orphaned();
    } else if (strcmp(mode, "other") == 0) {
        other(argv[2]);
    } else if (strcmp(mode, "descriptors") == 0) {
        by_descriptors();
    } else if (strcmp(mode, "phased") == 0) {
        phased(argv[2]);
    } else if (strcmp(mode, "limited") == 0) {
        limited();
    }
    (void)puts("output");
    return 5;
}
