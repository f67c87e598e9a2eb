// SPDX-License-Identifier: Apache-2.0
#include "remote.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

enum {
    READ_MAX = 1920,     /* qemu takes packets of 4096 characters */
    CONNECT_TRIES = 2000 /* of 10 ms */
};

void remote_open(struct remote *remote, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timespec pause = {0, 10 * 1000 * 1000};
    CHECK(strlen(path) < sizeof address.sun_path);
    strcpy(address.sun_path, path);
    remote->in_size = 0;
    remote->answered = false;
    for (unsigned i = 0; i < CONNECT_TRIES; i++) {
        remote->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(remote->fd >= 0);
        if (connect(remote->fd, (struct sockaddr *)&address, sizeof address) == 0) {
            return;
        }
        (void)close(remote->fd);
        (void)nanosleep(&pause, NULL);
    }
    FAIL("nobody listens at %s", path);
}

void remote_close(struct remote *remote)
{
    (void)close(remote->fd);
}

/* $packet#checksum, behind the acknowledgement of the last answer. */
static bool send_packet(struct remote *remote, const char *packet)
{
    char out[512];
    unsigned sum = 0;
    for (const char *c = packet; *c != 0; c++) {
        sum += (unsigned char)*c;
    }
    int size =
        snprintf(out, sizeof out, "%s$%s#%02x", remote->answered ? "+" : "", packet, sum & 255);
    remote->answered = true;
    CHECK(size > 0 && (size_t)size < sizeof out);
    return send(remote->fd, out, (size_t)size, MSG_NOSIGNAL) == size;
}

bool remote_ask(struct remote *remote, const char *packet, char *ret_answer, size_t size)
{
    if (!send_packet(remote, packet)) {
        return false;
    }
    for (;;) {
        char *start = memchr(remote->in, '$', remote->in_size);
        char *end = start != NULL
                        ? memchr(start, '#', remote->in_size - (size_t)(start - remote->in))
                        : NULL;
        if (end != NULL && (size_t)(end + 3 - remote->in) <= remote->in_size) {
            size_t length = (size_t)(end - start) - 1;
            CHECK(length < size);
            memcpy(ret_answer, start + 1, length);
            ret_answer[length] = 0;
            remote->in_size -= (size_t)(end + 3 - remote->in);
            memmove(remote->in, end + 3, remote->in_size);
            return true;
        }
        CHECK(remote->in_size < sizeof remote->in);
        ssize_t got =
            read(remote->fd, remote->in + remote->in_size, sizeof remote->in - remote->in_size);
        if (got <= 0) {
            return false;
        }
        remote->in_size += (size_t)got;
    }
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t remote_bytes(const char *text, void *ret_bytes, size_t size)
{
    uint8_t *bytes = ret_bytes;
    size_t count = 0;
    while (count < size && digit(text[0]) >= 0 && digit(text[1]) >= 0) {
        bytes[count++] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
        text += 2;
    }
    return count;
}

size_t remote_read(struct remote *remote, uint64_t address, void *ret_bytes, size_t size)
{
    static char answer[2 * READ_MAX + 16];
    char packet[64];
    size_t done = 0;
    while (done < size) {
        size_t part = size - done < READ_MAX ? size - done : READ_MAX;
        snprintf(packet, sizeof packet, "m%llx,%zx", (unsigned long long)(address + done), part);
        if (!remote_ask(remote, packet, answer, sizeof answer) || answer[0] == 'E') {
            break;
        }
        size_t got = remote_bytes(answer, (char *)ret_bytes + done, part);
        done += got;
        if (got < part) {
            break;
        }
    }
    return done;
}
