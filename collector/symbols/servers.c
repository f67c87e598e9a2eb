// SPDX-License-Identifier: Apache-2.0
#include "servers.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What is behind "http://" or "https://"; null: it is no such address. */
static const char *rest_of(const char *url)
{
    return strncmp(url, "https://", 8) == 0  ? url + 8
           : strncmp(url, "http://", 7) == 0 ? url + 7
                                             : NULL;
}

static const char *host_of(const char *url)
{
    const char *rest = rest_of(url);
    const char *end = rest + strcspn(rest, "/");
    for (const char *at = rest; at < end; at++) {
        rest = *at == '@' ? at + 1 : rest;
    }
    return rest;
}

static bool is_url(const char *url)
{
    if (rest_of(url) == NULL || strchr("/:", *host_of(url)) != NULL) { /* or it ends there */
        return false;
    }
    for (const char *at = url; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~' || strchr("\"<>\\^`{|}?#", *at) != NULL) {
            return false;
        }
    }
    return true;
}

const char *servers_parse(const char *text, struct servers *ret_servers)
{
    *ret_servers = (struct servers){.count = 0};
    for (size_t size; *(text += strspn(text, ", ")) != '\0'; text += size) {
        char *url = ret_servers->urls[ret_servers->count];
        size = strcspn(text, ", ");
        if (ret_servers->count == SERVERS_MAX) {
            return "more than 8 addresses";
        }
        if (size >= SERVERS_URL) {
            return "an address is too long";
        }
        snprintf(url, SERVERS_URL, "%.*s", (int)size, text);
        for (size_t end = size; end > 0 && url[end - 1] == '/';) {
            url[--end] = '\0';
        }
        if (!is_url(url)) {
            return "not addresses as https://host/path, with commas between them";
        }
        ret_servers->count++;
    }
    return NULL;
}

void servers_name(const struct servers *servers, uint32_t server, char ret_name[SERVERS_NAME])
{
    const char *host = host_of(servers->urls[server]);
    snprintf(ret_name, SERVERS_NAME, "%.*s", (int)strcspn(host, "/"), host);
}
