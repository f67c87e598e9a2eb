// SPDX-License-Identifier: Apache-2.0
/* One look at one thread: private to cause. */
#ifndef SONDE_CAUSE_PRIVATE_H
#define SONDE_CAUSE_PRIVATE_H

#include "base_text.h"
#include "cause.h"
#include "cause_function.h"
#include "host_wait.h"

struct sonde__causes {
    int32_t pid;
    unsigned arch;
    bool other_numbers;           /* it is in another pid namespace: its tids are not ours */
    struct sonde__target *target; /* null: another process, whose stacks are not read */
    struct cause_functions *functions;
    struct sonde__host_holders holders;
    bool searched;
    uint64_t search_ns;
    uint64_t return_ns; /* how long it may still sleep, see sonde__causes_await_returns() */
};

struct cause_look {
    struct sonde__causes *causes;
    uint64_t tid;
    const char *call; /* name of the system call */
    const uint64_t *args;
    const struct sonde_stack *stack;    /* null: not read */
    const struct sonde__script *script; /* null: not read, or there is none */
    char channel[64];                   /* the kernel function that it waits in, or "" */
    struct sonde__cause *cause;         /* the result */
};

/* Each fills look->cause and returns true if the call is of its kind. */
bool cause_look_futex(struct cause_look *look);
bool cause_look_fd(struct cause_look *look);
bool cause_look_set(struct cause_look *look);
bool cause_look_lock(struct cause_look *look);
bool cause_look_path(struct cause_look *look);
bool cause_look_child(struct cause_look *look);
bool cause_look_connect(struct cause_look *look);

/* Find what a thread of causes->pid waits for in this call. */
void cause_look_call(struct cause_look *look);
/* The current cause, without the stack. False: the thread is not blocked in a call. */
bool cause_look_now(struct sonde__causes *causes, uint64_t tid, struct sonde__cause *ret_cause);
/* How often the thread has got a CPU; 0: not known. */
uint64_t cause_slices(int32_t pid, uint64_t tid);

size_t cause_read(const struct cause_look *look, uint64_t address, void *ret_bytes, size_t size);

/* Write "fd 7 /data/app.db" and the like to `text`, a socket with both addresses. ret_peer: the
 * socket and its other end (kind "": not a socket); null: do not search the other end. */
void cause_put_fd(const struct cause_look *look, struct sonde__text *text, int32_t fd,
                  const struct sonde__host_fd *what, struct sonde__host_socket *ret_peer);
/* Name the owner of a socket's other end, by its inode `peer`. */
void cause_describe_socket(struct cause_look *look, const struct sonde__host_socket *socket);

/* Processes that have an object open, including this one. */
struct cause_holders {
    const struct sonde__host_holder *list;
    size_t count;
    bool certain; /* all processes were read */
    uint32_t hidden;
    bool cut;
};
struct cause_holders cause_find_holders(struct sonde__causes *causes, uint8_t kind, uint64_t key);

/* --- cause_words.c --- */

struct sonde__text cause_resource(struct sonde__cause *cause);
struct sonde__text cause_owner(struct sonde__cause *cause);
/* Every path, address and command goes through one of these. */
void cause_put_path(struct sonde__text *text, const char *path);
void cause_put_address(struct sonde__text *text, const char *address);
void cause_put_command(struct sonde__text *text, const char *command);

/* Append printf() output; cut at the end of the buffer. */
void cause_put(struct sonde__text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "thread 4711 (name)" */
void cause_put_thread(struct sonde__text *text, int32_t pid, uint64_t tid);
/* "process 4711 (command)" */
void cause_put_process(struct sonde__text *text, int32_t pid);
/* "process 4711 (command) and 2 more", for one of `count` processes */
void cause_put_processes(struct sonde__text *text, int32_t pid, uint32_t count);
/* "; 3 processes could not be looked into" if the list of holders may be incomplete; else
 * nothing. */
void cause_put_doubt(struct sonde__text *text, const struct cause_holders *holders);

#endif
