// SPDX-License-Identifier: Apache-2.0
#include "cli_others.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base_text.h"
#include "host_file_port.h"
#include "report_read.h"

enum { OTHERS_MAX = 16, NAME_BYTES = 256 };

struct others {
    char names[OTHERS_MAX][NAME_BYTES];
    uint32_t count, more;
};

/* The PID of ".PID" or ".PID.N"; 0: another suffix. */
static int32_t pid_of(const char *suffix)
{
    int32_t pid = suffix[0] == '.' ? (int32_t)strtol(suffix + 1, NULL, 10) : 0;
    for (unsigned n = 0; n < 2 && suffix[0] == '.'; n++) {
        size_t digits = strspn(suffix + 1, "0123456789");
        if (digits == 0 || digits > 9) {
            return 0;
        }
        suffix += 1 + digits;
    }
    return suffix[0] == '\0' ? pid : 0;
}

static bool is_newer(const char *path, uint64_t since_ns)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
           (uint64_t)sonde__host_modified_ns(&st) >= since_ns;
}

/* Is it the report of this process? Users give such names to reports of other programs, too. */
static bool is_of(const char *path, int32_t pid)
{
    static uint8_t bytes[SONDE__REPORT_BEGIN_BYTES];
    struct sonde__report *report;
    FILE *file = fopen(path, "rb");
    size_t size = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    if (sonde__report_read(bytes, size, &report, NULL, NULL) != SONDE_OK) {
        return false;
    }
    bool is_same = sonde__report_header(report)->kind == SONDE__REPORT_WATCH &&
                   sonde__report_header(report)->pid == pid;
    sonde__report_destroy(report);
    return is_same;
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
        int32_t pid = strncmp(item->d_name, name, length) == 0 ? pid_of(item->d_name + length) : 0;
        snprintf(full, sizeof full, "%s%s", folder, item->d_name);
        if (pid == 0 || !is_newer(full, since_ns) || !is_of(full, pid)) {
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
