// SPDX-License-Identifier: Apache-2.0
/* See family.h. A fork child has the mappings of its parent: those of the parent's recording are
 * replaced by those of its own, in one step for all code that records. Handler code, as call.c: the
 * first recorded call of a child may be any call, in any thread. */
#include "family.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "linux/linux_syscall.h"
#include "os.h"
#include "os_confined.h"
#include "preload.h"
#include "record_family.h"

static struct sonde__family *family;          /* null: children are not recorded */
static const struct sonde__probe_page *first; /* of the first process: it says who supervises */
static uint64_t record_at;                    /* in each memory */
static int32_t own_pid;                       /* as the supervisor sees it */
static long confined_at_start;
static void *record_memory; /* of recorder_record */

static void *map(long fd, uint64_t size, uint64_t at)
{
    long address =
        linux_call6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (long)at);
    return linux_failed(address) ? NULL : (void *)(uintptr_t)address;
}

static void close_fd(long fd)
{
    (void)linux_call(SYS_close, fd, 0, 0, 0);
}

static long confinement(void)
{
    return linux_call6(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0);
}

/* The pid by /proc/self: that of the supervisor's namespace if /proc is. */
static int32_t read_pid(void)
{
    char text[16] = "";
    int32_t pid = 0;
    long size = linux_call(SYS_readlinkat, AT_FDCWD, "/proc/self", text, sizeof text);
    for (long i = 0; i < size && text[i] >= '0' && text[i] <= '9'; i++) {
        pid = pid * 10 + (text[i] - '0');
    }
    return pid;
}

static long open_of_supervisor(int32_t fd)
{
    char path[64], *at = path + sizeof path;
    uint64_t numbers[2] = {
        (uint64_t)fd, (uint64_t)atomic_load_explicit(&first->supervisor, memory_order_relaxed)};
    static const char *const before[] = {"/df/", "/corp/"}; /* backwards */
    *--at = '\0';
    for (unsigned i = 0; i < 2; i++) {
        do {
            *--at = (char)('0' + numbers[i] % 10);
        } while ((numbers[i] /= 10) != 0);
        for (const char *c = before[i]; *c != '\0'; c++) {
            *--at = *c;
        }
    }
    return linux_call(SYS_openat, AT_FDCWD, at, O_RDWR | O_CLOEXEC, 0);
}

static bool join_once(void);

void recorder_enter_family(int fd, const struct sonde__probe_page *page, void *record)
{
    record_memory = record;
    uint64_t family_at = recorder_page->family_at;
    first = page;
    long run_fd = recorder_page->is_member != 0 ? open_of_supervisor(recorder_page->run_fd) : fd;
    first = run_fd >= 0 ? map(run_fd, sizeof *first, 0) : NULL;
    record_at = page->plugin;
    struct sonde__record_page *run = first != NULL ? map(run_fd, sizeof *run, record_at) : NULL;
    struct sonde__family *table =
        run != NULL ? map(run_fd, sizeof *table, record_at + family_at) : NULL;
    own_pid = read_pid();
    confined_at_start = confinement();
    if (table != NULL && run->version == SONDE__RECORD_PAGE_VERSION && own_pid != 0) {
        family = table;
        recorder_phases = &run->phases;
        recorder_join = join_once;
        recorder_start_redirects();
        preload_learn_follow((int)run_fd, page);
    }
    if (recorder_page->is_member != 0 && run_fd >= 0) {
        close_fd(run_fd);
    }
}

/* Of the parent, which the child has mapped. */
struct parent {
    struct sonde__record_page *page;
    uint32_t nodes;
};

static bool take_memory(const struct sonde__family_place *place, const struct parent *parent)
{
    long fd = open_of_supervisor(place->fd);
    if (fd < 0) {
        return false;
    }
    struct sonde__probe_page *probe = map(fd, sizeof *probe, 0);
    struct sonde__record_page *page =
        probe != NULL && probe->version == SONDE__PROBE_VERSION && probe->plugin == record_at
            ? map(fd, sizeof *page, record_at)
            : NULL;
    bool fits =
        page != NULL && page->version == SONDE__RECORD_PAGE_VERSION && page->nodes == parent->nodes;
    void *record =
        fits ? map(fd, sonde__record_size(parent->nodes), record_at + SONDE__RECORD_OFFSET) : NULL;
    close_fd(fd);
    if (record == NULL || !recorder_take(page, record)) {
        return false;
    }
    (void)linux_call(SYS_munmap, record_memory, sonde__record_size(parent->nodes), 0, 0);
    record_memory = record;
    recorder_continue_log(parent->page);
    recorder_release_events();
    (void)linux_call(SYS_munmap, parent->page, sizeof *parent->page, 0, 0);
    atomic_store(&page->state, SONDE__RECORD_RUNS);
    atomic_store(&probe->supervisor, atomic_load(&first->supervisor));
    atomic_store(&probe->pid, sonde__os_pid());
    preload_guard->page = probe;
    return true;
}

/* The supervisor frees places 20 times a second, but may first have to load symbols, and may end. A
 * child that gets none is not recorded. */
enum { WAIT_MS = 2000, CHECK_MS = 100 };

static bool is_in_reach(void)
{
    long fd = open_of_supervisor(family->places[0].fd);
    if (fd >= 0) {
        close_fd(fd);
    }
    return fd >= 0;
}

static struct sonde__family_place *claim(int32_t pid)
{
    static const struct timespec pause = {0, 1000000};
    struct sonde__family_wait wait = sonde__family_wait_begin(family);
    struct sonde__family_place *place = sonde__family_claim(family, pid);
    for (int i = 0; i < WAIT_MS && place == NULL && sonde__family_may_wait(family, &wait); i++) {
        if (i % CHECK_MS == 0 && !is_in_reach()) {
            break;
        }
        (void)linux_call(SYS_nanosleep, &pause, NULL, 0, 0);
        place = sonde__family_claim(family, pid);
    }
    return place;
}

static bool join(void)
{
    struct parent parent = {recorder_page, sonde__record_nodes(recorder_record)};
    int32_t former = own_pid, pid = sonde__os_is_confined() ? 0 : read_pid();
    struct sonde__family_place *place = NULL;
    if (pid == 0 || confinement() != confined_at_start) {
        atomic_fetch_add(&family->unreached, 1);
        return false;
    }
    own_pid = pid;
    place = claim(pid);
    if (place == NULL) {
        atomic_fetch_add(&family->lost, 1);
        return false;
    }
    place->parent_pid = former;
    place->is_executed = 0;
    long size = linux_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", place->executable,
                           sizeof place->executable - 1);
    place->executable[size > 0 ? size : 0] = '\0';
    if (!take_memory(place, &parent)) {
        atomic_fetch_add(&family->unreached, 1);
        atomic_store(&place->pid, 0);
        return false;
    }
    atomic_fetch_add(&family->forked, 1);
    return true;
}

/* The kernel has cleared the guard. Signals wait, so a handler's calls come after, and count. */
static bool join_once(void)
{
    uint32_t none = PRELOAD_JOINS_NOT;
    uint64_t all = UINT64_MAX, before = 0;
    struct preload_guard *guard = preload_guard;
    if (family == NULL || guard == NULL) {
        return false;
    }
    if (atomic_load_explicit(&guard->joins, memory_order_acquire) == PRELOAD_JOINED) {
        return guard->page != NULL;
    }
    (void)linux_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    if (atomic_compare_exchange_strong(&guard->joins, &none, PRELOAD_JOINS_NOW)) {
        recorder_busy++;
        (void)join();
        recorder_busy--;
        atomic_store(&guard->joins, PRELOAD_JOINED);
    }
    while (atomic_load(&guard->joins) != PRELOAD_JOINED) {
        (void)linux_call(SYS_sched_yield, 0, 0, 0, 0); /* another thread of the child was first */
    }
    (void)linux_call(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof all);
    return guard->page != NULL;
}
