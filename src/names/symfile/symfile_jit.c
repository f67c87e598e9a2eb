// SPDX-License-Identifier: Apache-2.0
#include "symfile_jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_status.h"
#include "host_file.h"
#include "host_maps.h"
#include "host_process.h"

enum { PATH_BYTES = 4096 };

struct files {
    int32_t inner_pid; /* in the process' own PID namespace */
    uint32_t uid;
    const char *root;
    char *note;
};

static enum sonde_status read_one(struct files *files, const char *path, bool is_dump,
                                  struct sonde__jit *jit)
{
    struct sonde__host_file file;
    struct sonde_error error = {0};
    enum sonde_status status = sonde__host_file_map_owned(
        files->root, path, files->uid, SONDE__SYMFILE_JIT_BYTES_MAX, &file, &error);
    if (status != SONDE_OK) {
        if (status != SONDE_ABSENT) {
            snprintf(files->note, SONDE__SYMFILE_JIT_NOTE, "names of JIT code not read: %s",
                     error.what);
        }
        return status == SONDE_MEMORY ? status : SONDE_OK;
    }
    if (file.size == 0) {
        status = SONDE_OK;
    } else if (is_dump) {
        status = sonde__jit_add_dump(jit, file.data, file.size);
    } else {
        status = sonde__jit_add_map(jit, file.data, file.size);
    }
    if (status == SONDE_UNSUPPORTED) {
        snprintf(files->note, SONDE__SYMFILE_JIT_NOTE,
                 "names of JIT code not read: %.400s is not a supported jitdump", path);
        status = SONDE_OK;
    }
    sonde__host_file_unmap(&file);
    return status;
}

/* Find dumps in the memory map: runtimes map them, so that perf sees their path
 * ".../jit-PID.dump". */
static enum sonde_status read_dumps(int32_t pid, struct files *files, struct sonde__jit *jit)
{
    struct sonde__host_maps maps;
    char name[64];
    enum sonde_status status = SONDE_OK;
    const char *last = "";
    if (sonde__host_maps_read(pid, &maps, NULL) != SONDE_OK) {
        return SONDE_OK;
    }
    snprintf(name, sizeof name, "/jit-%d.dump", (int)files->inner_pid);
    for (uint32_t i = 0; i < maps.count && status == SONDE_OK; i++) {
        const char *path = maps.items[i].path;
        const char *base = strrchr(path, '/');
        if (path[0] == '/' && strcmp(base, name) == 0 && strcmp(path, last) != 0 &&
            (maps.items[i].flags & SONDE__MAP_DELETED) == 0) {
            last = path;
            status = read_one(files, path, true, jit);
        }
    }
    sonde__host_maps_done(&maps);
    return status;
}

enum sonde_status sonde__symfile_jit(int32_t pid, const char *root, struct sonde__jit *jit,
                                     char ret_note[SONDE__SYMFILE_JIT_NOTE])
{
    struct files files = {.root = root, .note = ret_note};
    struct sonde__host_process process;
    char path[PATH_BYTES];
    enum sonde_status status;
    ret_note[0] = '\0';
    if (sonde__host_process_read(pid, &process, NULL) != SONDE_OK) {
        return SONDE_OK; /* the process has ended */
    }
    files.inner_pid = sonde__host_inner_pid(pid);
    files.uid = process.uid;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)files.inner_pid);
    status = read_one(&files, path, false, jit);
    if (status == SONDE_OK) {
        status = read_dumps(pid, &files, jit);
    }
    return status;
}
