// SPDX-License-Identifier: Apache-2.0
#include "address.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct range {
    uint8_t bytes[16];
    uint8_t bits; /* of the prefix */
};

static bool is_in(const struct range *ranges, size_t count, const uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        unsigned whole = ranges[i].bits / 8, rest = ranges[i].bits % 8;
        unsigned mask = 0xff00u >> rest & 0xff;
        if (memcmp(ranges[i].bytes, bytes, whole) == 0 &&
            (rest == 0 || (bytes[whole] & mask) == ranges[i].bytes[whole])) {
            return true;
        }
    }
    return false;
}

#define IS_IN(ranges, bytes) is_in(ranges, sizeof(ranges) / sizeof *(ranges), bytes)

/* Link, multicast and broadcast. */
static const struct range never4[] = {{{169, 254}, 16}, {{224}, 4}, {{255, 255, 255, 255}, 32}};
static const struct range never6[] = {{{0xfe, 0x80}, 10}, {{0xff}, 8}};
/* The IANA registries of special-purpose addresses: those that are not globally reachable. */
static const struct range special4[] = {{{0}, 8},
                                        {{10}, 8},
                                        {{100, 64}, 10},
                                        {{127}, 8},
                                        {{172, 16}, 12},
                                        {{192, 0, 0}, 24},
                                        {{192, 0, 2}, 24},
                                        {{192, 168}, 16},
                                        {{198, 18}, 15},
                                        {{198, 51, 100}, 24},
                                        {{203, 0, 113}, 24},
                                        {{240}, 4}};
static const struct range global6[] = {{{0x20}, 3}};
static const struct range special6[] = {{{0x20, 0x01}, 23}, {{0x20, 0x01, 0x0d, 0xb8}, 32}};
/* IPv4 in IPv6: mapped, compatible and by NAT64; by 6to4 it is behind the first two bytes. */
static const struct range mapped[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}, {{0}, 96}, {{0x00, 0x64, 0xff, 0x9b}, 96}};
static const struct range by_6to4[] = {{{0x20, 0x02}, 16}};

static bool may_4(const uint8_t *bytes, bool is_public_only)
{
    return !IS_IN(never4, bytes) && !(is_public_only && IS_IN(special4, bytes));
}

static bool may_6(const uint8_t *bytes, bool is_public_only)
{
    static const uint8_t loopback[16] = {[15] = 1};
    if (memcmp(bytes, loopback, sizeof loopback) == 0) {
        return !is_public_only;
    }
    if (IS_IN(mapped, bytes)) {
        return may_4(bytes + 12, is_public_only);
    }
    if (IS_IN(by_6to4, bytes)) {
        return may_4(bytes + 2, is_public_only);
    }
    return !IS_IN(never6, bytes) &&
           !(is_public_only && (!IS_IN(global6, bytes) || IS_IN(special6, bytes)));
}

bool address_may_be_sent_to(const struct sockaddr *address, bool is_public_only)
{
    union {
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } copy;
    uint8_t bytes[16];
    if (address->sa_family == AF_INET) {
        memcpy(&copy.four, address, sizeof copy.four);
        memcpy(bytes, &copy.four.sin_addr, 4);
        return may_4(bytes, is_public_only);
    }
    if (address->sa_family == AF_INET6) {
        memcpy(&copy.six, address, sizeof copy.six);
        memcpy(bytes, &copy.six.sin6_addr, 16);
        return may_6(bytes, is_public_only);
    }
    return false;
}
