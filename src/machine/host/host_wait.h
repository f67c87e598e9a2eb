// SPDX-License-Identifier: Apache-2.0
/* Describes what threads wait for (descriptors, sockets, file locks, children) and the load that
 * slows them down. Context: any thread.
 *
 * Nothing here opens, reads or stats a file of the program: that could hang as the program does (a
 * file system that does not answer). The kernel's links and lists are enough. */
#ifndef SONDE_HOST_WAIT_H
#define SONDE_HOST_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host_file.h"

struct sonde__os_wait;

/* --- descriptors --- */

enum sonde__host_fd_kind {
    SONDE__HOST_FD_CLOSED, /* or not readable */
    SONDE__HOST_FD_PATH,   /* a file, folder, device or FIFO with a path */
    SONDE__HOST_FD_SOCKET,
    SONDE__HOST_FD_PIPE,  /* without a path */
    SONDE__HOST_FD_OTHER, /* kernel objects: "anon_inode:[eventfd]" */
};

#define SONDE__HOST_FD_TEXT 256
/* Listed descriptors of an epoll set. */
#define SONDE__HOST_FD_SET_MAX 8

struct sonde__host_fd {
    uint8_t kind;                   /* enum sonde__host_fd_kind */
    char text[SONDE__HOST_FD_TEXT]; /* what it refers to, as the program sees it; may be cut */
    uint64_t inode;                 /* 0: not known */
    uint32_t set_count;             /* descriptors of an epoll set */
    int32_t set[SONDE__HOST_FD_SET_MAX];
    bool has_timer; /* an armed timerfd, and the time until it fires */
    uint64_t timer_ns;
    int32_t process; /* of a pidfd; 0 or less: ended, or not a pidfd */
};
/* Read a descriptor of process `pid` through its thread `tid`. */
void sonde__host_fd_read(int32_t pid, uint64_t tid, int32_t fd, struct sonde__host_fd *ret_fd);

/* --- holders of pipes and sockets --- */

struct sonde__host_holder {
    uint64_t key;    /* inode, or the hash of a path */
    int32_t pid, fd; /* fd: one of the process' descriptors for it */
    uint8_t kind;    /* enum sonde__host_fd_kind: PATH, SOCKET or PIPE */
    bool reads, writes;
};

struct sonde__host_holders {
    struct sonde__host_holder *list; /* by kind, key, pid */
    size_t count, capacity;
    uint32_t processes; /* processes searched */
    uint32_t hidden;    /* processes that this user may not search */
    bool cut;           /* budget or memory used up: not all were searched */
};
/* Search the descriptors of all visible processes, `first` and its children first, for at most
 * `cpu_ns` of this thread's CPU time. Ownership: _done(). */
void sonde__host_holders_read(int32_t first, uint64_t cpu_ns,
                              struct sonde__host_holders *ret_holders);
void sonde__host_holders_done(struct sonde__host_holders *holders);
/* Find the holders of one object: *ret_count of them, one per process and descriptor. */
const struct sonde__host_holder *sonde__host_holders_find(const struct sonde__host_holders *holders,
                                                          uint8_t kind, uint64_t key,
                                                          size_t *ret_count);

/* --- sockets --- */

enum sonde__host_socket_state {
    SONDE__HOST_SOCKET_OPEN, /* none of the others */
    SONDE__HOST_SOCKET_LISTENS,
    SONDE__HOST_SOCKET_CONNECTS, /* connection requested, no answer yet */
    SONDE__HOST_SOCKET_CLOSES,   /* one end is closed */
};

#define SONDE__HOST_ADDRESS_TEXT 128

struct sonde__host_socket {
    char kind[12];                         /* "tcp", "udp", "unix", "netlink", ... */
    uint8_t state;                         /* enum sonde__host_socket_state */
    char local[SONDE__HOST_ADDRESS_TEXT];  /* "127.0.0.1:80", "[::1]:80", a path; "" */
    char remote[SONDE__HOST_ADDRESS_TEXT]; /* "": not connected */
    uint16_t remote_port;                  /* network sockets */
    bool remote_is_local;                  /* the other end is on this machine */
    uint64_t peer_inode;                   /* the other end or its listener; 0: unknown */
    char peer_doubt[64];                   /* why the other end is unknown, or "" */
};
/* Look up the socket with this inode in the network namespace of thread `tid` of process `pid`.
 * with_peer: also its other end, at twice the cost: for network sockets some ms of CPU time. False:
 * in no list. Reads at most the first 16 MiB of each of the kernel's lists. */
bool sonde__host_socket_read(int32_t pid, uint64_t tid, uint64_t inode, bool with_peer,
                             struct sonde__host_socket *ret_socket);
/* Describe an address that a program passes to connect(), and the listening socket's inode (0:
 * unknown). False: unknown address family. */
bool sonde__host_socket_address(int32_t pid, uint64_t tid, const void *address, size_t size,
                                struct sonde__host_socket *ret_socket);

/* Parsers, separate for tests. A line of /proc/net/tcp and the like. */
struct sonde__host_net_line {
    uint8_t local[16], remote[16]; /* in network order; IPv4: the first 4 bytes */
    uint16_t local_port, remote_port;
    uint8_t size; /* size of an address: 4 or 16 */
    uint8_t state;
    uint64_t inode;
};
bool sonde__host_parse_net_line(const char *line, struct sonde__host_net_line *ret_line);

/* --- locks of files --- */

struct sonde__host_lock {
    char kind[8]; /* "FLOCK", "POSIX", "OFDLCK", "LEASE" */
    bool writes;  /* a write lock */
    bool waits;
    uint64_t id;
    int32_t pid; /* -1: unknown */
    uint64_t inode;
};
/* A line of /proc/locks. */
bool sonde__host_parse_lock(const char *line, struct sonde__host_lock *ret_lock);
/* The lock that process `pid` waits for, on the file `inode` (0: any), and its holder. False:
 * none. */
bool sonde__host_lock_read(int32_t pid, uint64_t inode, struct sonde__host_lock *ret_wait,
                           struct sonde__host_lock *ret_holder);

/* --- processes and threads --- */

/* List the children of a process that have not ended. Returns their number; stores at most
 * `capacity`. */
size_t sonde__host_children_read(int32_t pid, int32_t *ret_pids, size_t capacity);
/* The command line of a process, its words separated by blanks; if empty, the name in brackets.
 * False: the process is gone. */
bool sonde__host_command_read(int32_t pid, char *ret_text, size_t capacity);
/* The process of a thread; 0: the thread is gone. */
int32_t sonde__host_thread_process(uint64_t tid);
/* The thread of `pid` whose tid in the process' own pid namespace is `inner`; 0: none. */
uint64_t sonde__host_thread_of_inner(int32_t pid, uint64_t inner);
/* Is `tid` a thread of process `pid`? */
bool sonde__host_has_thread(int32_t pid, uint64_t tid);
/* The kernel function that a thread waits in; "": unknown. */
void sonde__host_wait_channel(int32_t pid, uint64_t tid, char *ret_text, size_t capacity);
/* After a stop (a signal, a tracer, a frozen container), the kernel resumes calls with a time limit
 * by restart_syscall. Give such a wait, just read, the number of its own call; others, and those
 * whose call is not known, are left as they are. */
void sonde__host_wait_resumed(int32_t pid, uint64_t tid, struct sonde__os_wait *wait);

/* --- load --- */

/* Running totals: compare two readings. */
struct sonde__host_load {
    uint64_t minor_faults, major_faults; /* of the thread */
    bool has_pressure;                   /* the kernel reports it */
    /* time during which some task on the machine waited for each */
    uint64_t cpu_pressure_ns, memory_pressure_ns, io_pressure_ns;
};
/* The files that tell of the machine, kept open from one reading to the next. All zero: none is
 * open yet. */
struct sonde__host_load_files {
    struct sonde__host_file_kept cpu, memory, io;
};
/* files: null: open them for this reading. False: the thread is gone. */
bool sonde__host_load_read(int32_t pid, uint64_t tid, struct sonde__host_load_files *files,
                           struct sonde__host_load *ret_load);
void sonde__host_load_close(struct sonde__host_load_files *files);

#endif
