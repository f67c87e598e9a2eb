// SPDX-License-Identifier: Apache-2.0
/* Waits for sockets: the address of the other end, and its process. */
#include <string.h>

#include "cause_private.h"

enum { DNS_PORT = 53, ADDRESS_BYTES_MAX = 128 };

void cause_describe_socket(struct cause_look *look, const struct sonde__host_socket *socket)
{
    struct sonde__cause *cause = look->cause;
    struct sonde__text text = cause_owner(cause);
    struct cause_holders holders;
    int32_t last = 0;
    uint32_t processes = 0;
    if (socket->state == SONDE__HOST_SOCKET_LISTENS) {
        return; /* nobody has connected */
    }
    struct sonde__text peer;
    sonde__base_text_init(&peer, cause->peer, sizeof cause->peer);
    cause_put_address(&peer, socket->remote);
    if (socket->state == SONDE__HOST_SOCKET_CONNECTS) {
        sonde__base_text_str(&text, "no answer yet");
    } else if (socket->remote_port == DNS_PORT) {
        sonde__base_text_str(&text, "a name server (DNS)");
    }
    if (socket->peer_inode == 0) {
        if (socket->peer_doubt[0] != '\0') {
            cause_put(&text, "%sthe peer is not known: %s", text.length != 0 ? ", " : "",
                      socket->peer_doubt);
        }
        return;
    }
    holders = cause_find_holders(look->causes, SONDE__HOST_FD_SOCKET, socket->peer_inode);
    sonde__base_text_str(&text, text.length != 0 ? ", peer " : "peer ");
    for (size_t i = 0; i < holders.count; i++) {
        if (holders.list[i].pid != last) {
            last = holders.list[i].pid;
            processes++;
        }
    }
    if (processes == 0) {
        sonde__base_text_str(&text, "not known");
    } else if (holders.list[0].pid == look->causes->pid && processes == 1) {
        sonde__base_text_str(&text, "this process itself");
    } else {
        bool own_first = holders.list[0].pid == look->causes->pid;
        cause_put_processes(&text, own_first ? last : holders.list[0].pid, processes);
    }
    cause->owner_pid = processes == 1 && holders.certain ? holders.list[0].pid : 0;
    cause_put_doubt(&text, &holders);
}

/* A connecting socket has no address in the kernel's lists yet if it is a Unix socket, or if the
 * listener's queue is full. Then the address is read from the call's argument. */
bool cause_look_connect(struct cause_look *look)
{
    uint8_t address[ADDRESS_BYTES_MAX];
    struct sonde__host_fd what;
    struct sonde__host_socket socket, now;
    size_t size = look->args[2] < sizeof address ? (size_t)look->args[2] : sizeof address;
    if (strcmp(look->call, "connect") != 0 ||
        cause_read(look, look->args[1], address, size) != size ||
        !sonde__host_socket_address(look->causes->pid, look->tid, address, size, &socket)) {
        return false;
    }
    sonde__host_fd_read(look->causes->pid, look->tid, (int32_t)look->args[0], &what);
    if (what.kind != SONDE__HOST_FD_SOCKET) {
        return false;
    }
    if (sonde__host_socket_read(look->causes->pid, look->tid, what.inode, false, &now) &&
        now.remote[0] != '\0') {
        return false; /* as any other socket */
    }
    struct sonde__text text = cause_resource(look->cause);
    look->cause->kind = SONDE__CAUSE_SOCKET;
    cause_put(&text, "fd %d%s", (int32_t)look->args[0],
              socket.kind[0] != '\0' ? " unix to " : " socket to ");
    cause_put_address(&text, socket.remote);
    socket.state = SONDE__HOST_SOCKET_CONNECTS;
    cause_describe_socket(look, &socket);
    return true;
}
