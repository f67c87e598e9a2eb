// SPDX-License-Identifier: Apache-2.0
/* What the program calls instead of libc's functions that execute programs, where children are
 * recorded, too: the wrappers of preload/, under libc's names, which this library does not export.
 * A function of another library under such a name is left alone; it calls libc's in the end. */
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "family.h"
#include "os.h"
#include "preload.h"

static struct {
    uint64_t real, wrapper;
} redirects[SONDE__RECORD_EVENTS];

static uint64_t redirect(enum sonde__record_event event, uint64_t target)
{
    return target != 0 && target == redirects[event].real ? redirects[event].wrapper : target;
}

/* The child's first recorded call may come too late: after it has confined itself. */
static pid_t fork_and_join(enum sonde__record_event event)
{
    pid_t (*real)(void) = (pid_t(*)(void))(uintptr_t)redirects[event].real;
    pid_t pid = real();
    if (pid == 0) {
        (void)recorder_join();
    }
    return pid;
}

static pid_t on_fork(void)
{
    return fork_and_join(SONDE__RECORD_FORK);
}

static pid_t on_plain_fork(void)
{
    return fork_and_join(SONDE__RECORD_FORK + 1);
}

extern struct preload_cell __start_preload_cells[], __stop_preload_cells[];

void recorder_start_redirects(void)
{
    static const char *const names[] = SONDE__RECORD_EVENT_NAMES;
    const struct {
        enum sonde__record_event event;
        void (*wrapper)(void);
    } wrappers[] = {
#define TO(event, function) {event, (void (*)(void))(function)}
        TO(SONDE__RECORD_FORK, on_fork),         TO(SONDE__RECORD_FORK + 1, on_plain_fork),
        TO(SONDE__RECORD_FORK + 3, posix_spawn), TO(SONDE__RECORD_FORK + 4, posix_spawnp),
        TO(SONDE__RECORD_FORK + 5, system),      TO(SONDE__RECORD_FORK + 6, popen),
        TO(SONDE__RECORD_EXEC, execve),          TO(SONDE__RECORD_EXEC + 1, execv),
        TO(SONDE__RECORD_EXEC + 2, execvp),      TO(SONDE__RECORD_EXEC + 3, execvpe),
        TO(SONDE__RECORD_EXEC + 4, execl),       TO(SONDE__RECORD_EXEC + 5, execle),
        TO(SONDE__RECORD_EXEC + 6, execlp),      TO(SONDE__RECORD_EXEC + 7, fexecve),
        TO(SONDE__RECORD_EXEC + 8, execveat),
    };
    for (struct preload_cell *c = __start_preload_cells; c < __stop_preload_cells; c++) {
        (void)preload_real(c);
    }
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        enum sonde__record_event event = wrappers[i].event;
        redirects[event].real = (uint64_t)(uintptr_t)dlsym(RTLD_NEXT, names[event]);
        redirects[event].wrapper = (uint64_t)(uintptr_t)wrappers[i].wrapper;
    }
    recorder_redirect = redirect;
}

void preload_wake(struct sonde__probe_page *page)
{
    (void)sonde__os_wake((const uint32_t *)&page->sleeping, false, true);
}
