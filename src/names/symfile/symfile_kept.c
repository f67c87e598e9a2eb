// SPDX-License-Identifier: Apache-2.0
#include "symfile_kept.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base_text.h"
#include "breakpad.h"
#include "host_folder.h"
#include "host_replace.h"
#include "host_self.h"

/* Shorter ids were set by hand instead of computed from the contents. */
enum { BUILD_ID_BYTES_MIN = 8 };

/* Enough for some hundred large programs. Bounds the cache if a program is rebuilt every minute. */
#define KEPT_BYTES_MAX ((uint64_t)2 << 30)
/* The time of a file in constant use is updated once a day. */
#define USED_AGE_S ((time_t)24 * 3600)

bool symfile_cache_file(const char *name, char *ret_path)
{
    const char *below = "/.cache";
    const char *base = sonde__host_own_folder("XDG_CACHE_HOME", &below);
    if (base == NULL) {
        return false;
    }
    int size = snprintf(ret_path, SONDE__SYMFILE_KEPT_PATH, "%s%s/%s", base, below, name);
    return size > 0 && size < SONDE__SYMFILE_KEPT_PATH;
}

bool sonde__symfile_kept_path(const struct sonde__build_id *id, char *ret_path)
{
    char text[SONDE__SYMFILE_ID_TEXT];
    char name[sizeof text + 32];
    if (id->size < BUILD_ID_BYTES_MIN) {
        return false;
    }
    sonde__symfile_id_text(id, text);
    snprintf(name, sizeof name, "sonde/index/%s.sndidx", text);
    return symfile_cache_file(name, ret_path);
}

/* --- least recently used files --- */

static bool is_index(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && strcmp(dot, ".sndidx") == 0;
}

struct folder_scan {
    uint64_t bytes;
    char oldest[256];
    time_t oldest_used;
};

static bool scan_folder(DIR *folder, struct folder_scan *ret_scan)
{
    const struct dirent *item;
    struct stat st;
    *ret_scan = (struct folder_scan){0};
    rewinddir(folder);
    while ((item = readdir(folder)) != NULL) {
        bool unfinished = sonde__host_may_be_unfinished(item->d_name);
        if ((!unfinished && !is_index(item->d_name)) ||
            (unfinished && sonde__host_remove_unfinished(dirfd(folder), item->d_name)) ||
            fstatat(dirfd(folder), item->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        ret_scan->bytes += (uint64_t)st.st_size;
        if (unfinished) {
            continue; /* another process is writing it */
        }
        if (ret_scan->oldest[0] == '\0' || st.st_atime < ret_scan->oldest_used) {
            snprintf(ret_scan->oldest, sizeof ret_scan->oldest, "%s", item->d_name);
            ret_scan->oldest_used = st.st_atime;
        }
    }
    return ret_scan->oldest[0] != '\0';
}

/* Make room for another file. `path` stays. */
static void make_room(const char *path, uint64_t size)
{
    char name[SONDE__SYMFILE_KEPT_PATH];
    struct folder_scan scan;
    DIR *folder;
    snprintf(name, sizeof name, "%s", path);
    *strrchr(name, '/') = '\0';
    folder = opendir(name);
    if (folder == NULL) {
        return;
    }
    while (scan_folder(folder, &scan) && scan.bytes + size > KEPT_BYTES_MAX &&
           unlinkat(dirfd(folder), scan.oldest, 0) == 0) {
    }
    closedir(folder);
}

void symfile_keep(const char *path, const void *data, size_t size)
{
    if (size > KEPT_BYTES_MAX) {
        return;
    }
    sonde__host_folders_above(path);
    make_room(path, size);
    (void)sonde__host_file_replace(path, data, size, 0600);
}

void symfile_kept_used(const char *path)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    struct stat st;
    if (stat(path, &st) == 0 && time(NULL) - st.st_atime > USED_AGE_S) {
        (void)utimensat(AT_FDCWD, path, times, 0);
    }
}

/* --- ids --- */

void sonde__symfile_id_text(const struct sonde__build_id *id, char *ret_text)
{
    for (unsigned i = 0; i < id->size; i++) {
        snprintf(ret_text + 2 * (size_t)i, 3, "%02x", id->bytes[i]);
    }
    ret_text[2 * (size_t)id->size] = '\0';
}

bool sonde__symfile_short_id(const struct sonde__build_id *id, struct sonde__build_id *ret_short)
{
    if (id->size <= SONDE__BREAKPAD_ID) {
        return false;
    }
    *ret_short = (struct sonde__build_id){.size = SONDE__BREAKPAD_ID};
    memcpy(ret_short->bytes, id->bytes, SONDE__BREAKPAD_ID);
    return true;
}

bool sonde__symfile_belongs(const struct sonde__build_id *of, const struct sonde__build_id *id)
{
    bool is_short = of->size == SONDE__BREAKPAD_ID && id->size > of->size;
    return (of->size == id->size || is_short) && memcmp(of->bytes, id->bytes, of->size) == 0;
}

bool sonde__symfile_id_parse(const char *text, struct sonde__build_id *ret_id)
{
    size_t size = strlen(text);
    if (size % 2 != 0 || size == 0 || size / 2 > SONDE__BUILD_ID_MAX) {
        return false;
    }
    memset(ret_id, 0, sizeof *ret_id);
    for (size_t i = 0; i < size; i += 2) {
        unsigned high = sonde__base_hex_digit(text[i]);
        unsigned low = sonde__base_hex_digit(text[i + 1]);
        if (high > 15 || low > 15) {
            return false;
        }
        ret_id->bytes[ret_id->size++] = (uint8_t)(high << 4 | low);
    }
    return true;
}
