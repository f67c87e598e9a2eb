// SPDX-License-Identifier: Apache-2.0
#include "when_address.h"

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base_mem.h"
#include "os.h"
#include "when.h"

static void take_ip4(struct sonde__when_address *address, const struct sockaddr_in *in)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    sonde__base_mem_copy(address->ip, mapped, sizeof mapped);
    sonde__base_mem_copy(address->ip + sizeof mapped, &in->sin_addr, 4);
    address->port = ntohs(in->sin_port);
    address->has_ip = true;
}

static void take_ip6(struct sonde__when_address *address, const struct sockaddr_in6 *in)
{
    sonde__base_mem_copy(address->ip, &in->sin6_addr, sizeof address->ip);
    address->port = ntohs(in->sin6_port);
    address->has_ip = true;
}

/* Where a message has its address. */
static bool find_in_message(uint64_t *at, uint64_t *size)
{
    struct msghdr message;
    if (sonde__os_read(*at, &message, sizeof message) != sizeof message) {
        return false;
    }
    *at = (uint64_t)(uintptr_t)message.msg_name;
    *size = message.msg_namelen;
    return true;
}

enum sonde__when_found sonde__when_address(uint64_t at, uint64_t size, bool is_message,
                                           struct sonde__when_address *ret_address)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } bytes;
    if (is_message && at != 0 && !find_in_message(&at, &size)) {
        return SONDE__WHEN_UNREADABLE;
    }
    uint32_t want = (uint32_t)size; /* a socklen_t */
    if (at == 0 || want == 0) {
        return SONDE__WHEN_NO_ADDRESS;
    }
    want = want < sizeof bytes ? want : (uint32_t)sizeof bytes;
    if (want < offsetof(struct sockaddr, sa_data) || sonde__os_read(at, &bytes, want) != want) {
        return SONDE__WHEN_UNREADABLE;
    }
    *ret_address = (struct sonde__when_address){
        .family = bytes.any.sa_family, .at = at, .size = (uint32_t)size};
    bool is_ip4 = ret_address->family == AF_INET, is_ip6 = ret_address->family == AF_INET6;
    if ((is_ip4 && want < offsetof(struct sockaddr_in, sin_zero)) ||
        (is_ip6 && want < offsetof(struct sockaddr_in6, sin6_scope_id))) {
        return SONDE__WHEN_UNREADABLE;
    }
    if (is_ip4) {
        take_ip4(ret_address, &bytes.in);
    } else if (is_ip6) {
        take_ip6(ret_address, &bytes.in6);
    }
    return SONDE__WHEN_FOUND;
}

bool sonde__when_in_net(const struct sonde__when_address *address, const uint8_t *net)
{
    unsigned bits = net[0], i = 0;
    if (!address->has_ip || (bits < SONDE__WHEN_MAPPED_BITS && address->family != AF_INET6)) {
        return false;
    }
    for (; i < bits / 8 && i < 16; i++) {
        if (address->ip[i] != net[1 + i]) {
            return false;
        }
    }
    unsigned rest = i < 16 ? bits % 8 : 0;
    return rest == 0 || ((address->ip[i] ^ net[1 + i]) >> (8 - rest)) == 0;
}
