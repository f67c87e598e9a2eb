// SPDX-License-Identifier: Apache-2.0
/* Which clients are too slow, in virtual time. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_slow.h"
#include "test.h"

#define SECOND_NS ((uint64_t)1000000000u)

static bool is_shut(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
    CHECK(got == 0 || errno == EAGAIN);
    return got == 0;
}

TEST(client_has_a_time_and_more_for_its_bytes)
{
    int ends[2], others[2];
    struct slow *slow = slow_begin(10, 5);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 &&
          socketpair(AF_UNIX, SOCK_STREAM, 0, others) == 0);
    struct slow_client *client = slow_add(slow, ends[0]), *other = slow_add(slow, others[0]);
    uint64_t from_ns = client->since_ns;
    other->bytes = UINT64_C(409600);
    CHECK_EQ(slow_look(slow, from_ns + 15 * SECOND_NS), 0);
    CHECK_EQ(slow_look(slow, from_ns - SECOND_NS), 0);
    client->is_asked = true; /* the answer takes long: not its fault */
    CHECK_EQ(slow_look(slow, from_ns + 16 * SECOND_NS), 0);
    client->is_asked = false;
    CHECK_EQ(slow_look(slow, from_ns + 16 * SECOND_NS), 1);
    CHECK(is_shut(ends[1]) && !is_shut(others[1]));
    slow_remove(slow, client);
    CHECK_EQ(slow_look(slow, from_ns + 114 * SECOND_NS), 0);
    CHECK_EQ(slow_look(slow, from_ns + 120 * SECOND_NS), 1);
    CHECK(is_shut(others[1]));
    slow_remove(slow, other);
    slow_end(slow);
    for (unsigned i = 0; i < 2; i++) {
        close(ends[i]);
        close(others[i]);
    }
}
