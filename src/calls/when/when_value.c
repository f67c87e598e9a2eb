// SPDX-License-Identifier: Apache-2.0
#include "when_value.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base_mem.h"
#include "os.h"
#include "when_address.h"
#include "when_text.h"

enum { PATH_AT = offsetof(struct sockaddr_un, sun_path) };

static size_t put(uint8_t *value, enum sonde__when_value kind, const void *bytes, size_t size)
{
    value[0] = (uint8_t)kind;
    if (size != 0) {
        sonde__base_mem_copy(value + 1, bytes, size);
    }
    return size + 1;
}

static size_t put_number(uint8_t *value, uint64_t number)
{
    return put(value, SONDE__WHEN_VALUE_NUMBER, &number, sizeof number);
}

static __attribute__((noinline)) size_t put_text(const struct sonde__when_node *keep,
                                                 const uint64_t *arguments, uint8_t *value)
{
    char text[2 * SONDE__WHEN_STRING];
    uint64_t at = arguments[keep->argument];
    int32_t folder = keep->other != SONDE__WHEN_NONE ? (int32_t)arguments[keep->other] : AT_FDCWD;
    enum sonde__when_result state = keep->test == SONDE__WHEN_GLOB
                                        ? sonde__when_text(at, text)
                                        : sonde__when_path(at, folder, text, sizeof text);
    size_t size = 0;
    if (state != SONDE__WHEN_YES) {
        return put(value,
                   state == SONDE__WHEN_NO ? SONDE__WHEN_VALUE_NONE : SONDE__WHEN_VALUE_UNREAD,
                   NULL, 0);
    }
    while (text[size] != '\0' && size < SONDE__WHEN_VALUE - 1) {
        size++;
    }
    return put(value, text[size] != '\0' ? SONDE__WHEN_VALUE_CUT : SONDE__WHEN_VALUE_TEXT, text,
               size);
}

/* at, size: of the struct sockaddr_un. */
static size_t put_socket(uint64_t at, uint32_t size, uint8_t *value)
{
    char path[sizeof(struct sockaddr_un) - PATH_AT];
    size_t want = size > PATH_AT ? size - PATH_AT : 0, end = 1;
    want = want < sizeof path ? want : sizeof path;
    if (sonde__os_read(at + PATH_AT, path, want) != want) {
        return put(value, SONDE__WHEN_VALUE_UNREAD, NULL, 0);
    }
    while (end < want && (path[0] == '\0' || path[end] != '\0')) {
        end++;
    }
    return put(value, SONDE__WHEN_VALUE_SOCKET, path, want != 0 ? end : 0);
}

static size_t put_address(const struct sonde__when_node *keep, const uint64_t *arguments,
                          uint8_t *value)
{
    struct sonde__when_address address;
    uint64_t size = keep->other != SONDE__WHEN_NONE ? arguments[keep->other] : 0;
    switch (sonde__when_address(arguments[keep->argument], size,
                                (keep->flags & SONDE__WHEN_MESSAGE) != 0, &address)) {
    case SONDE__WHEN_NO_ADDRESS:
        return put(value, SONDE__WHEN_VALUE_NONE, NULL, 0);
    case SONDE__WHEN_UNREADABLE:
        return put(value, SONDE__WHEN_VALUE_UNREAD, NULL, 0);
    default:
        break;
    }
    if ((keep->flags & SONDE__WHEN_FAMILY) != 0) {
        return put_number(value, address.family);
    }
    if ((keep->flags & SONDE__WHEN_PORT) != 0) {
        return address.has_ip ? put_number(value, address.port)
                              : put(value, SONDE__WHEN_VALUE_NONE, NULL, 0);
    }
    if (address.family == AF_UNIX) {
        return put_socket(address.at, address.size, value);
    }
    if (!address.has_ip) {
        return put(value, SONDE__WHEN_VALUE_FAMILY, &address.family, sizeof address.family);
    }
    sonde__base_mem_copy(value + 1 + sizeof address.ip, &address.port, sizeof address.port);
    return put(value, SONDE__WHEN_VALUE_ADDRESS, address.ip, sizeof address.ip) +
           sizeof address.port;
}

size_t sonde__when_value(const struct sonde__when_node *keep,
                         const uint64_t arguments[SONDE__WHEN_ARGUMENTS],
                         uint8_t ret_value[SONDE__WHEN_VALUE])
{
    if (keep->test == SONDE__WHEN_GLOB || keep->test == SONDE__WHEN_PATH) {
        return put_text(keep, arguments, ret_value);
    }
    if (keep->test == SONDE__WHEN_NET ||
        (keep->flags & (SONDE__WHEN_FAMILY | SONDE__WHEN_PORT)) != 0) {
        return put_address(keep, arguments, ret_value);
    }
    uint64_t number = arguments[keep->argument];
    bool is_long = keep->mask > UINT32_MAX;
    return put_number(ret_value, is_long ? number : (uint64_t)(int64_t)(int32_t)(uint32_t)number);
}
