// SPDX-License-Identifier: Apache-2.0
#include "cli_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "host_replace.h"

int sonde__cli_write_file(const struct sonde__cli_command *command, const char *path,
                          const void *data, size_t size)
{
    int reason = sonde__host_file_replace(path, data, size, 0666);
    return reason != 0 ? sonde__cli_fail_os(command, path, reason) : SONDE__CLI_OK;
}

int sonde__cli_make_folder(const struct sonde__cli_command *command, const char *path)
{
    char part[4096];
    struct stat status;
    size_t size = strlen(path);
    if (size >= sizeof part) {
        return sonde__cli_fail_os(command, path, ENAMETOOLONG);
    }
    for (size_t end = 1; end <= size; end++) {
        if (path[end] != '/' && end != size) {
            continue;
        }
        memcpy(part, path, end);
        part[end] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            return sonde__cli_fail_os(command, part, errno);
        }
    }
    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
        return sonde__cli_fail_os(command, path, ENOTDIR);
    }
    return SONDE__CLI_OK;
}
