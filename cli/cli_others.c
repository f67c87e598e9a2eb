// SPDX-License-Identifier: Apache-2.0
#include "cli_others.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base_text.h"
#include "host_file_port.h"

enum { OTHERS_MAX = 16, NAME_BYTES = 256 };

struct others {
    char names[OTHERS_MAX][NAME_BYTES];
    uint32_t count, more;
};

/* ".PID" or ".PID.N" */
static bool is_suffix(const char *text)
{
    for (unsigned n = 0; n < 2 && text[0] == '.'; n++) {
        size_t digits = strspn(text + 1, "0123456789");
        if (digits == 0 || digits > 10) {
            return false;
        }
        text += 1 + digits;
        if (text[0] == '\0') {
            return true;
        }
    }
    return false;
}

static bool is_newer(const char *path, uint64_t since_ns)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
           (uint64_t)sonde__host_modified_ns(&st) >= since_ns;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void find(const char *path, uint64_t since_ns, struct others *ret)
{
    const char *name = sonde__base_file_name(path);
    size_t length = strlen(name);
    char folder[4096], full[4096 + NAME_BYTES];
    snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path);
    DIR *dir = opendir(folder[0] != '\0' ? folder : ".");
    for (const struct dirent *item; dir != NULL && (item = readdir(dir)) != NULL;) {
        if (strncmp(item->d_name, name, length) != 0 || !is_suffix(item->d_name + length)) {
            continue;
        }
        snprintf(full, sizeof full, "%s%s", folder, item->d_name);
        if (!is_newer(full, since_ns)) {
            continue;
        }
        if (ret->count == OTHERS_MAX) {
            ret->more++;
        } else {
            snprintf(ret->names[ret->count++], NAME_BYTES, "%s", item->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    qsort(ret->names, ret->count, sizeof ret->names[0], by_name);
}

void sonde__cli_print_others(const struct sonde__cli_command *command, const char *path,
                             uint64_t since_ns)
{
    static struct others others;
    char text[OTHERS_MAX * 64];
    size_t used = 0;
    memset(&others, 0, sizeof others);
    if (strlen(path) < 4096) {
        find(path, since_ns, &others);
    }
    for (uint32_t i = 0; i < others.count && used < sizeof text; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "",
                                 others.names[i]);
    }
    if (others.more > 0 && used < sizeof text) {
        snprintf(text + used, sizeof text - used, " and %u more", (unsigned)others.more);
    }
    if (others.count > 0) {
        sonde__cli_error(command, "stalls of programs that this one executed or forked are in %s",
                         text);
    }
}
