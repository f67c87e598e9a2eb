// SPDX-License-Identifier: Apache-2.0
/* A program with phases:
 *   phased mark SONDE   begins them by `SONDE mark`
 *   phased call         by sonde_watch_phase()
 *   phased wait         writes a byte behind the first calls, and waits for one
 *   phased race SONDE   begins one while a thread calls, and prints how many calls had returned
 *                       before it began, had begun before it had begun, and were made */
#include "phased.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/note.h>

static void ask(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        (void)!getenv("PHASED");
        (void)syscall(SYS_getppid);
    }
}

static void mark(const char *sonde, const char *phase)
{
    char pid[16];
    int status = -1;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    pid_t child = fork();
    if (child == 0) {
        execl(sonde, sonde, "mark", pid, phase, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "sonde mark: %d\n", status);
        exit(1);
    }
}

static void begin(char **argv, const char *phase, enum sonde_consent consent)
{
    char byte;
    if (strcmp(argv[1], "mark") == 0) {
        mark(argv[2], phase);
    } else if (strcmp(argv[1], "call") == 0) {
        sonde_watch_phase(phase, consent);
    } else if (write(1, "1", 1) != 1 || read(0, &byte, 1) != 1) {
        exit(1);
    }
}

static _Atomic unsigned begun, returned, end;

static void *call(void *unused)
{
    while (atomic_load(&end) == 0) {
        atomic_fetch_add(&begun, 1);
        (void)!getenv("PHASED");
        atomic_fetch_add(&returned, 1);
    }
    return unused;
}

static int race(const char *sonde)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, call, NULL) != 0) {
        return 1;
    }
    while (atomic_load(&returned) < 1000) {
    }
    unsigned before = atomic_load(&returned);
    mark(sonde, "consent");
    unsigned until = atomic_load(&begun);
    while (atomic_load(&returned) < until + 1000) {
    }
    atomic_store(&end, 1);
    pthread_join(thread, NULL);
    printf("%u %u %u\n", before, until, atomic_load(&returned));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "race") == 0) {
        return race(argv[2]);
    }
    ask(FIRST_CALLS);
    begin(argv, "consent", SONDE_CONSENT_GIVEN);
    ask(SECOND_CALLS);
    if (strcmp(argv[1], "wait") != 0) {
        begin(argv, "consent", SONDE_CONSENT_GIVEN); /* nothing changes */
        begin(argv, "playing", SONDE_CONSENT_GIVEN);
        ask(THIRD_CALLS);
    }
    return 0;
}
