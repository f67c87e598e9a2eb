// SPDX-License-Identifier: Apache-2.0
#include "spool_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host_folder.h"
#include "host_self.h"
#include "mem_heap.h"

#define NS_PER_S 1000000000u

/* More than any cap allows: the folder is damaged, or not only ours. */
#define RUNS_MAX 65536u

bool sonde__spool_own_folder(char ret_path[SONDE__SPOOL_PATH])
{
    const char *below = "";
    const char *base = sonde__host_state_folder(&below);
    if (base == NULL) {
        return false;
    }
    int size = snprintf(ret_path, SONDE__SPOOL_PATH, "%s%s/sonde/spool", base, below);
    return size > 0 && (unsigned)size < SONDE__SPOOL_PATH;
}

void sonde__spool_run_name(uint64_t unix_ns, int32_t pid, unsigned n,
                           char ret_name[SONDE__SPOOL_NAME])
{
    time_t seconds = (time_t)(unix_ns / NS_PER_S);
    struct tm utc;
    char again[16] = "";
    if (gmtime_r(&seconds, &utc) == NULL) {
        memset(&utc, 0, sizeof utc);
    }
    if (n > 1) {
        snprintf(again, sizeof again, "-%u", n);
    }
    snprintf(ret_name, SONDE__SPOOL_NAME, "%04u%02u%02uT%02u%02u%02uZ-%d%s",
             (unsigned)(utc.tm_year + 1900) % 10000u, (unsigned)(utc.tm_mon + 1) % 100u,
             (unsigned)utc.tm_mday % 100u, (unsigned)utc.tm_hour % 100u,
             (unsigned)utc.tm_min % 100u, (unsigned)utc.tm_sec % 100u, (int)pid, again);
}

bool sonde__spool_is_run(const char *name, const char *suffix, char ret_run[SONDE__SPOOL_NAME])
{
    static const char form[] = "00000000T000000Z-";
    size_t length = strlen(name), end = strlen(suffix);
    if (length >= SONDE__SPOOL_NAME || length < sizeof form + end ||
        strcmp(name + length - end, suffix) != 0) {
        return false;
    }
    for (size_t i = 0; i < length - end; i++) {
        char wanted = i < sizeof form - 1 ? form[i] : '0';
        bool is_digit = name[i] >= '0' && name[i] <= '9';
        bool is_dash = i >= sizeof form && name[i] == '-';
        if (wanted == '0' ? !is_digit && !is_dash : name[i] != wanted) {
            return false;
        }
    }
    if (ret_run != NULL) {
        memcpy(ret_run, name, length - end);
        ret_run[length - end] = '\0';
    }
    return true;
}

void sonde__spool_file_name(const char *run, const char *suffix, char ret_name[SONDE__SPOOL_NAME])
{
    snprintf(ret_name, SONDE__SPOOL_NAME, "%s%s", run, suffix);
}

struct search {
    const char *suffix;
    struct sonde__spool_runs runs;
    bool failed;
};

static int add_run(void *ctx, const char *name)
{
    struct search *search = ctx;
    struct sonde__spool_runs *runs = &search->runs;
    char run[SONDE__SPOOL_NAME];
    if (!sonde__spool_is_run(name, search->suffix, run)) {
        return 0;
    }
    if (runs->count == RUNS_MAX ||
        !sonde__mem_grow(&runs->names, runs->count, &runs->capacity, sizeof *runs->names)) {
        search->failed = true;
        return 1;
    }
    memcpy(runs->names[runs->count++], run, sizeof run);
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

enum sonde_status sonde__spool_find_runs(int32_t folder, const char *suffix,
                                         struct sonde__spool_runs *ret_runs)
{
    struct search search = {.suffix = suffix};
    int reason = sonde__host_folder_each(folder, add_run, &search);
    if (reason != 0 || search.failed) {
        sonde__mem_free(search.runs.names);
        return reason != 0 ? SONDE_OS : SONDE_MEMORY;
    }
    if (search.runs.count > 1) {
        qsort(search.runs.names, search.runs.count, sizeof *search.runs.names, compare);
    }
    *ret_runs = search.runs;
    return SONDE_OK;
}
