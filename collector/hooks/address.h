// SPDX-License-Identifier: Apache-2.0
/* To which addresses messages are sent. A pure function. Context: any thread. */
#ifndef SONDE_COLLECTOR_ADDRESS_H
#define SONDE_COLLECTOR_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* Never: addresses of the link, where clouds give their machines' secrets, and those of many. With
 * is_public_only neither: loopback, private networks, and all else that the registries of special
 * addresses (RFC 6890, IANA) do not call global. An IPv4 address in one of IPv6 counts as such. */
bool address_may_be_sent_to(const struct sockaddr *address, bool is_public_only);

#endif
