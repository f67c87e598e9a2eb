// SPDX-License-Identifier: Apache-2.0
/* The debuginfod servers that the collector may ask. Pure functions. Context: any thread. */
#ifndef SONDE_COLLECTOR_SERVERS_H
#define SONDE_COLLECTOR_SERVERS_H

#include <stdint.h>

enum { SERVERS_MAX = 8, SERVERS_URL = 512, SERVERS_NAME = 128 };

/* In the order in which they are asked. */
struct servers {
    char urls[SERVERS_MAX][SERVERS_URL]; /* without a "/" at the end; may have a password */
    uint32_t count;
};

/* Addresses with commas or spaces between them; none is allowed. Only http and https, without a
 * query or a fragment. Returns null, or what is wrong (static text). */
const char *servers_parse(const char *text, struct servers *ret_servers);
/* For the log: host and port only. */
void servers_name(const struct servers *servers, uint32_t server, char ret_name[SERVERS_NAME]);

#endif
