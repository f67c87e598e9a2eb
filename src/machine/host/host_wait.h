// SPDX-License-Identifier: Apache-2.0
/* What the system says of the things that threads wait for: descriptors, sockets, file locks,
 * children; and of the load that slows threads down. Context: any thread.
 *
 * Nothing here opens, reads or asks the attributes of a file of the program: that could hang as the
 * program does (a file system that does not answer). Links and lists of the kernel are enough. */
#ifndef SONDE_HOST_WAIT_H
#define SONDE_HOST_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- descriptors --- */

enum sonde__host_fd_kind {
    SONDE__HOST_FD_CLOSED, /* or it may not be read */
    SONDE__HOST_FD_PATH,   /* a file, folder, device or FIFO with a path */
    SONDE__HOST_FD_SOCKET,
    SONDE__HOST_FD_PIPE,  /* without a path */
    SONDE__HOST_FD_OTHER, /* the system's own: "anon_inode:[eventfd]" */
};

#define SONDE__HOST_FD_TEXT 256
/* Descriptors of an epoll set that are listed. */
#define SONDE__HOST_FD_SET_MAX 8

struct sonde__host_fd {
    uint8_t kind;                   /* enum sonde__host_fd_kind */
    char text[SONDE__HOST_FD_TEXT]; /* where it leads, as the program sees it; may be cut */
    uint64_t inode;                 /* 0: not known */
    uint32_t set_count;             /* of an epoll set: how many it has */
    int32_t set[SONDE__HOST_FD_SET_MAX];
    bool has_timer; /* of a timerfd: it is armed, and when it fires */
    uint64_t timer_ns;
    int32_t process; /* of a pidfd: what it stands for; 0 or less: it has ended, or is no pidfd */
};
/* A descriptor of process `pid`, by way of its thread `tid`. */
void sonde__host_fd_read(int32_t pid, uint64_t tid, int32_t fd, struct sonde__host_fd *ret_fd);

/* --- who has a pipe or a socket open --- */

struct sonde__host_holder {
    uint64_t key;    /* inode; of a path its hash */
    int32_t pid, fd; /* fd: one of those that the process has of it */
    uint8_t kind;    /* enum sonde__host_fd_kind: PATH, SOCKET or PIPE */
    bool reads, writes;
};

struct sonde__host_holders {
    struct sonde__host_holder *list; /* by kind, key, pid */
    size_t count, capacity;
    uint32_t processes; /* that were looked into */
    uint32_t hidden;    /* that this user may not look into */
    bool cut;           /* the budget or memory ended: some were not looked into */
};
/* Look into all processes that this one sees, `first` and its children before the others, for at
 * most `cpu_ns` of CPU time of this thread. Ownership: _done(). */
void sonde__host_holders_read(int32_t first, uint64_t cpu_ns,
                              struct sonde__host_holders *ret_holders);
void sonde__host_holders_done(struct sonde__host_holders *holders);
/* The holders of one thing: *ret_count of them, one per process and descriptor. */
const struct sonde__host_holder *sonde__host_holders_find(const struct sonde__host_holders *holders,
                                                          uint8_t kind, uint64_t key,
                                                          size_t *ret_count);

/* --- sockets --- */

enum sonde__host_socket_state {
    SONDE__HOST_SOCKET_OPEN, /* neither of those */
    SONDE__HOST_SOCKET_LISTENS,
    SONDE__HOST_SOCKET_CONNECTS, /* has asked, and has no answer */
    SONDE__HOST_SOCKET_CLOSES,   /* one of the two ends is closed */
};

#define SONDE__HOST_ADDRESS_TEXT 128

struct sonde__host_socket {
    char kind[12];                         /* "tcp", "udp", "unix", "netlink", ... */
    uint8_t state;                         /* enum sonde__host_socket_state */
    char local[SONDE__HOST_ADDRESS_TEXT];  /* "127.0.0.1:80", "[::1]:80", a path; "" */
    char remote[SONDE__HOST_ADDRESS_TEXT]; /* "": not connected */
    uint16_t remote_port;                  /* network sockets */
    bool remote_is_local;                  /* the other end is on this machine */
    uint64_t peer_inode;                   /* the other end, or who listens there; 0: not known */
    char peer_doubt[64];                   /* why the other end is not known, or "" */
};
/* The socket of this inode in the network of thread `tid` of process `pid`. with_peer: also its
 * other end, which costs as much again: of network sockets some ms of CPU time. False: it is in no
 * list. Bounded by the size of the kernel's lists: the first 16 MiB of each are read. */
bool sonde__host_socket_read(int32_t pid, uint64_t tid, uint64_t inode, bool with_peer,
                             struct sonde__host_socket *ret_socket);
/* An address that a program hands to connect() as text; and the inode of the socket that listens
 * there, 0: not known. False: an address of no known family. */
bool sonde__host_socket_address(int32_t pid, uint64_t tid, const void *address, size_t size,
                                struct sonde__host_socket *ret_socket);

/* Parsers, apart for tests. A line of /proc/net/tcp and its like. */
struct sonde__host_net_line {
    uint8_t local[16], remote[16]; /* in network order; IPv4: the first 4 bytes */
    uint16_t local_port, remote_port;
    uint8_t size; /* of an address: 4 or 16 */
    uint8_t state;
    uint64_t inode;
};
bool sonde__host_parse_net_line(const char *line, struct sonde__host_net_line *ret_line);

/* --- locks of files --- */

struct sonde__host_lock {
    char kind[8]; /* "FLOCK", "POSIX", "OFDLCK", "LEASE" */
    bool writes;  /* it is for writing */
    bool waits;
    uint64_t id;
    int32_t pid; /* -1: the kernel does not say */
    uint64_t inode;
};
/* A line of /proc/locks. */
bool sonde__host_parse_lock(const char *line, struct sonde__host_lock *ret_lock);
/* The lock that process `pid` waits for, of the file `inode` (0: of any), and who has it. False:
 * there is none. */
bool sonde__host_lock_read(int32_t pid, uint64_t inode, struct sonde__host_lock *ret_wait,
                           struct sonde__host_lock *ret_holder);

/* --- processes and threads --- */

/* Children of a process that have not ended. Returns how many; at most `capacity` are stored. */
size_t sonde__host_children_read(int32_t pid, int32_t *ret_pids, size_t capacity);
/* The command line of a process, blanks between its words; its name in brackets if there is none.
 * False: it is gone. */
bool sonde__host_command_read(int32_t pid, char *ret_text, size_t capacity);
/* Which process a thread is of; 0: it is gone. */
int32_t sonde__host_thread_process(uint64_t tid);
/* The thread of `pid` that its own process, in another pid namespace, calls `inner`; 0: none. */
uint64_t sonde__host_thread_of_inner(int32_t pid, uint64_t inner);
/* Is it a thread of this process? */
bool sonde__host_has_thread(int32_t pid, uint64_t tid);
/* The kernel function that a thread waits in; "": not known. */
void sonde__host_wait_channel(int32_t pid, uint64_t tid, char *ret_text, size_t capacity);

/* --- load --- */

/* Sums since some beginning: differences of two readings count. */
struct sonde__host_load {
    uint64_t minor_faults, major_faults; /* of the thread */
    bool has_pressure;                   /* the kernel tells it */
    /* how long some task of the machine waited for each */
    uint64_t cpu_pressure_ns, memory_pressure_ns, io_pressure_ns;
};
/* False: the thread is gone. */
bool sonde__host_load_read(int32_t pid, uint64_t tid, struct sonde__host_load *ret_load);

#endif
