// SPDX-License-Identifier: Apache-2.0
/* The program's side of the shared page: removes the traces of `sonde run` from the environment
 * before other code of the process runs, maps the page, and at exit gives the supervisor a bounded
 * time to finish its report.
 *
 * Called by the first constructor of the process (linked with -z initfirst): libc is relocated but
 * not initialized, so only thin system call wrappers are used. */
#include "page.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base_text.h"
#include "clock.h"
#include "linux/linux_syscall.h"
#include "os.h"

/* Longest wait in exit() for the supervisor: writing a report takes some 100 ms. */
#define EXIT_WAIT_S 2
/* With a record: names of a large program take seconds. */
#define EXIT_WAIT_RECORD_S 30
/* A confined program may not be allowed any call that sleeps. It spins for as long as a report
 * takes on an idle machine; the supervisor completes a late one after the program's end. */
#define EXIT_SPIN_NS 200000000

/* The kernel shows these strings (/proc/PID/environ, ps). */
static void wipe(char *text)
{
    while (*text != '\0') {
        *text++ = '\0';
    }
}

int preload_take_environment(char **envp)
{
    size_t count = 0;
    int fd = 0;
    if (environ == NULL) {
        environ = envp;
    }
    while (envp[count] != NULL) {
        count++;
    }
    if (count < 2 || !sonde__base_starts_with(envp[count - 2], SONDE_PRELOAD_VARIABLE "=") ||
        !sonde__base_starts_with(envp[count - 1], "LD_PRELOAD=")) {
        return -1;
    }
    for (const char *d = envp[count - 2] + sizeof SONDE_PRELOAD_VARIABLE; *d >= '0' && *d <= '9';
         d++) {
        fd = fd * 10 + (*d - '0');
    }
    for (size_t i = count - 2; i < count; i++) {
        wipe(envp[i]);
        envp[i] = NULL;
    }
    return fd;
}

struct sonde__probe_page *preload_map_page(int fd)
{
    struct sonde__probe_page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return page == MAP_FAILED ? NULL : page;
}

static bool is_zombie(int32_t pid)
{
    char text[64]; /* "PID (name) S ..."; a name has at most 15 bytes */
    size_t size = 0;
    int32_t fd;
    if (sonde__os_thread_open(pid, (uint64_t)pid, SONDE__OS_THREAD_STAT, &fd, NULL) != SONDE_OK) {
        return false;
    }
    if (sonde__os_pread(fd, text, sizeof text, 0, &size, NULL) != SONDE_OK) {
        size = 0;
    }
    sonde__os_close(fd);
    for (size_t at = size; at-- > 0;) {
        if (text[at] == ')') {
            return at + 2 < size && text[at + 2] == 'Z';
        }
    }
    return false;
}

/* If it was killed, do not wait for it. It stays a zombie for ever where the first process of a
 * container reaps nobody. */
static bool supervisor_is_gone(const struct sonde__probe_page *page)
{
    int32_t pid = page->supervisor;
    return (kill(pid, 0) != 0 && errno == ESRCH) || is_zombie(pid);
}

static void begin_wait(const struct sonde__probe_page *page, bool confined, struct timespec *limit)
{
    (void)preload_clock(CLOCK_MONOTONIC, limit);
    if (!confined) {
        limit->tv_sec += page->plugin != 0 ? EXIT_WAIT_RECORD_S : EXIT_WAIT_S;
        return;
    }
    limit->tv_nsec += EXIT_SPIN_NS;
    if (limit->tv_nsec >= 1000000000) {
        limit->tv_sec++;
        limit->tv_nsec -= 1000000000;
    }
}

static bool is_over(const struct timespec *limit)
{
    struct timespec now;
    (void)preload_clock(CLOCK_MONOTONIC, &now);
    return now.tv_sec > limit->tv_sec ||
           (now.tv_sec == limit->tv_sec && now.tv_nsec >= limit->tv_nsec);
}

/* Wait for the supervisor, so that the report of a short-lived program is complete. */
static void wait_for_report(int status, void *unused)
{
    struct sonde__probe_page *page = preload_page();
    struct timespec limit;
    int saved = errno;
    (void)status, (void)unused;
    if (page == NULL) {
        return;
    }
    (void)preload_clock(CLOCK_MONOTONIC, &limit);
    atomic_store_explicit(&page->exited_ns,
                          (uint64_t)limit.tv_sec * 1000000000u + (uint64_t)limit.tv_nsec,
                          memory_order_seq_cst);
    /* never set while the program is confined */
    if (atomic_exchange_explicit(&page->sleeping, 0, memory_order_seq_cst) != 0) {
        (void)sonde__os_wake((const uint32_t *)&page->sleeping, false, true);
    }
    bool confined = atomic_load_explicit(&page->confined, memory_order_acquire) != 0;
    begin_wait(page, confined, &limit);
    while (atomic_load_explicit(&page->finished, memory_order_acquire) == 0 && !is_over(&limit)) {
        struct timespec slice = {0, 100000000};
        long waited = confined ? 0 : linux_call(SYS_futex, &page->finished, FUTEX_WAIT, 0, &slice);
        if (waited < 0 && waited != -EAGAIN && waited != -EINTR &&
            (waited != -ETIMEDOUT || supervisor_is_gone(page))) {
            break; /* the supervisor is gone, or a seccomp filter refuses futex: do not spin */
        }
    }
    errno = saved;
}

/* Not in every libc. */
extern __attribute__((weak)) __typeof__(on_exit) on_exit;

/* Runs at exit() or return from main. Destructors of other libraries may follow; a function
 * registered now is called after all of them. */
static void finish(void) __attribute__((destructor));
static void finish(void)
{
    struct sonde__probe_page *page = preload_page();
    if (page != NULL && atomic_load_explicit(&page->unfinished, memory_order_acquire) != 0 &&
        (on_exit == NULL || on_exit(wait_for_report, NULL) != 0)) {
        wait_for_report(0, NULL);
    }
}
