// SPDX-License-Identifier: Apache-2.0
/* Addresses of sockets as arguments of calls. Context: handler. */
#ifndef SONDE_WHEN_ADDRESS_H
#define SONDE_WHEN_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct sonde__when_address {
    uint16_t family;
    bool has_ip; /* the rest is known: the family is AF_INET or AF_INET6 */
    uint16_t port;
    uint8_t ip[16]; /* that of IPv4 is mapped: ::ffff:192.0.2.1 */
    uint64_t at;    /* the struct sockaddr, and its size */
    uint32_t size;
};

enum sonde__when_found {
    SONDE__WHEN_FOUND,
    SONDE__WHEN_NO_ADDRESS, /* the call has none: a null pointer, or no size */
    SONDE__WHEN_UNREADABLE, /* or too short */
};

/* at: of the address (is_message: of a struct msghdr that has it, and its size). */
enum sonde__when_found sonde__when_address(uint64_t at, uint64_t size, bool is_message,
                                           struct sonde__when_address *ret_address);

/* net: SONDE__WHEN_NET_BYTES */
bool sonde__when_in_net(const struct sonde__when_address *address, const uint8_t *net);

#endif
