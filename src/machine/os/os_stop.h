// SPDX-License-Identifier: Apache-2.0
/* Stopping other threads of this process from outside, on systems that can: Darwin
 * (thread_suspend). Linux cannot; a thread there is read passively or stops itself for a signal.
 *
 * A stopped thread may hold any lock. So between the first _begin() and the last _end(), the caller
 * allocates nothing and takes no lock; nor do the functions that are called then. _open() and
 * _close() make and free memory of the kernel's, and are called while all threads run.
 * Context: any thread; not handler. */
#ifndef SONDE_OS_STOP_H
#define SONDE_OS_STOP_H

#include "arch_regs.h"
#include "os.h"

/* A thread, by a reference that stays valid after the thread's end: nothing else can have its
 * name meanwhile. */
struct sonde__os_stop {
    uint64_t tid;
    uint32_t port;
};

/* Call once, while no thread is stopped, what the functions below call: _open() does it. */
void sonde__os_stop_ahead(void);

/* Refer to all threads that fit. *ret_total counts all of them. Threads that start or end meanwhile
 * may or may not be among them. Returns OK | OS.
 * Ownership: sonde__os_stop_close() for each of the first `capacity` ones. */
SONDE_NODISCARD enum sonde_status sonde__os_stop_open_all(struct sonde__os_stop *ret_stops,
                                                          size_t capacity, size_t *ret_total);
/* Refer to one thread. Returns OK | ABSENT | OS. */
SONDE_NODISCARD enum sonde_status sonde__os_stop_open(uint64_t tid,
                                                      struct sonde__os_stop *ret_stop);
void sonde__os_stop_close(const struct sonde__os_stop *stop);

/* Stop the thread, which is not the calling one. Returns OK | ABSENT (it has ended) | OS. If OK, a
 * call of _end() must follow. */
SONDE_NODISCARD enum sonde_status sonde__os_stop_begin(const struct sonde__os_stop *stop);
void sonde__os_stop_end(const struct sonde__os_stop *stop);

/* The registers of a stopped thread; all are known. In a system call, its pc is behind the
 * instruction that made the call. Returns OK | ABSENT | OS. */
SONDE_NODISCARD enum sonde_status sonde__os_stop_regs(const struct sonde__os_stop *stop,
                                                      struct sonde__regs *ret_regs);

/* What the system tells about a thread. */
struct sonde__os_stop_text {
    char letter;   /* R runs, S waits, D waits without interruption, T is stopped, Z has ended, ? */
    char name[64]; /* NUL-terminated; "" if it has none */
    uint64_t stack_start, stack_end; /* lowest address, and behind the highest; 0: not known */
};
/* The thread may run meanwhile. Returns OK | ABSENT | OS. */
SONDE_NODISCARD enum sonde_status sonde__os_stop_describe(const struct sonde__os_stop *stop,
                                                          struct sonde__os_stop_text *ret_text);
/* What a thread works for, and how much that matters to the user. */
struct sonde__os_stop_purpose {
    char queue[64]; /* the label of the dispatch queue; "": none, or not known */
    uint8_t qos;    /* enum Qos of proto/sonde/v1/report.proto, as requested; 0: not known */
};
/* libpthread's handle of a thread that is not stopped, for _qos(): this may take a lock. 0: none.
 */
uint64_t sonde__os_stop_handle(const struct sonde__os_stop *stop);
/* The quality of service of a stopped thread: its handle cannot end meanwhile. */
uint8_t sonde__os_stop_qos(uint64_t handle);

/* The label of the dispatch queue that the thread works for, which is stopped, or the calling one.
 * NUL-terminated, cut to fit (also within a character); "": it works for none, or that is not
 * known. */
void sonde__os_stop_queue(const struct sonde__os_stop *stop, char *ret_label, size_t size);

#endif
