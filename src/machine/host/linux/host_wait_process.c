// SPDX-License-Identifier: Apache-2.0
/* Reads children, threads and load from /proc. See host_wait.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_file.h"
#include "host_status.h"
#include "host_wait.h"

enum { TEXT_BYTES = 4096 };

static bool read_text(const char *path, char *text, size_t capacity, size_t *ret_size)
{
    enum sonde_status status = sonde__host_file_read(path, text, capacity, ret_size, NULL);
    return status == SONDE_OK || status == SONDE_LIMIT;
}

static bool read_of(int32_t pid, const char *name, char *text, size_t capacity, size_t *ret_size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return read_text(path, text, capacity, ret_size);
}

/* proc(5): fields of `stat` after the name; the first is field 3, the state. */
static bool stat_fields(const char *text, size_t size, uint64_t *ret_fields, unsigned count,
                        char *ret_state)
{
    const char *at = memrchr(text, ')', size);
    if (at == NULL || at[1] != ' ' || at[2] == '\0') {
        return false;
    }
    *ret_state = at[2];
    at += 3;
    for (unsigned i = 0; i < count; i++) {
        char *end;
        ret_fields[i] = strtoull(at, &end, 10);
        if (end == at) {
            return false;
        }
        at = end;
    }
    return true;
}

/* Is it a running child? Ended ones are left out: nobody waits long for them. */
static bool runs(int32_t pid, int32_t parent)
{
    char text[1024], state;
    uint64_t ppid;
    size_t size = 0;
    return read_of(pid, "stat", text, sizeof text, &size) &&
           stat_fields(text, size, &ppid, 1, &state) && (int32_t)ppid == parent && state != 'Z' &&
           state != 'X';
}

/* Without the kernel's lists of children (CONFIG_PROC_CHILDREN): search all processes. */
static size_t search_children(int32_t parent, int32_t *pids, size_t capacity)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    size_t count = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        int32_t pid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && runs(pid, parent)) {
            if (count < capacity) {
                pids[count] = pid;
            }
            count++;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

size_t sonde__host_children_read(int32_t pid, int32_t *ret_pids, size_t capacity)
{
    char path[64], text[TEXT_BYTES];
    size_t count = 0, size = 0;
    bool any = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        int tid = (int)strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, tid);
        if (tid <= 0 || !read_text(path, text, sizeof text, &size)) {
            continue;
        }
        any = true;
        char *at = text, *end;
        for (long child = strtol(at, &end, 10); end != at; child = strtol(at, &end, 10)) {
            if (child > 0 && runs((int32_t)child, pid)) {
                if (count < capacity) {
                    ret_pids[count] = (int32_t)child;
                }
                count++;
            }
            at = end;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return any ? count : search_children(pid, ret_pids, capacity);
}

/* Join arguments into one line, and quote those with a space. What does not fit is cut. Returns the
 * bytes. */
static size_t join_arguments(char *text, size_t size, size_t capacity)
{
    char from[1024];
    size_t used = 0, at = 0;
    size = size < sizeof from ? size : sizeof from;
    memcpy(from, text, size);
    while (at < size && used + 1 < capacity) {
        size_t length = strnlen(from + at, size - at);
        bool quoted = memchr(from + at, ' ', length) != NULL;
        int n = snprintf(text + used, capacity - used, "%s%s%.*s%s", used > 0 ? " " : "",
                         quoted ? "'" : "", (int)length, from + at, quoted ? "'" : "");
        used += n > 0 ? (size_t)n : 0;
        at += length + 1;
    }
    used = used < capacity ? used : capacity - 1;
    text[used] = '\0';
    return used;
}

bool sonde__host_command_read(int32_t pid, char *ret_text, size_t capacity)
{
    size_t size = 0;
    char name[64];
    ret_text[0] = '\0';
    if (!read_of(pid, "cmdline", ret_text, capacity, &size)) {
        return false;
    }
    while (size > 0 && ret_text[size - 1] == '\0') {
        size--;
    }
    size = join_arguments(ret_text, size, capacity);
    if (size == 0 && read_of(pid, "comm", name, sizeof name, &size)) {
        snprintf(ret_text, capacity, "[%.*s]", (int)strcspn(name, "\n"), name);
    }
    return true;
}

int32_t sonde__host_thread_process(uint64_t tid)
{
    char text[SONDE__HOST_STATUS_BYTES];
    size_t size = 0;
    return tid <= INT32_MAX && read_of((int32_t)tid, "status", text, sizeof text, &size)
               ? (int32_t)sonde__host_status_field(text, "\nTgid:\t")
               : 0;
}

bool sonde__host_has_thread(int32_t pid, uint64_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%llu", (int)pid, (unsigned long long)tid);
    return tid != 0 && access(path, F_OK) == 0;
}

uint64_t sonde__host_thread_of_inner(int32_t pid, uint64_t inner)
{
    char path[64], text[SONDE__HOST_STATUS_BYTES];
    struct dirent *entry;
    uint64_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    while (folder != NULL && found == 0 && (entry = readdir(folder)) != NULL) {
        uint64_t tid = strtoull(entry->d_name, NULL, 10);
        if (tid == 0 || !sonde__host_read_status(pid, tid, text)) {
            continue;
        }
        /* one pid for each namespace, the innermost last */
        char *line = strstr(text, "\nNSpid:\t");
        if (line != NULL) {
            line[1 + strcspn(line + 1, "\n")] = '\0';
            found = strtoull(strrchr(line, '\t'), NULL, 10) == inner ? tid : 0;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

void sonde__host_wait_channel(int32_t pid, uint64_t tid, char *ret_text, size_t capacity)
{
    char path[64];
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%llu/wchan", (int)pid, (unsigned long long)tid);
    if (!read_text(path, ret_text, capacity, &size) || strcmp(ret_text, "0") == 0) {
        ret_text[0] = '\0';
    }
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234": microseconds. */
static bool read_pressure(struct sonde__host_file_kept *kept, const char *path, uint64_t *ret_ns)
{
    char text[256];
    if (sonde__host_file_read_kept(kept, path, text, sizeof text) == 0) {
        return false;
    }
    const char *total = strncmp(text, "some ", 5) == 0 ? strstr(text, "total=") : NULL;
    *ret_ns = total != NULL ? strtoull(total + 6, NULL, 10) * 1000 : 0;
    return total != NULL;
}

void sonde__host_load_close(struct sonde__host_load_files *files)
{
    sonde__host_file_drop(&files->cpu);
    sonde__host_file_drop(&files->memory);
    sonde__host_file_drop(&files->io);
}

bool sonde__host_load_read(int32_t pid, uint64_t tid, struct sonde__host_load_files *files,
                           struct sonde__host_load *ret_load)
{
    /* fields from the fourth on: minflt is the tenth, majflt the twelfth */
    enum { FIELDS = 9, MINOR = 6, MAJOR = 8 };
    struct sonde__host_load load = {0};
    uint64_t fields[FIELDS];
    char path[64], text[1024], state;
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%llu/stat", (int)pid, (unsigned long long)tid);
    if (!read_text(path, text, sizeof text, &size) ||
        !stat_fields(text, size, fields, FIELDS, &state)) {
        return false;
    }
    load.minor_faults = fields[MINOR];
    load.major_faults = fields[MAJOR];
    struct sonde__host_load_files own = {0};
    struct sonde__host_load_files *from = files != NULL ? files : &own;
    load.has_pressure =
        read_pressure(&from->cpu, "/proc/pressure/cpu", &load.cpu_pressure_ns) &&
        read_pressure(&from->memory, "/proc/pressure/memory", &load.memory_pressure_ns) &&
        read_pressure(&from->io, "/proc/pressure/io", &load.io_pressure_ns);
    sonde__host_load_close(&own);
    *ret_load = load;
    return true;
}
