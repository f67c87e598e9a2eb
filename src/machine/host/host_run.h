// SPDX-License-Identifier: Apache-2.0
/* Starts a watched program and waits for it, from a process that is not related to it.
 *
 * The process that calls sonde__host_start_supervisor() becomes the program itself (exec), so the
 * program has the pid, parent, group and terminal that the shell gave it. The supervisor is a
 * grandchild in its own session whose parent has ended: the program has no unknown child and gets
 * no SIGCHLD. Context: any thread of a process with one thread. */
#ifndef SONDE_HOST_RUN_H
#define SONDE_HOST_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "host_file.h"

/* Create zeroed memory to share with a program: the descriptor survives exec. The program's memory
 * map shows it under this name. */
#define SONDE__HOST_SHARED_NAME "sonde-turns"
SONDE_NODISCARD enum sonde_status sonde__host_shared_create(size_t size, int32_t *ret_fd,
                                                            void **ret_memory,
                                                            struct sonde_error *ret_error);

/* Create a private page with these bytes, under a name in the memory map of this process. Returns
 * OK | OS. Ownership: sonde__os_unmap(). */
SONDE_NODISCARD enum sonde_status sonde__host_landmark_create(const char *name, const void *bytes,
                                                              size_t size, void **ret_memory);

/* Run body(ctx, pid of the caller) in a supervisor process; it must call
 * sonde__host_supervisor_ready() once and never return. Returns after that call, and lets the
 * supervisor read and trace this process if Yama requires permission. keep_fds: descriptors that
 * the supervisor keeps besides stderr (report, shared memory); -1: none. */
SONDE_NODISCARD enum sonde_status sonde__host_start_supervisor(void (*body)(void *ctx, int32_t pid),
                                                               void *ctx, const int32_t keep_fds[2],
                                                               int32_t *ret_supervisor,
                                                               struct sonde_error *ret_error);
void sonde__host_supervisor_ready(void);
/* In a supervisor: start another one by executing argv[0], which inherits the descriptor `fd`.
 * Returns OK | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_spawn_supervisor(const char *const argv[],
                                                               int32_t fd);
/* Begin such a supervisor: maps the shared memory of `fd`, at least `size` bytes, and closes fd.
 * USAGE unless process `pid` maps it, too. */
SONDE_NODISCARD enum sonde_status sonde__host_attend(int32_t pid, int32_t fd, size_t size,
                                                     void **ret_memory);
/* Map the memory that process `pid` shares with its supervisor, from the start, as that has it
 * open. inode: of the program's mapping. Returns OK | ABSENT (that process is not its
 * supervisor) | USAGE (smaller) | OS. Ownership: sonde__os_unmap(). */
SONDE_NODISCARD enum sonde_status sonde__host_shared_open(int32_t supervisor, uint64_t inode,
                                                          size_t size, void **ret_memory);
/* Such memory that is not mapped yet; the descriptor ends at exec. -1: the system refuses. */
int32_t sonde__host_shared_reserve(size_t size);
/* Map the first `size` bytes of it. Null: it is smaller, or there is no memory. Ownership:
 * sonde__os_unmap(). */
void *sonde__host_shared_map(int32_t fd, size_t size);
/* Zero it, and give its pages back. */
void sonde__host_shared_clear(int32_t fd, size_t size);
/* Open it as descriptor `fd` of process `supervisor`. stays: also after exec. -1: it is not there,
 * or may not be opened. */
int32_t sonde__host_shared_reach(int32_t supervisor, int32_t fd, bool stays);
/* The pid of this process as /proc shows it: in a container it may be another one than its own. 0:
 * there is no /proc. */
int32_t sonde__host_shown_pid(void);
/* Start a program that nobody waits for, in its own session, with /dev/null as its standard
 * streams, so that readers of our output see its end. Returns OK | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_spawn_apart(const char *const argv[]);
/* Fork the supervisor. The new process returns 0 and supervises; the old one stands by. If a signal
 * kills the new one, the old one returns that signal and supervises instead; else it ends, too. So
 * the shared memory survives a SIGKILL of the supervisor, even if the program ends at once.
 * current: set to the new supervisor's pid before the former one is gone. *ret_has_ended: set with
 * a returned signal: has process `pid` ended? Also returns 0 if no second process can be
 * created. */
int sonde__host_stand_by(int32_t pid, _Atomic int32_t *current, bool *ret_has_ended);

/* Find the file that execvp(name) would execute. Returns 0, or a shell's exit status (127 not
 * found, 126 not executable) and the reason. */
int sonde__host_find_program(const char *name, char *ret_path, size_t capacity,
                             struct sonde_error *ret_error);
/* execve(); a script without #! is run by /bin/sh, as execvp() does. Returns as
 * sonde__host_find_program(). */
int sonde__host_become(const char *path, char *const *argv, char *const *envp,
                       struct sonde_error *ret_error);
/* Does a program gain privileges on exec (setuid, setgid, file capabilities)? */
bool sonde__host_is_privileged(const char *path);
void sonde__host_close(int32_t fd);

/* List the libraries that a dynamically linked program starts with, in the loader's order. The
 * program's loader lists them (LD_TRACE_LOADED_OBJECTS, as for ldd(1)) without running their code.
 * False: the loader could not be asked. */
bool sonde__host_startup_libraries(const char *program, char *const *envp,
                                   void (*each)(void *ctx, const char *path), void *ctx);

/* --- in the supervisor --- */

enum sonde__host_event {
    SONDE__HOST_ENDED = 1, /* the program is gone */
    SONDE__HOST_ASKED = 2, /* SIGQUIT to the supervisor */
    /* the program set the sleep word back to 0 and woke us, or a heeded descriptor is readable */
    SONDE__HOST_WOKEN = 4,
    SONDE__HOST_TERMINATE = 8, /* SIGTERM to the supervisor: stop watching */
    SONDE__HOST_MARKED = 16    /* SIGUSR1 to the supervisor, if it heeds that */
};

/* Waits for a process by a pidfd, which stays valid if the pid is reused: it reports the end and
 * sends signals. If the system refuses pidfds, the pid stands for the process, and its identity
 * (host_identity.h) is checked each time. */
struct sonde__host_waiter;
/* Treat SIGINT and SIGHUP as TERMINATE, too, for a watch with a terminal. Call it before a waiter
 * is created. */
void sonde__host_heed_terminal(void);
/* Heed SIGUSR1, likewise. */
void sonde__host_heed_marks(void);
/* sleep_word: in shared memory; see sonde__host_wait(). */
SONDE_NODISCARD enum sonde_status sonde__host_waiter_create(int32_t pid, uint32_t *sleep_word,
                                                            struct sonde__host_waiter **ret_waiter,
                                                            struct sonde_error *ret_error);
/* Wait for events, at most timeout_ns (UINT64_MAX: forever). Returns SONDE__HOST_ bits; 0:
 * time-out. sleeping: set the sleep word to 1 first, and return when the program clears it. */
uint32_t sonde__host_wait(struct sonde__host_waiter *waiter, uint64_t timeout_ns, bool sleeping);
/* Return from waits also when fd is readable, until it is closed or hangs up. False: the system
 * refuses. */
bool sonde__host_waiter_heed(struct sonde__host_waiter *waiter, int32_t fd);

/* The signal that ended the process; 0: none, or unknown. */
int32_t sonde__host_waiter_signal(const struct sonde__host_waiter *waiter);

/* The thread that watches the sleep word. */
uint64_t sonde__host_waiter_tid(const struct sonde__host_waiter *waiter);
/* End a hung program by SIGABRT, with a core if `core` (its limit is raised as far as allowed), or
 * by SIGKILL. */
void sonde__host_waiter_abort(struct sonde__host_waiter *waiter, bool core);
void sonde__host_waiter_kill(struct sonde__host_waiter *waiter);
/* One line about refused system calls and what replaces them; "": none. Ownership: the waiter's. */
const char *sonde__host_waiter_doubt(const struct sonde__host_waiter *waiter);

/* Write all bytes. False: errno is set; EFBIG, without a signal, beyond the file size limit. */
bool sonde__host_write_all(int32_t fd, const void *bytes, size_t size);
/* Write to another supervisor's stderr. This process keeps no descriptor of it, so readers see its
 * end in time. False: that supervisor is gone, or is another user's. */
bool sonde__host_write_stderr_of(int32_t supervisor, const void *bytes, size_t size);
void sonde__host_remove_file(const char *path);
/* Empty the file; the next write is at its beginning. */
void sonde__host_truncate(int32_t fd);
/* "Linux 6.1.0". */
void sonde__host_system_name(char *ret_text, size_t capacity);

/* A thread's state in /proc. */
struct sonde__host_thread_look {
    char state;        /* R S D T t Z ... */
    int32_t tracer;    /* 0: none, or a thread of this process; its own pid: not known which */
    bool confined;     /* under a seccomp filter that does not apply to us */
    uint64_t switches; /* voluntary and involuntary */
    uint64_t voluntary;
    uint64_t cpu_ns;
    uint64_t runqueue_ns;
};
bool sonde__host_look_thread(int32_t pid, uint64_t tid, struct sonde__host_thread_look *ret_look);
/* The same, without cpu_ns and runqueue_ns, from a file that stays open: a look costs half as much.
 * Ownership: close it (sonde__os_close()). */
bool sonde__host_status_open(int32_t pid, uint64_t tid, int32_t *ret_fd);
bool sonde__host_look_again(int32_t status_fd, struct sonde__host_thread_look *ret_look);
/* The kernel function that the thread waits in ("hrtimer_nanosleep"). False: it runs, or
 * unknown. */
bool sonde__host_thread_channel(int32_t pid, uint64_t tid, char *ret_text, size_t capacity);
/* Kind of a thread's descriptor, as of now. */
enum sonde__host_descriptor {
    SONDE__HOST_UNKNOWN, /* not readable, or the thread is gone */
    SONDE__HOST_CLOSED,
    SONDE__HOST_FILE, /* a regular file or folder: never waited for */
    SONDE__HOST_EPOLL,
    SONDE__HOST_TIMER,
    SONDE__HOST_OTHER,
};
enum sonde__host_descriptor sonde__host_look_descriptor(int32_t pid, uint64_t tid, int32_t fd);
/* Is the thread in a read(), poll() or select() that input of a terminal ends? False: no, or not
 * known. */
bool sonde__host_awaits_terminal(int32_t pid, uint64_t tid);
/* A number that changes when the process executes another program: the start of its stack, which is
 * random. stat: its file, all zero at first, which stays that of the process; the caller drops it.
 * 0: unknown. */
uint64_t sonde__host_program_mark(int32_t pid, struct sonde__host_file_kept *stat);
/* What descriptor `fd` of the process refers to ("/data/app.db", "socket:[123]"). */
bool sonde__host_fd_path(int32_t pid, int32_t fd, char *ret_path, size_t capacity);

#endif
