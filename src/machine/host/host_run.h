// SPDX-License-Identifier: Apache-2.0
/* Starting a watched program and waiting for it, from a process that is not related to it.
 *
 * The process that calls sonde__host_start_supervisor() becomes the program itself (exec), so that
 * its pid, parent, group and terminal are what the shell gave it. The supervisor is a grandchild in
 * its own session, whose parent is gone: the program has no child it does not know, and gets no
 * SIGCHLD. Context: any thread of a process with one thread. */
#ifndef SONDE_HOST_RUN_H
#define SONDE_HOST_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

/* Zeroed memory to share with a program: the descriptor survives exec. In the program's memory map
 * it has this name. */
#define SONDE__HOST_SHARED_NAME "sonde-turns"
SONDE_NODISCARD enum sonde_status sonde__host_shared_create(size_t size, int32_t *ret_fd,
                                                            void **ret_memory,
                                                            struct sonde_error *ret_error);

/* A private page with these bytes, under a name in the memory map of this process.
 * Returns OK | OS. Ownership: sonde__os_unmap(). */
SONDE_NODISCARD enum sonde_status sonde__host_landmark_create(const char *name, const void *bytes,
                                                              size_t size, void **ret_memory);

/* Run body(ctx, pid of the caller) in a supervisor process; it must call
 * sonde__host_supervisor_ready() once and never return. Returns when it did, and lets it read and
 * trace this process where Yama asks for that.
 * keep_fds: descriptors that the supervisor keeps (its report, shared memory), each -1 for none;
 * besides those it keeps only stderr. */
SONDE_NODISCARD enum sonde_status sonde__host_start_supervisor(void (*body)(void *ctx, int32_t pid),
                                                               void *ctx, const int32_t keep_fds[2],
                                                               int32_t *ret_supervisor,
                                                               struct sonde_error *ret_error);
void sonde__host_supervisor_ready(void);
/* In a supervisor: start another one by executing argv[0], which gets the descriptor `fd` under the
 * same number. Returns OK | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_spawn_supervisor(const char *const argv[],
                                                               int32_t fd);
/* Begin of that one. Maps the shared memory of `fd`, at least `size` bytes, and closes fd. Refuses
 * (USAGE) what process `pid` has not mapped, too. */
SONDE_NODISCARD enum sonde_status sonde__host_attend(int32_t pid, int32_t fd, size_t size,
                                                     void **ret_memory);
/* Start a program that nobody waits for, in a session of its own, with /dev/null for its standard
 * files: who reads our output sees its end. Returns OK | OS. */
SONDE_NODISCARD enum sonde_status sonde__host_spawn_apart(const char *const argv[]);
/* Forks the supervisor. The new process returns 0 and supervises. The old one stands by: if the new
 * one is killed by a signal, it returns that signal and supervises instead; else it ends, too. So
 * the shared memory survives a SIGKILL of the supervisor, even if the program ends at once.
 * current: set to the pid of the new supervisor before the former one is gone. *ret_has_ended: set
 * when a signal is returned: the process `pid` has ended. Returns 0 also if there can be no second
 * process. */
int sonde__host_stand_by(int32_t pid, _Atomic int32_t *current, bool *ret_has_ended);

/* The file that execvp(name) would try: returns 0 and its path, or the exit status of a shell (127
 * not found, 126 not executable) and why. */
int sonde__host_find_program(const char *name, char *ret_path, size_t capacity,
                             struct sonde_error *ret_error);
/* execve(), and /bin/sh for a script without #!, as execvp() does. Returns as the above. */
int sonde__host_become(const char *path, char *const *argv, char *const *envp,
                       struct sonde_error *ret_error);
/* Does a program gain privileges when it is executed (setuid, setgid, file capabilities)? */
bool sonde__host_is_privileged(const char *path);
void sonde__host_close(int32_t fd);

/* The libraries that a dynamically linked program starts with, in the loader's order, as listed by
 * its own loader (LD_TRACE_LOADED_OBJECTS, as ldd(1) does): none of their code runs. False: the
 * loader could not be asked. */
bool sonde__host_startup_libraries(const char *program, char *const *envp,
                                   void (*each)(void *ctx, const char *path), void *ctx);

/* --- in the supervisor --- */

enum sonde__host_event {
    SONDE__HOST_ENDED = 1,    /* the program is gone */
    SONDE__HOST_ASKED = 2,    /* SIGQUIT to the supervisor */
    SONDE__HOST_WOKEN = 4,    /* the program set the sleep word back to 0 and woke us */
    SONDE__HOST_TERMINATE = 8 /* SIGTERM to the supervisor: stop watching */
};

/* It holds a pidfd, which stays valid when the pid is reused: it reports the end and sends signals.
 * If the system refuses pidfds, pid and start time identify the process; both are checked each
 * time. */
struct sonde__host_waiter;
/* Before a waiter is created: it takes SIGINT and SIGHUP for TERMINATE, too. Of a watch that has a
 * terminal. */
void sonde__host_heed_terminal(void);
/* sleep_word: in shared memory; see sonde__host_wait(). */
SONDE_NODISCARD enum sonde_status sonde__host_waiter_create(int32_t pid, uint32_t *sleep_word,
                                                            struct sonde__host_waiter **ret_waiter,
                                                            struct sonde_error *ret_error);
/* Wait for events, at most timeout_ns (UINT64_MAX: forever). Returns SONDE__HOST_ bits, 0 when the
 * time passed. `sleeping`: set the sleep word to 1 first and return when the program cleared it. */
uint32_t sonde__host_wait(struct sonde__host_waiter *waiter, uint64_t timeout_ns, bool sleeping);

/* The signal that ended the process, once it has ended; 0: none did, or it is not known. */
int32_t sonde__host_waiter_signal(const struct sonde__host_waiter *waiter);

/* The thread that watches the sleep word. */
uint64_t sonde__host_waiter_tid(const struct sonde__host_waiter *waiter);
/* End a hanging program: by SIGABRT, with a core if `core` (its limit is raised as far as allowed);
 * or by SIGKILL. */
void sonde__host_waiter_abort(struct sonde__host_waiter *waiter, bool core);
void sonde__host_waiter_kill(struct sonde__host_waiter *waiter);
/* The calls that the system has refused, and the substitute: one line; "": none. Ownership: the
 * waiter's. */
const char *sonde__host_waiter_doubt(const struct sonde__host_waiter *waiter);

/* Every byte, or false and errno: EFBIG, without a signal, beyond the limit on the size of files.
 */
bool sonde__host_write_all(int32_t fd, const void *bytes, size_t size);
/* To what is stderr of another supervisor: this one keeps no descriptor of it, so whoever reads it
 * sees its end in time. False: that one is gone, or belongs to somebody else. */
bool sonde__host_write_stderr_of(int32_t supervisor, const void *bytes, size_t size);
void sonde__host_remove_file(const char *path);
/* Nothing is in the file any more, and what is written next stands at its beginning. */
void sonde__host_truncate(int32_t fd);
/* "Linux 6.1.0". */
void sonde__host_system_name(char *ret_text, size_t capacity);

/* What /proc says of a thread. False: it is gone. */
struct sonde__host_thread_look {
    char state;        /* R S D T t Z ... */
    int32_t tracer;    /* 0: none but perhaps a thread of this process */
    bool confined;     /* under a seccomp filter that we are not under */
    uint64_t switches; /* voluntary and involuntary */
    uint64_t voluntary;
    uint64_t cpu_ns;
    uint64_t runqueue_ns;
};
bool sonde__host_look_thread(int32_t pid, uint64_t tid, struct sonde__host_thread_look *ret_look);
/* The kernel function that the thread waits in ("hrtimer_nanosleep"). False: it runs, or the system
 * does not say. */
bool sonde__host_thread_channel(int32_t pid, uint64_t tid, char *ret_text, size_t capacity);
/* What a descriptor of the thread is now. */
enum sonde__host_descriptor {
    SONDE__HOST_UNKNOWN, /* it may not be read, or the thread is gone */
    SONDE__HOST_CLOSED,
    SONDE__HOST_FILE, /* a regular file or a folder: nobody waits for those */
    SONDE__HOST_EPOLL,
    SONDE__HOST_TIMER,
    SONDE__HOST_OTHER,
};
enum sonde__host_descriptor sonde__host_look_descriptor(int32_t pid, uint64_t tid, int32_t fd);
/* A number that changes when the process executes another program (where its stack begins, which is
 * random); 0: unknown. */
uint64_t sonde__host_program_mark(int32_t pid);
/* Where descriptor `fd` of the process leads ("/data/app.db", "socket:[123]"). */
bool sonde__host_fd_path(int32_t pid, int32_t fd, char *ret_path, size_t capacity);

#endif
