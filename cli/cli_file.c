// SPDX-License-Identifier: Apache-2.0
#include "cli_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "host_replace.h"
#include "report_utf8.h"

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

int sonde__cli_write_file(const struct sonde__cli_command *command, const char *path,
                          const void *data, size_t size)
{
    int reason = sonde__host_file_replace(path, data, size, 0666);
    return reason != 0 ? fail(command, path, reason) : SONDE__CLI_OK;
}

int sonde__cli_make_folder(const struct sonde__cli_command *command, const char *path)
{
    char part[4096];
    struct stat status;
    size_t size = strlen(path);
    if (size >= sizeof part) {
        return fail(command, path, ENAMETOOLONG);
    }
    for (size_t end = 1; end <= size; end++) {
        if (path[end] != '/' && end != size) {
            continue;
        }
        memcpy(part, path, end);
        part[end] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            return fail(command, part, errno);
        }
    }
    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
        return fail(command, path, ENOTDIR);
    }
    return SONDE__CLI_OK;
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

void sonde__cli_print_source(FILE *out, const char *file, uint32_t line)
{
    sonde__cli_print_visible(out, file);
    if (file[0] != '\0' && line != 0) {
        fprintf(out, ":%" PRIu32, line);
    }
}
