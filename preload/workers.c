// SPDX-License-Identifier: Apache-2.0
/* Children that are forked and execute no program: workers of servers that listen first and then
 * fork.
 *
 * A child has no access to its parent's page. In its first wait for events it takes one of the
 * reserved pages, and the first supervisor starts another one that watches it. Invariant: system
 * calls are made only at the fork, not later, when a seccomp filter may be installed. A child of
 * vfork, clone() or _Fork() runs no handler of ours and takes no page. Context: handler, except
 * preload_learn_workers(). */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "os.h"
#include "preload_wrap.h"

/* The part of the first program's page before the slots, mapped again because children have lost
 * the page. */
enum { HEAD_BYTES = 4096 };
_Static_assert(offsetof(struct sonde__probe_page, slots) <= HEAD_BYTES, "the head of the page");
/* A child whose waits are all weak (for time or other threads) takes a page at this many. */
enum { WEAK_WAITS = 8 };

static struct sonde__probe_page *head;
static char *pages;
static struct sonde__probe_follow *table;
/* Of the thread that forked: the child's main thread. */
static _Thread_local bool may_claim;
static _Thread_local uint32_t weak_waits;

static void begin_child(void)
{
    int saved = errno;
    preload_forget_slot();
    may_claim = true;
    weak_waits = 0;
    atomic_fetch_add_explicit(&table->forks, 1, memory_order_relaxed);
    if (atomic_load_explicit(&head->confined, memory_order_acquire) == 0) {
        /* its supervisor will be a child of this supervisor; EINVAL without Yama */
        (void)prctl(PR_SET_PTRACER, (unsigned long)head->supervisor, 0, 0, 0);
        if (sonde__probe_must_wake(head)) {
            (void)sonde__os_wake((const uint32_t *)&head->sleeping, false, true);
        }
    }
    errno = saved;
}

void preload_learn_workers(int fd, struct sonde__probe_follow *follow)
{
    void *first = mmap(NULL, HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (follow == NULL || first == MAP_FAILED) {
        return;
    }
    void *rest = MAP_FAILED;
    if (follow->worker_count == SONDE__PROBE_WORKERS) {
        rest = mmap(NULL, SONDE__PROBE_WORKERS * SONDE__PROBE_WORKER_BYTES, PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd, (off_t)SONDE__PROBE_WORKERS_OFFSET);
    }
    table = follow;
    head = first;
    pages = rest != MAP_FAILED ? rest : NULL; /* null: children are only counted */
    (void)pthread_atfork(NULL, NULL, begin_child);
}

static struct sonde__probe_page *take_page(void)
{
    int32_t pid = (int32_t)preload_own_tid();
    for (uint32_t i = 0; pages != NULL && i < SONDE__PROBE_WORKERS; i++) {
        int32_t expected = 0;
        if (atomic_compare_exchange_strong(&table->workers[i].pid, &expected, pid)) {
            struct sonde__probe_page *page =
                (struct sonde__probe_page *)(void *)(pages + i * SONDE__PROBE_WORKER_BYTES);
            page->version = SONDE__PROBE_VERSION;
            page->slot_count = SONDE__PROBE_SLOTS;
            page->long_ns = head->long_ns;
            page->late_ns = head->late_ns;
            atomic_store_explicit(&page->pid, pid, memory_order_release);
            return page;
        }
    }
    atomic_fetch_add_explicit(&table->workers_lost, 1, memory_order_relaxed);
    return NULL;
}

struct sonde__probe_page *preload_claim_page(uint32_t kind, bool instant)
{
    bool weak = sonde__probe_is_weak(kind);
    if (!may_claim || instant || kind == SONDE__PROBE_CHILD || preload_guard == NULL ||
        (weak && ++weak_waits < WEAK_WAITS)) {
        return NULL;
    }
    may_claim = false;
    struct sonde__probe_page *page = take_page();
    if (page != NULL) {
        preload_guard->page = page;
        atomic_fetch_add_explicit(&table->claims, 1, memory_order_release);
    }
    return page;
}
