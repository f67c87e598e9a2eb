// SPDX-License-Identifier: Apache-2.0
#include "watch_each.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host_process.h"
#include "host_wait.h"

/* Interval of the search for new children. */
#define LOOK_NS 500000000l

struct watch {
    pid_t child;    /* the watching process; 0: it has ended */
    int32_t pid;    /* the watched process */
    uint64_t since; /* when that process started: its pid may be another's later */
    bool asked_for; /* named by the user, not found by following */
};

struct watches {
    struct watch list[SONDE__CLI_WATCHES_MAX];
    uint32_t count;
    uint32_t running;
    uint32_t missed;
    int worst;
    sonde__cli_watch_one *one;
    void *ctx;
    sigset_t former;
};

/* 0: it has ended. */
static uint64_t start_of(int32_t pid)
{
    struct sonde__host_thread thread;
    return sonde__host_thread_read(pid, (uint64_t)pid, &thread) == SONDE_OK ? thread.start_ticks
                                                                            : 0;
}

static bool is_listed(const struct watches *w, int32_t pid)
{
    for (uint32_t i = 0; i < w->count; i++) {
        const struct watch *watch = &w->list[i];
        if (watch->child == pid || (watch->pid == pid && watch->since == start_of(pid))) {
            return true;
        }
    }
    return false;
}

/* A place of an ended watch, or a new one. Null: no room. */
static struct watch *find_place(struct watches *w)
{
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->list[i].child == 0 && !w->list[i].asked_for) {
            return &w->list[i];
        }
    }
    return w->count < SONDE__CLI_WATCHES_MAX ? &w->list[w->count++] : NULL;
}

static void start(struct watches *w, int32_t pid, bool asked_for)
{
    struct watch *watch = find_place(w);
    if (watch == NULL) {
        w->missed++;
        return;
    }
    uint64_t since = start_of(pid);
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &w->former, NULL);
        int code = w->one(w->ctx, pid);
        (void)fflush(NULL);
        _exit(code);
    }
    *watch = (struct watch){
        .child = child > 0 ? child : 0, .pid = pid, .since = since, .asked_for = asked_for};
    w->running += child > 0;
    w->worst = child > 0 || w->worst != 0 ? w->worst : 1;
}

static void take_ends(struct watches *w)
{
    int status;
    pid_t child;
    while ((child = waitpid(-1, &status, WNOHANG)) > 0) {
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        for (uint32_t i = 0; i < w->count; i++) {
            struct watch *watch = &w->list[i];
            if (watch->child == child) {
                watch->child = 0;
                w->running--;
                w->worst = watch->asked_for && code > w->worst ? code : w->worst;
            }
        }
    }
}

static void follow_children(struct watches *w)
{
    int32_t children[SONDE__CLI_WATCHES_MAX];
    for (uint32_t i = 0; i < w->count; i++) {
        size_t count = w->list[i].child != 0 ? sonde__host_children_read(w->list[i].pid, children,
                                                                         SONDE__CLI_WATCHES_MAX)
                                             : 0;
        for (size_t n = 0; n < count && n < SONDE__CLI_WATCHES_MAX; n++) {
            if (!is_listed(w, children[n]) && children[n] != getpid()) {
                start(w, children[n], false);
            }
        }
    }
}

static void pass_on(const struct watches *w, int signal)
{
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->list[i].child > 0) {
            (void)kill(w->list[i].child, signal);
        }
    }
}

/* Signals are blocked except while waiting. */
static volatile sig_atomic_t arrived[NSIG];

static void note_signal(int signal)
{
    arrived[signal] = 1;
}

static bool take_signal(int signal)
{
    bool was = arrived[signal] != 0;
    arrived[signal] = 0;
    return was;
}

int sonde__cli_watch_each(const int32_t *pids, uint32_t count, bool follow,
                          sonde__cli_watch_one *one, void *ctx, uint32_t *ret_missed)
{
    static struct watches w;
    static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const struct timespec pause = {0, LOOK_NS};
    struct sigaction action = {.sa_handler = note_signal};
    bool ending = false;
    sigset_t set;
    memset(&w, 0, sizeof w);
    w.one = one;
    w.ctx = ctx;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
        sigaddset(&set, passed_on[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &w.former);
    for (uint32_t i = 0; i < count; i++) {
        start(&w, pids[i], true);
    }
    (void)sigaction(SIGCHLD, &action, NULL); /* not in the children above */
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
        (void)sigaction(passed_on[i], &action, NULL);
    }
    for (take_ends(&w); w.running > 0; take_ends(&w)) {
        (void)pselect(0, NULL, NULL, NULL, follow ? &pause : NULL, &w.former);
        for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
            if (take_signal(passed_on[i])) {
                ending = ending || passed_on[i] != SIGQUIT;
                pass_on(&w, passed_on[i]);
            }
        }
        if (follow && !ending) {
            follow_children(&w);
        }
    }
    *ret_missed = w.missed;
    return w.worst;
}
