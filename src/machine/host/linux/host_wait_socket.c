// SPDX-License-Identifier: Apache-2.0
/* Reads sockets from the lists of the thread's network namespace under /proc/PID/task/TID/net
 * (proc(5)), and the peer of a Unix socket by sock_diag(7). See host_wait.h. */
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host_wait.h"

/* include/net/tcp_states.h of Linux */
enum { TCP_SYN_SENT = 2, TCP_CLOSE = 7, TCP_CLOSE_WAIT = 8, TCP_LISTENS = 10 };
/* __SO_ACCEPTCON of Linux include/uapi/linux/net.h */
#define UNIX_LISTENS   0x10000ul
#define LIST_BYTES_MAX ((size_t)16 << 20)

/* Call each(ctx, line) for the lines of a list, until it returns true. */
static bool each_line(int32_t pid, uint64_t tid, const char *list,
                      bool (*each)(void *ctx, const char *line), void *ctx)
{
    char path[80], line[512];
    size_t size = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/task/%llu/net/%s", (int)pid, (unsigned long long)tid,
             list);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    while (!found && size < LIST_BYTES_MAX && fgets(line, sizeof line, file) != NULL) {
        size_t length = strcspn(line, "\n");
        size += length;
        line[length] = '\0';
        found = each(ctx, line);
    }
    fclose(file);
    return found;
}

/* --- network sockets --- */

/* Each word of an address is printed in this machine's byte order. An IPv4-mapped IPv6 address
 * becomes IPv4. */
static bool parse_address(const char **at, uint8_t address[16], uint8_t *ret_size,
                          uint16_t *ret_port)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    size_t digits = strspn(*at, "0123456789ABCDEF");
    if ((digits != 8 && digits != 32) || (*at)[digits] != ':') {
        return false;
    }
    for (size_t i = 0; i < digits / 8; i++) {
        char word[9] = {0};
        memcpy(word, *at + 8 * i, 8);
        uint32_t value = (uint32_t)strtoul(word, NULL, 16);
        memcpy(address + 4 * i, &value, sizeof value);
    }
    *ret_size = (uint8_t)(digits / 2);
    if (digits == 32 && memcmp(address, mapped, sizeof mapped) == 0) {
        memmove(address, address + 12, 4);
        memset(address + 4, 0, 12);
        *ret_size = 4;
    }
    char *end;
    *ret_port = (uint16_t)strtoul(*at + digits + 1, &end, 16);
    *at = end;
    return *end == ' ';
}

/* "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 12345 ..." */
bool sonde__host_parse_net_line(const char *line, struct sonde__host_net_line *ret_line)
{
    struct sonde__host_net_line parsed = {0};
    const char *at = strchr(line, ':');
    uint8_t remote_size;
    if (at == NULL || at[1] != ' ') {
        return false;
    }
    at += 2;
    if (!parse_address(&at, parsed.local, &parsed.size, &parsed.local_port)) {
        return false;
    }
    at++;
    if (!parse_address(&at, parsed.remote, &remote_size, &parsed.remote_port)) {
        return false;
    }
    /* one side of a dual-stack socket may be "::" */
    parsed.size = parsed.size > remote_size ? parsed.size : remote_size;
    unsigned state;
    unsigned long long inode;
    if (sscanf(at, " %x %*s %*s %*s %*u %*u %llu", &state, &inode) != 2) {
        return false;
    }
    parsed.state = (uint8_t)state;
    parsed.inode = inode;
    *ret_line = parsed;
    return true;
}

static bool is_any(const uint8_t address[16])
{
    static const uint8_t none[16];
    return memcmp(address, none, sizeof none) == 0;
}

static bool is_loopback(const struct sonde__host_net_line *line)
{
    static const uint8_t loopback[16] = {[15] = 1};
    return line->size == 4 ? line->remote[0] == 127
                           : memcmp(line->remote, loopback, sizeof loopback) == 0;
}

static void put_address(char text[SONDE__HOST_ADDRESS_TEXT], const uint8_t *address, uint8_t size,
                        uint16_t port)
{
    char words[INET6_ADDRSTRLEN] = "?";
    inet_ntop(size == 4 ? AF_INET : AF_INET6, address, words, sizeof words);
    snprintf(text, SONDE__HOST_ADDRESS_TEXT, size == 4 ? "%s:%u" : "[%s]:%u", words, port);
}

struct net_search {
    uint64_t inode;                         /* look for this, */
    const struct sonde__host_net_line *own; /* or for the other end of this */
    bool listener; /* find the socket that accepts its packets, not its owner */
    struct sonde__host_net_line found;
};

static bool is_wanted(void *ctx, const char *line)
{
    struct net_search *search = ctx;
    struct sonde__host_net_line l;
    const struct sonde__host_net_line *own = search->own;
    if (!sonde__host_parse_net_line(line, &l)) {
        return false;
    }
    if (own == NULL) {
        search->found = l;
        return l.inode == search->inode;
    }
    if (l.inode == 0 || l.inode == own->inode || l.local_port != own->remote_port) {
        return false;
    }
    search->found = l;
    if (search->listener) {
        return l.remote_port == 0 &&
               (is_any(l.local) || memcmp(l.local, own->remote, sizeof l.local) == 0);
    }
    return l.remote_port == own->local_port && memcmp(l.local, own->remote, sizeof l.local) == 0 &&
           memcmp(l.remote, own->local, sizeof l.local) == 0;
}

struct net_kind {
    const char *name;
    const char *lists[2];
};
static const struct net_kind net_kinds[] = {
    {"tcp", {"tcp", "tcp6"}},
    {"udp", {"udp", "udp6"}},
    {"raw", {"raw", "raw6"}},
};

static bool search_lists(int32_t pid, uint64_t tid, const struct net_kind *kind,
                         struct net_search *search)
{
    return each_line(pid, tid, kind->lists[0], is_wanted, search) ||
           each_line(pid, tid, kind->lists[1], is_wanted, search);
}

/* Find the other end, if on this machine: a socket connected to ours, one that has not accepted
 * ours yet (tcp), or one that receives from anybody (udp). */
static void find_net_peer(int32_t pid, uint64_t tid, const struct net_kind *kind,
                          const struct sonde__host_net_line *own, struct sonde__host_socket *socket)
{
    struct net_search search = {.own = own};
    bool is_tcp = kind == &net_kinds[0];
    socket->remote_is_local =
        is_loopback(own) || memcmp(own->local, own->remote, sizeof own->local) == 0;
    if (search_lists(pid, tid, kind, &search)) {
        socket->remote_is_local = true;
        socket->peer_inode = search.found.inode;
    } else if (socket->remote_is_local && (!is_tcp || own->state == TCP_SYN_SENT)) {
        search.listener = true;
        if (search_lists(pid, tid, kind, &search) &&
            (!is_tcp || search.found.state == TCP_LISTENS)) {
            socket->peer_inode = search.found.inode;
        }
    }
}

static bool read_net(int32_t pid, uint64_t tid, uint64_t inode, bool with_peer,
                     struct sonde__host_socket *socket)
{
    for (size_t i = 0; i < sizeof net_kinds / sizeof net_kinds[0]; i++) {
        struct net_search search = {.inode = inode};
        const struct sonde__host_net_line *own = &search.found;
        bool is_tcp = i == 0;
        if (!search_lists(pid, tid, &net_kinds[i], &search)) {
            continue;
        }
        snprintf(socket->kind, sizeof socket->kind, "%s", net_kinds[i].name);
        put_address(socket->local, own->local, own->size, own->local_port);
        if (is_tcp && own->state == TCP_LISTENS) {
            socket->state = SONDE__HOST_SOCKET_LISTENS;
        } else if (is_tcp && own->state == TCP_SYN_SENT) {
            socket->state = SONDE__HOST_SOCKET_CONNECTS;
        } else if (is_tcp && own->state >= 4 && own->state != TCP_CLOSE) {
            socket->state = SONDE__HOST_SOCKET_CLOSES;
        }
        if (own->remote_port != 0) {
            put_address(socket->remote, own->remote, own->size, own->remote_port);
            socket->remote_port = own->remote_port;
            if (with_peer) {
                find_net_peer(pid, tid, &net_kinds[i], own, socket);
            }
        }
        return true;
    }
    return false;
}

/* --- Unix sockets --- */

struct unix_search {
    uint64_t inode;
    const char *listens_at; /* or the listener at this path */
    bool listens;
    char path[SONDE__HOST_ADDRESS_TEXT];
};

/* "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/x" */
static bool is_wanted_unix(void *ctx, const char *line)
{
    struct unix_search *search = ctx;
    unsigned long flags;
    unsigned long long inode;
    int path_at = 0;
    if (sscanf(line, "%*x: %*x %*x %lx %*x %*x %llu %n", &flags, &inode, &path_at) != 2) {
        return false;
    }
    const char *path = path_at > 0 ? line + path_at : "";
    bool listens = (flags & UNIX_LISTENS) != 0;
    if (search->listens_at != NULL ? !listens || strcmp(path, search->listens_at) != 0
                                   : inode != search->inode) {
        return false;
    }
    search->inode = inode;
    search->listens = listens;
    snprintf(search->path, sizeof search->path, "%s", path);
    return true;
}

static bool is_own_network(int32_t pid, uint64_t tid)
{
    char path[64], a[64], b[64];
    snprintf(path, sizeof path, "/proc/%d/task/%llu/ns/net", (int)pid, (unsigned long long)tid);
    ssize_t n = readlink(path, a, sizeof a), m = readlink("/proc/thread-self/ns/net", b, sizeof b);
    return n > 0 && n == m && memcmp(a, b, (size_t)n) == 0;
}

/* The peer's inode in an answer of sock_diag; 0: none. */
static uint64_t read_answer(const char *bytes, size_t size)
{
    const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)bytes;
    size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
    if (size < at || header->nlmsg_type != SOCK_DIAG_BY_FAMILY) {
        return 0;
    }
    while (at + sizeof(struct nlattr) <= size) {
        struct nlattr attribute;
        uint32_t inode;
        memcpy(&attribute, bytes + at, sizeof attribute);
        if (attribute.nla_len < sizeof attribute || at + attribute.nla_len > size) {
            return 0;
        }
        if (attribute.nla_type == UNIX_DIAG_PEER &&
            attribute.nla_len >= sizeof attribute + sizeof inode) {
            memcpy(&inode, bytes + at + sizeof attribute, sizeof inode);
            return inode;
        }
        at += ((size_t)attribute.nla_len + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO;
    }
    return 0;
}

/* False: no answer. */
static bool ask_unix_peer(uint64_t inode, uint64_t *ret_peer)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req body;
    } request = {
        .header = {.nlmsg_len = sizeof request,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_UNIX,
                 .udiag_states = UINT32_MAX,
                 .udiag_ino = (uint32_t)inode,
                 .udiag_show = UDIAG_SHOW_PEER,
                 .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    _Alignas(struct nlmsghdr) char answer[1024];
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    ssize_t n = fd >= 0 ? send(fd, &request, sizeof request, MSG_NOSIGNAL) : -1;
    n = n > 0 ? recv(fd, answer, sizeof answer, 0) : -1; /* send() has queued the answer */
    if (fd >= 0) {
        close(fd);
    }
    *ret_peer = n > 0 ? read_answer(answer, (size_t)n) : 0;
    return n > 0;
}

static bool read_unix(int32_t pid, uint64_t tid, uint64_t inode, struct sonde__host_socket *socket)
{
    struct unix_search search = {.inode = inode}, peer = {0};
    if (!each_line(pid, tid, "unix", is_wanted_unix, &search)) {
        return false;
    }
    snprintf(socket->kind, sizeof socket->kind, "unix");
    snprintf(socket->local, sizeof socket->local, "%s", search.path);
    if (search.listens) {
        socket->state = SONDE__HOST_SOCKET_LISTENS;
        return true;
    }
    if (!is_own_network(pid, tid)) {
        snprintf(socket->peer_doubt, sizeof socket->peer_doubt,
                 "it is in another network namespace");
    } else if (!ask_unix_peer(inode, &socket->peer_inode)) {
        snprintf(socket->peer_doubt, sizeof socket->peer_doubt, "the system does not say");
    } else if (socket->peer_inode != 0) {
        socket->remote_is_local = true;
        peer.inode = socket->peer_inode;
        if (each_line(pid, tid, "unix", is_wanted_unix, &peer)) {
            snprintf(socket->remote, sizeof socket->remote, "%s", peer.path);
        }
    }
    return true;
}

/* "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode" */
static bool is_netlink(void *ctx, const char *line)
{
    unsigned long long inode;
    return sscanf(line, "%*x %*u %*u %*x %*u %*u %*u %*u %*u %llu", &inode) == 1 &&
           inode == *(const uint64_t *)ctx;
}

bool sonde__host_socket_read(int32_t pid, uint64_t tid, uint64_t inode, bool with_peer,
                             struct sonde__host_socket *ret_socket)
{
    memset(ret_socket, 0, sizeof *ret_socket);
    if (inode == 0) {
        return false;
    }
    /* lists of Unix sockets are short; those of network sockets take the time of a whole hash
     * table */
    if (read_unix(pid, tid, inode, ret_socket) ||
        read_net(pid, tid, inode, with_peer, ret_socket)) {
        return true;
    }
    if (each_line(pid, tid, "netlink", is_netlink, &inode)) {
        snprintf(ret_socket->kind, sizeof ret_socket->kind, "netlink");
        return true;
    }
    return false;
}

/* --- where a connect() goes --- */

static bool address_of_unix(int32_t pid, uint64_t tid, const char *bytes, size_t size,
                            struct sonde__host_socket *socket)
{
    struct unix_search search = {.listens_at = socket->remote};
    size_t at = offsetof(struct sockaddr_un, sun_path);
    if (size <= at) {
        return false;
    }
    snprintf(socket->kind, sizeof socket->kind, "unix");
    if (bytes[at] == '\0') { /* abstract: the list shows its NUL bytes as '@' */
        size_t length = size - at < sizeof socket->remote ? size - at : sizeof socket->remote - 1;
        for (size_t i = 0; i < length; i++) {
            socket->remote[i] = bytes[at + i] != '\0' ? bytes[at + i] : '@';
        }
        socket->remote[length] = '\0';
    } else {
        snprintf(socket->remote, sizeof socket->remote, "%.*s", (int)(size - at), bytes + at);
    }
    if (each_line(pid, tid, "unix", is_wanted_unix, &search)) {
        socket->peer_inode = search.inode;
        socket->remote_is_local = true;
    }
    return true;
}

bool sonde__host_socket_address(int32_t pid, uint64_t tid, const void *address, size_t size,
                                struct sonde__host_socket *ret_socket)
{
    const uint8_t *bytes = address;
    sa_family_t family;
    uint16_t port;
    memset(ret_socket, 0, sizeof *ret_socket);
    if (size < sizeof family) {
        return false;
    }
    memcpy(&family, bytes, sizeof family);
    if (family == AF_UNIX) {
        return address_of_unix(pid, tid, address, size, ret_socket);
    }
    bool is_4 = family == AF_INET;
    if ((!is_4 && family != AF_INET6) || size < (is_4 ? 8u : 24u)) {
        return false;
    }
    memcpy(&port, bytes + 2, sizeof port);
    ret_socket->remote_port = ntohs(port);
    put_address(ret_socket->remote, bytes + (is_4 ? 4 : 8), is_4 ? 4 : 16, ret_socket->remote_port);
    return true;
}
