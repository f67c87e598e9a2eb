// SPDX-License-Identifier: Apache-2.0
#include "cli_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "report_utf8.h"

enum { PATH_BYTES = 4096 };

static int fail(const struct sonde__cli_command *command, const char *path, int reason)
{
    sonde__cli_error(command, "%s: %s", path, strerror(reason));
    switch (reason) {
    case ENOENT:
    case ENOTDIR:
        return SONDE__CLI_ABSENT;
    case EACCES:
    case EPERM:
    case EROFS:
        return SONDE__CLI_DENIED;
    default:
        return SONDE__CLI_FAILED;
    }
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? errno : EIO;
        }
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

int sonde__cli_replace_file(const char *path, const void *data, size_t size, unsigned permissions)
{
    char beside[PATH_BYTES];
    int length = snprintf(beside, sizeof beside, "%s.%ld.part", path, (long)getpid());
    int fd, reason;
    if (length < 0 || (size_t)length >= sizeof beside) {
        return ENAMETOOLONG;
    }
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    if (fd < 0) {
        return errno;
    }
    reason = write_all(fd, data, size);
    if (close(fd) != 0 && reason == 0) {
        reason = errno;
    }
    if (reason == 0 && rename(beside, path) != 0) {
        reason = errno;
    }
    if (reason != 0) {
        unlink(beside);
    }
    return reason;
}

int sonde__cli_write_file(const struct sonde__cli_command *command, const char *path,
                          const void *data, size_t size)
{
    int reason = sonde__cli_replace_file(path, data, size, 0666);
    return reason != 0 ? fail(command, path, reason) : SONDE__CLI_OK;
}

void sonde__cli_print_json_string(FILE *out, const char *text)
{
    size_t left = strlen(text);
    putc('"', out);
    while (left > 0) {
        unsigned size = sonde__report_utf8_sequence(text, left);
        if (size == 0) {
            fputs("\\ufffd", out);
            size = 1;
        } else if (*text == '"' || *text == '\\') {
            fprintf(out, "\\%c", *text);
        } else if ((unsigned char)*text < 0x20) {
            fprintf(out, "\\u%04x", (unsigned char)*text);
        } else {
            fwrite(text, 1, size, out);
        }
        text += size;
        left -= size;
    }
    putc('"', out);
}

void sonde__cli_print_visible(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f) {
            fprintf(out, "\\x%02x", c);
        } else {
            putc(c, out);
        }
    }
}
