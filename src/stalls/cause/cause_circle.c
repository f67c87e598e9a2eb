// SPDX-License-Identifier: Apache-2.0
/* Circles of waits.
 *
 * Within the process, a thread waits for at most one other thread, so a walk from owner to owner
 * finds every circle. A wait for another process may be ended by any of its threads, so it is
 * followed only if the process has one thread. Captures are not made at the same time, so each
 * thread of a circle is checked again before the circle is reported. */
#include <string.h>

#include "cause_private.h"
#include "host_process.h"
#include "mem_heap.h"

static const struct sonde__cause *cause_of(const struct sonde__cause *list, uint32_t count,
                                           uint64_t tid)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].tid == tid) {
            return &list[i];
        }
    }
    return NULL;
}

static bool still_waits(int32_t pid, const struct sonde__cause *cause)
{
    return cause->slices != 0 && cause_slices(pid, cause->tid) == cause->slices;
}

/* Locks and ends of threads: only the owner can end such a wait. */
static bool is_owned(const struct sonde__cause *cause)
{
    return cause->kind == SONDE__CAUSE_MUTEX || cause->kind == SONDE__CAUSE_RWLOCK ||
           cause->kind == SONDE__CAUSE_JOIN || cause->kind == SONDE__CAUSE_FILE_LOCK;
}

static void put_link(struct sonde__text *text, const char *who, const struct sonde__cause *cause)
{
    char words[SONDE__CAUSE_TEXT];
    sonde__cause_text(cause, words, sizeof words);
    cause_put(text, "%s%s waits for %s", text->length != 0 ? "; " : "", who, words);
}

static void put_thread_link(struct sonde__text *text, int32_t pid, const struct sonde__cause *cause)
{
    char who[80];
    struct sonde__text name;
    sonde__base_text_init(&name, who, sizeof who);
    cause_put_thread(&name, pid, cause->tid);
    put_link(text, who, cause);
}

static void put_kind(struct sonde__cause_circle *circle, const char *links)
{
    struct sonde__text text;
    sonde__base_text_init(&text, circle->text, sizeof circle->text);
    cause_put(&text, "%s%s", circle->deadlock ? SONDE__CAUSE_DEADLOCK : SONDE__CAUSE_CIRCLE, links);
}

/* --- in the process --- */

static bool fill_circle(int32_t pid, const struct sonde__cause *list, uint32_t count,
                        const struct sonde__cause *first, struct sonde__cause_circle *circle)
{
    const struct sonde__cause *at = first;
    char links[SONDE__CAUSE_CIRCLE_TEXT];
    struct sonde__text text;
    memset(circle, 0, sizeof *circle);
    circle->deadlock = true;
    sonde__base_text_init(&text, links, sizeof links);
    do {
        if (circle->count == SONDE__CAUSE_CIRCLE_MAX || !still_waits(pid, at)) {
            return false;
        }
        circle->tids[circle->count++] = at->tid;
        circle->deadlock = circle->deadlock && !at->timed && is_owned(at);
        put_thread_link(&text, pid, at);
        at = cause_of(list, count, at->owner_tid);
    } while (at != NULL && at != first);
    put_kind(circle, links);
    return at == first;
}

/* The smallest tid of the circle that this thread is in; 0: it is in none, though it may lead into
 * one. */
static uint64_t circle_of(const struct sonde__cause *list, uint32_t count,
                          const struct sonde__cause *first)
{
    uint64_t least = first->tid;
    const struct sonde__cause *at = first;
    for (uint32_t i = 0; i < SONDE__CAUSE_CIRCLE_MAX; i++) {
        at = at->owner_tid != 0 ? cause_of(list, count, at->owner_tid) : NULL;
        if (at == NULL) {
            return 0;
        }
        if (at == first) {
            return least;
        }
        least = at->tid < least ? at->tid : least;
    }
    return 0;
}

/* --- through other processes --- */

enum { PROCESSES_MAX = 4 };

struct chain {
    int32_t first;
    unsigned length;
    bool deadlock;
    struct sonde__text text;
};

/* The only thread of a process of this user; 0: it has several, or has ended. */
static uint64_t only_thread(int32_t pid)
{
    uint64_t *tids = NULL;
    size_t count = 0;
    if (sonde__host_tids_read(pid, &tids, &count, NULL) != SONDE_OK) {
        return 0;
    }
    uint64_t tid = count == 1 ? tids[0] : 0;
    sonde__mem_free(tids);
    return tid;
}

/* Follow the waits from process `pid` until they lead back to the first one, with the list of
 * holders that was already read. */
static bool follow(const struct sonde__causes *causes, int32_t pid, struct chain *chain)
{
    struct sonde__causes other = {
        .pid = pid, .arch = causes->arch, .holders = causes->holders, .searched = true};
    struct sonde__cause cause;
    uint64_t tid = only_thread(pid);
    char who[80];
    struct sonde__text name;
    if (tid == 0 || ++chain->length > PROCESSES_MAX || !cause_look_now(&other, tid, &cause) ||
        cause.owner_pid <= 0 || !still_waits(pid, &cause)) {
        return false;
    }
    chain->deadlock = chain->deadlock && !cause.timed && is_owned(&cause);
    sonde__base_text_init(&name, who, sizeof who);
    cause_put_process(&name, pid);
    put_link(&chain->text, who, &cause);
    return cause.owner_pid == chain->first || follow(causes, cause.owner_pid, chain);
}

static bool follow_out(struct sonde__causes *causes, const struct sonde__cause *cause,
                       struct sonde__cause_circle *circle)
{
    struct chain chain = {.first = causes->pid};
    char links[SONDE__CAUSE_CIRCLE_TEXT];
    /* a child waits for the parent process, not for the parent's thread */
    if (cause->owner_pid <= 0 || cause->owner_pid == causes->pid || cause->owner_tid != 0) {
        return false;
    }
    (void)cause_find_holders(causes, SONDE__HOST_FD_PIPE, 0); /* also for later processes */
    memset(circle, 0, sizeof *circle);
    sonde__base_text_init(&chain.text, links, sizeof links);
    chain.deadlock = !cause->timed && is_owned(cause) && only_thread(causes->pid) != 0;
    put_thread_link(&chain.text, causes->pid, cause);
    if (!follow(causes, cause->owner_pid, &chain) || !still_waits(causes->pid, cause)) {
        return false;
    }
    circle->count = 1;
    circle->tids[0] = cause->tid;
    circle->deadlock = chain.deadlock;
    put_kind(circle, links);
    return true;
}

uint32_t sonde__causes_circles(struct sonde__causes *causes, const struct sonde__cause *list,
                               uint32_t count, struct sonde__cause_circle *ret_circles,
                               uint32_t capacity)
{
    struct sonde__cause_circle circle;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool is_found = list[i].owner_tid != 0
                            ? circle_of(list, count, &list[i]) == list[i].tid &&
                                  fill_circle(causes->pid, list, count, &list[i], &circle)
                            : follow_out(causes, &list[i], &circle);
        if (is_found && found < capacity) {
            ret_circles[found] = circle;
        }
        found += is_found;
    }
    return found;
}
