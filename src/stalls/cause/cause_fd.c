// SPDX-License-Identifier: Apache-2.0
/* Waits for one descriptor, or for any of a set (poll, select, epoll). */
#include <string.h>

#include "base_hash.h"
#include "cause_private.h"

/* Calls that wait on their first argument, a descriptor. */
static const char *const by_descriptor[] = {
    "read",     "write",     "pread64",    "pwrite64",       "readv",
    "writev",   "preadv",    "pwritev",    "preadv2",        "pwritev2",
    "fsync",    "fdatasync", "syncfs",     "sendfile",       "sync_file_range",
    "recvfrom", "recvmsg",   "recvmmsg",   "sendto",         "sendmsg",
    "sendmmsg", "accept",    "accept4",    "connect",        "flock",
    "fcntl",    "ioctl",     "fallocate",  "ftruncate",      "fchmod",
    "fchown",   "fstat",     "getdents64", "io_uring_enter", "copy_file_range",
    "splice",   "tee",       "vmsplice",   "close"};
static const char *const writers[] = {"write",    "writev", "pwrite64",
                                      "sendfile", "splice", "vmsplice"};

/* How many descriptors of a set are named. */
enum { SET_SHOWN = 3 };
/* How many bits of a select(2) set are read. */
enum { SELECT_MAX = 1024 };

void cause_put_fd(const struct cause_look *look, struct sonde__text *text, int32_t fd,
                  const struct sonde__host_fd *what, struct sonde__host_socket *ret_peer)
{
    struct sonde__host_socket socket = {0};
    if (ret_peer != NULL) {
        *ret_peer = socket;
    }
    cause_put(text, "fd %d", fd);
    if (what->kind == SONDE__HOST_FD_CLOSED) {
        return;
    }
    sonde__base_text_char(text, ' ');
    if (what->kind != SONDE__HOST_FD_SOCKET ||
        !sonde__host_socket_read(look->causes->pid, look->tid, what->inode, ret_peer != NULL,
                                 &socket)) {
        cause_put_path(text, what->text);
        return;
    }
    if (ret_peer != NULL) {
        *ret_peer = socket;
    }
    sonde__base_text_str(text, socket.kind);
    if (socket.state == SONDE__HOST_SOCKET_LISTENS) {
        sonde__base_text_str(text, " listening on");
    }
    if (socket.local[0] != '\0') {
        sonde__base_text_char(text, ' ');
        cause_put_address(text, socket.local);
    }
    if (socket.remote[0] != '\0') {
        sonde__base_text_str(text, " to ");
        cause_put_address(text, socket.remote);
    }
    if (socket.local[0] == '\0' && socket.remote[0] == '\0') {
        cause_put(text, " %s", what->text);
    }
}

/* Name the holders that could end the wait: writers if the thread reads, else readers. A single
 * process is the owner. */
static void describe_pipe(struct cause_look *look, const struct cause_holders *holders, bool reads)
{
    struct sonde__cause *cause = look->cause;
    struct sonde__text text = cause_owner(cause);
    int32_t first = 0, last = 0, foreign = 0;
    uint32_t processes = 0;
    for (size_t i = 0; i < holders->count; i++) {
        const struct sonde__host_holder *h = &holders->list[i];
        if ((reads ? h->writes : h->reads) && h->pid != last) {
            last = h->pid;
            first = first == 0 ? h->pid : first;
            foreign = foreign == 0 && h->pid != look->causes->pid ? h->pid : foreign;
            processes++;
        }
    }
    sonde__base_text_str(&text, reads ? "written by " : "read by ");
    if (processes == 0) {
        sonde__base_text_str(&text, holders->certain ? "nobody" : "nobody that was seen");
    } else if (processes == 1 && first == look->causes->pid) {
        sonde__base_text_str(&text, "this process itself");
    } else {
        cause_put_processes(&text, foreign, processes);
    }
    cause->owner_pid = processes == 1 && holders->certain ? first : 0;
    cause_put_doubt(&text, holders);
}

/* A FIFO has a path like a file; the kernel function that waits tells them apart. */
static bool is_fifo(const struct cause_look *look)
{
    return strstr(look->channel, "pipe_read") != NULL ||
           strstr(look->channel, "pipe_write") != NULL;
}

static void describe_one(struct cause_look *look, int32_t fd, bool reads)
{
    struct sonde__host_fd what;
    struct sonde__host_socket socket;
    struct sonde__text text = cause_resource(look->cause);
    struct sonde__causes *causes = look->causes;
    sonde__host_fd_read(causes->pid, look->tid, fd, &what);
    look->cause->kind = SONDE__CAUSE_FILE;
    cause_put_fd(look, &text, fd, &what, &socket);
    if (what.kind == SONDE__HOST_FD_SOCKET) {
        look->cause->kind = SONDE__CAUSE_SOCKET;
        if (socket.kind[0] != '\0') {
            cause_describe_socket(look, &socket);
        }
    } else if (what.kind == SONDE__HOST_FD_PIPE ||
               (what.kind == SONDE__HOST_FD_PATH && is_fifo(look))) {
        bool has_path = what.kind == SONDE__HOST_FD_PATH;
        struct cause_holders holders = cause_find_holders(
            causes, what.kind, has_path ? sonde__base_hash_text(what.text) : what.inode);
        look->cause->kind = SONDE__CAUSE_PIPE;
        describe_pipe(look, &holders, reads);
    }
}

bool cause_look_fd(struct cause_look *look)
{
    if (!sonde__base_is_one_of(look->call, by_descriptor,
                               sizeof by_descriptor / sizeof by_descriptor[0])) {
        return false;
    }
    describe_one(look, (int32_t)look->args[0],
                 !sonde__base_is_one_of(look->call, writers, sizeof writers / sizeof writers[0]));
    return true;
}

/* --- sets --- */

static void describe_set(struct cause_look *look, const int32_t *fds, uint32_t listed,
                         uint32_t count)
{
    struct sonde__text text = cause_resource(look->cause);
    struct sonde__host_fd what;
    uint32_t shown = listed < SET_SHOWN ? listed : SET_SHOWN;
    look->cause->kind = SONDE__CAUSE_SET;
    for (uint32_t i = 0; i < shown; i++) {
        sonde__base_text_str(&text, i > 0 ? ", " : "");
        sonde__host_fd_read(look->causes->pid, look->tid, fds[i], &what);
        cause_put_fd(look, &text, fds[i], &what, NULL);
    }
    if (count > shown) {
        cause_put(&text, " and %u more", count - shown);
    }
}

/* Layout of struct pollfd: descriptor, then events. */
static void look_poll(struct cause_look *look)
{
    enum { LISTED = 16, POLLIN_ = 1 };
    struct {
        int32_t fd;
        uint16_t events, revents;
    } entries[LISTED];
    int32_t fds[LISTED];
    uint32_t count = look->args[1] < UINT32_MAX ? (uint32_t)look->args[1] : UINT32_MAX;
    size_t wanted = (count < LISTED ? count : LISTED) * sizeof entries[0];
    uint32_t listed =
        (uint32_t)(cause_read(look, look->args[0], entries, wanted) / sizeof entries[0]);
    for (uint32_t i = 0; i < listed; i++) {
        fds[i] = entries[i].fd;
    }
    bool is_poll = strcmp(look->call, "poll") == 0;
    look->cause->timed = is_poll ? (int32_t)look->args[2] >= 0 : look->args[2] != 0;
    if (count == 1 && listed == 1) {
        describe_one(look, fds[0], (entries[0].events & POLLIN_) != 0);
    } else if (listed > 0) {
        describe_set(look, fds, listed, count);
    }
}

static void look_select(struct cause_look *look)
{
    uint64_t words[SELECT_MAX / 64];
    int32_t fds[SELECT_MAX];
    uint32_t listed = 0;
    bool reads = false;
    uint64_t limit = look->args[0] < SELECT_MAX ? look->args[0] : SELECT_MAX;
    look->cause->timed = look->args[4] != 0;
    for (unsigned set = 1; set <= 3; set++) {
        size_t size = (size_t)(limit + 63) / 64 * 8;
        if (look->args[set] == 0 || cause_read(look, look->args[set], words, size) != size) {
            continue;
        }
        for (uint64_t fd = 0; fd < limit && listed < SELECT_MAX; fd++) {
            if ((words[fd / 64] >> fd % 64 & 1) != 0) {
                reads = reads || set == 1;
                fds[listed++] = (int32_t)fd;
            }
        }
    }
    if (listed == 1) {
        describe_one(look, fds[0], reads);
    } else if (listed > 0) {
        describe_set(look, fds, listed, listed);
    }
}

static void look_epoll(struct cause_look *look)
{
    struct sonde__host_fd what;
    bool has_pointer = strcmp(look->call, "epoll_pwait2") == 0;
    sonde__host_fd_read(look->causes->pid, look->tid, (int32_t)look->args[0], &what);
    look->cause->timed = has_pointer ? look->args[3] != 0 : (int32_t)look->args[3] >= 0;
    uint32_t listed =
        what.set_count < SONDE__HOST_FD_SET_MAX ? what.set_count : SONDE__HOST_FD_SET_MAX;
    struct sonde__text text = cause_resource(look->cause);
    if (listed == 0) {
        look->cause->kind = SONDE__CAUSE_SET;
        cause_put_fd(look, &text, (int32_t)look->args[0], &what, NULL);
        return;
    }
    describe_set(look, what.set, listed, what.set_count);
    char members[SONDE__CAUSE_RESOURCE];
    memcpy(members, look->cause->resource, sizeof members);
    text = cause_resource(look->cause);
    cause_put(&text, "fd %d epoll of %s", (int32_t)look->args[0], members);
}

bool cause_look_set(struct cause_look *look)
{
    if (strcmp(look->call, "poll") == 0 || strcmp(look->call, "ppoll") == 0) {
        look_poll(look);
    } else if (strcmp(look->call, "select") == 0 || strcmp(look->call, "pselect6") == 0) {
        look_select(look);
    } else if (strncmp(look->call, "epoll_", 6) == 0 && strstr(look->call, "wait") != NULL) {
        look_epoll(look);
    } else {
        return false;
    }
    return true;
}
