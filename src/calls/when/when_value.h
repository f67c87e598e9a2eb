// SPDX-License-Identifier: Apache-2.0
/* Values of arguments that a rule keeps, as bytes: equal values have equal bytes. */
#ifndef SONDE_WHEN_VALUE_H
#define SONDE_WHEN_VALUE_H

#include <stddef.h>

#include "when.h"

enum { SONDE__WHEN_VALUE = 240 }; /* bytes of a value */

/* The first byte. */
enum sonde__when_value {
    SONDE__WHEN_VALUE_NUMBER,  /* 8 bytes: a signed number; of an argument with a mask of 64 bits,
                                  one without sign */
    SONDE__WHEN_VALUE_TEXT,    /* also a path */
    SONDE__WHEN_VALUE_CUT,     /* a text that is longer */
    SONDE__WHEN_VALUE_ADDRESS, /* of IPv4 or IPv6: 16 bytes (when_address.h), 2 of the port */
    SONDE__WHEN_VALUE_SOCKET,  /* the path of a socket; abstract ones begin with a zero byte */
    SONDE__WHEN_VALUE_FAMILY,  /* 2 bytes: another address */
    SONDE__WHEN_VALUE_NONE,    /* nothing follows: a null pointer, or no address */
    SONDE__WHEN_VALUE_UNREAD,  /* nothing follows: it could not be read */
};

/* The value of an argument for a keep of a checked condition. Returns its size. Context: handler */
size_t sonde__when_value(const struct sonde__when_node *keep,
                         const uint64_t arguments[SONDE__WHEN_ARGUMENTS],
                         uint8_t ret_value[SONDE__WHEN_VALUE]);

#endif
