// SPDX-License-Identifier: Apache-2.0
#include "symbols.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base_bytes.h"
#include "host_file.h"
#include "sandbox.h"
#include "symbols_set.h"
#include "symfile_kept.h"
#include "symindex.h"

#define INDEX_END ".sndidx"
#define DEBUG_END ".debug"
#define PART_NAME "part" /* of a file that is being written */

enum { NAME_TEXT = SONDE__SYMFILE_ID_TEXT + 24, COPY_BYTES = 1 << 18 };

struct symbols {
    int folder; /* DATA/symbols */
    char path[2048];
    struct sandbox sandbox;
    struct symbols_set *set;
    _Atomic uint64_t version;
    pthread_mutex_t keeping; /* one file at a time is compared with what is there, and kept */
    pthread_mutex_t mutex;   /* of what follows */
    pthread_cond_t came;
    struct fresh *first, **last;
};

/* An index that symbols_next() is to give. */
struct fresh {
    struct fresh *next;
    uint32_t project;
    struct sonde__build_id id;
};

/* An index is there. */
static int announce(struct symbols *symbols, uint32_t project, const struct sonde__build_id *id)
{
    struct fresh *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL || !symbols_set_add(symbols->set, project, id)) {
        free(fresh);
        return ENOMEM;
    }
    *fresh = (struct fresh){.project = project, .id = *id};
    symbols->version++;
    pthread_mutex_lock(&symbols->mutex);
    *symbols->last = fresh;
    symbols->last = &fresh->next;
    pthread_cond_signal(&symbols->came);
    pthread_mutex_unlock(&symbols->mutex);
    return 0;
}

bool symbols_next(struct symbols *symbols, uint32_t *ret_project, struct sonde__build_id *ret_id)
{
    pthread_mutex_lock(&symbols->mutex);
    while (symbols->first == NULL && !symbols->sandbox.is_ending) {
        pthread_cond_wait(&symbols->came, &symbols->mutex);
    }
    struct fresh *fresh = symbols->sandbox.is_ending ? NULL : symbols->first;
    if (fresh != NULL) {
        symbols->first = fresh->next;
        symbols->last = symbols->first == NULL ? &symbols->first : symbols->last;
        *ret_project = fresh->project;
        *ret_id = fresh->id;
    }
    pthread_mutex_unlock(&symbols->mutex);
    free(fresh);
    return fresh != NULL;
}

/* --- open --- */

static bool ends_with(const char *name, const char *end, size_t *ret_stem)
{
    size_t size = strlen(name), tail = strlen(end);
    *ret_stem = size > tail ? size - tail : 0;
    return size > tail && strcmp(name + size - tail, end) == 0;
}

/* Learn what a project's folder has. */
static int learn_folder(struct symbols *symbols, const char *name)
{
    char *end, id_text[NAME_TEXT];
    unsigned long project = strtoul(name, &end, 10);
    int fd = openat(symbols->folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        return errno;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct sonde__build_id id;
        size_t stem;
        if (!ends_with(entry->d_name, INDEX_END, &stem) || stem >= sizeof id_text) {
            continue;
        }
        snprintf(id_text, sizeof id_text, "%.*s", (int)stem, entry->d_name);
        if (sonde__symfile_id_parse(id_text, &id) && id.size != 0 &&
            announce(symbols, (uint32_t)project, &id) != 0) {
            closedir(dir);
            return ENOMEM;
        }
    }
    closedir(dir);
    return 0;
}

static int learn(struct symbols *symbols)
{
    int os_error = 0, fd = openat(symbols->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        return errno;
    }
    for (const struct dirent *entry; os_error == 0 && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') {
            os_error = learn_folder(symbols, entry->d_name);
        }
    }
    closedir(dir);
    return os_error;
}

int symbols_open(const struct symbols_options *options, struct symbols **ret_symbols)
{
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols == NULL) {
        return ENOMEM;
    }
    symbols->sandbox =
        (struct sandbox){.program = options->program != NULL ? options->program : "/proc/self/exe",
                         .memory_mb = options->memory_mb,
                         .seconds = options->seconds};
    symbols->last = &symbols->first;
    pthread_mutex_init(&symbols->keeping, NULL);
    pthread_mutex_init(&symbols->mutex, NULL);
    pthread_cond_init(&symbols->came, NULL);
    int size = snprintf(symbols->path, sizeof symbols->path, "%s/symbols", options->data);
    bool fits = size > 0 && (size_t)size < sizeof symbols->path;
    if (fits && mkdir(symbols->path, 0700) != 0 && errno != EEXIST) {
        fits = false;
    }
    symbols->folder = fits ? open(symbols->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    symbols->set = symbols_set_begin();
    int os_error = symbols->folder < 0 ? errno : symbols->set == NULL ? ENOMEM : 0;
    if (os_error == 0 && mkdirat(symbols->folder, "none", 0700) != 0 && errno != EEXIST) {
        os_error = errno;
    }
    os_error = os_error == 0 ? learn(symbols) : os_error;
    if (os_error != 0) {
        symbols_close(symbols);
        return os_error;
    }
    *ret_symbols = symbols;
    return 0;
}

void symbols_close(struct symbols *symbols)
{
    if (symbols == NULL) {
        return;
    }
    if (symbols->folder >= 0) {
        close(symbols->folder);
    }
    for (struct fresh *fresh = symbols->first; fresh != NULL;) {
        struct fresh *next = fresh->next;
        free(fresh);
        fresh = next;
    }
    pthread_cond_destroy(&symbols->came);
    pthread_mutex_destroy(&symbols->mutex);
    pthread_mutex_destroy(&symbols->keeping);
    symbols_set_end(symbols->set);
    free(symbols);
}

void symbols_end(struct symbols *symbols)
{
    pthread_mutex_lock(&symbols->mutex);
    symbols->sandbox.is_ending = true;
    pthread_cond_broadcast(&symbols->came);
    pthread_mutex_unlock(&symbols->mutex);
}

bool symbols_is_ending(struct symbols *symbols)
{
    return symbols->sandbox.is_ending;
}

/* --- questions --- */

static bool has_exact(struct symbols *symbols, uint32_t project, const struct sonde__build_id *id)
{
    return symbols_set_has(symbols->set, project, id) ||
           (project != 0 && symbols_set_has(symbols->set, 0, id));
}

bool symbols_has(struct symbols *symbols, uint32_t project, const struct sonde__build_id *id)
{
    struct sonde__build_id other;
    return has_exact(symbols, project, id) ||
           (sonde__symfile_short_id(id, &other) && has_exact(symbols, project, &other));
}

uint64_t symbols_version(struct symbols *symbols)
{
    return symbols->version;
}

void symbols_folder(struct symbols *symbols, uint32_t project, char *ret_path, unsigned size)
{
    snprintf(ret_path, size, "%s/%u", symbols->path, project);
}

void symbols_folder_of_none(struct symbols *symbols, char *ret_path, unsigned size)
{
    snprintf(ret_path, size, "%s/none", symbols->path);
}

int symbols_new_file(struct symbols *symbols)
{
    return openat(symbols->folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
}

static void name_of(const struct sonde__build_id *id, const char *end, char ret_name[NAME_TEXT])
{
    char text[SONDE__SYMFILE_ID_TEXT];
    sonde__symfile_id_text(id, text);
    snprintf(ret_name, NAME_TEXT, "%s%s", text, end);
}

static int open_folder(struct symbols *symbols, uint32_t project, bool can_make)
{
    char name[16];
    snprintf(name, sizeof name, "%u", project);
    if (can_make && mkdirat(symbols->folder, name, 0700) != 0 && errno != EEXIST) {
        return -1;
    }
    return openat(symbols->folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int symbols_open_debug(struct symbols *symbols, uint32_t project, const struct sonde__build_id *id)
{
    char name[NAME_TEXT];
    int folder = open_folder(symbols, project, false);
    name_of(id, DEBUG_END, name);
    int fd = folder >= 0 ? openat(folder, name, O_RDONLY | O_CLOEXEC) : -1;
    int os_error = errno;
    if (folder >= 0) {
        close(folder);
    }
    if (fd < 0 && project != 0) {
        return symbols_open_debug(symbols, 0, id);
    }
    errno = os_error;
    return fd;
}

/* --- what is uploaded --- */

struct adding {
    struct symbols *symbols;
    uint32_t project;
    int folder, input, output;
    const struct sonde__build_id *claimed;
    symbols_each_part *each;
    void *ctx;
};

/* Copy a part of a file to a new one; it is on the disk under its name at the end. size 0: to the
 * end. Returns 0 or an errno. */
static int copy_part(int from, uint64_t offset, uint64_t size, int folder, const char *name)
{
    char part[NAME_TEXT];
    struct stat file;
    if (size == 0) {
        if (fstat(from, &file) != 0) {
            return errno;
        }
        size = (uint64_t)file.st_size;
    }
    snprintf(part, sizeof part, "%s", PART_NAME);
    int to = openat(folder, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int os_error = to < 0 ? errno : 0;
    off_t at = (off_t)offset;
    while (os_error == 0 && size > 0) {
        ssize_t done = copy_file_range(from, &at, to, NULL, size, 0);
        os_error = done < 0 && errno != EINTR ? errno : done == 0 ? EIO : 0;
        size -= done > 0 ? (uint64_t)done : 0;
    }
    if (os_error == 0 &&
        (fsync(to) != 0 || renameat(folder, part, folder, name) != 0 || fsync(folder) != 0)) {
        os_error = errno;
    }
    if (to >= 0) {
        close(to);
    }
    if (os_error != 0) {
        (void)unlinkat(folder, part, 0);
    }
    return os_error;
}

/* Is the part an index with the build-id that its converter said, and does it have more than one
 * that is there? Returns what to do with it, or LEFT with a reason. */
static enum symbols_stored judge(const struct adding *a, const struct sandbox_part *part,
                                 const char **ret_why)
{
    char path[NAME_TEXT + 2100], name[NAME_TEXT];
    struct sonde__host_file file;
    struct sonde__symindex index;
    if (a->claimed->size != 0 && !sonde__symfile_belongs(&part->id, a->claimed)) {
        *ret_why = "its build-id is not the one that was claimed";
        return SYMBOLS_LEFT;
    }
    name_of(&part->id, INDEX_END, name);
    snprintf(path, sizeof path, "%s/%u/%s", a->symbols->path, a->project, name);
    if (sonde__host_file_map(NULL, path, UINT64_MAX, &file, NULL) != SONDE_OK) {
        return SYMBOLS_NEW;
    }
    bool is_there = sonde__symindex_open(file.data, file.size, &index, NULL) == SONDE_OK;
    bool is_better = !is_there || part->units > index.units ||
                     (part->units == index.units && part->bad_units < index.bad_units);
    sonde__host_file_unmap(&file);
    name_of(&part->id, DEBUG_END, name);
    is_better = is_better || (part->is_debug && faccessat(a->folder, name, F_OK, 0) != 0);
    return is_better ? SYMBOLS_BETTER : SYMBOLS_KNOWN;
}

/* Read the header of the index, which a stranger's file may have made its converter write. */
static bool is_index(const struct adding *a, const struct sandbox_part *part)
{
    struct stat output;
    uint8_t head[SYMINDEX_AT_SECTIONS];
    return fstat(a->output, &output) == 0 && part->size >= sizeof head &&
           part->offset <= (uint64_t)output.st_size &&
           part->size <= (uint64_t)output.st_size - part->offset &&
           pread(a->output, head, sizeof head, (off_t)part->offset) == (ssize_t)sizeof head &&
           memcmp(head, SYMINDEX_MAGIC, SYMINDEX_MAGIC_BYTES) == 0 &&
           sonde__base_le32(head + SYMINDEX_AT_BUILD_ID_SIZE) == part->id.size &&
           memcmp(head + SYMINDEX_AT_BUILD_ID, part->id.bytes, part->id.size) == 0;
}

static int store_part(const struct adding *a, const struct sandbox_part *part)
{
    char name[NAME_TEXT];
    if (part->is_debug) { /* first: an index says that it is all there */
        name_of(&part->id, DEBUG_END, name);
        int os_error = copy_part(a->input, 0, 0, a->folder, name);
        if (os_error != 0) {
            return os_error;
        }
    }
    name_of(&part->id, INDEX_END, name);
    int os_error = copy_part(a->output, part->offset, part->size, a->folder, name);
    return os_error == 0 ? announce(a->symbols, a->project, &part->id) : os_error;
}

static void take_part(void *ctx, const struct sandbox_part *part)
{
    const struct adding *a = ctx;
    struct symbols_part told = {.id = part->id,
                                .arch = part->arch,
                                .name = part->name,
                                .why = part->why,
                                .size = part->size,
                                .units = part->units,
                                .bad_units = part->bad_units};
    pthread_mutex_lock(&a->symbols->keeping);
    if (part->is_made && !is_index(a, part)) {
        told.why = "its converter gave no index of it";
    } else if (part->is_made) {
        told.stored = judge(a, part, &told.why);
    }
    if (told.stored == SYMBOLS_NEW || told.stored == SYMBOLS_BETTER) {
        int os_error = store_part(a, part);
        if (os_error != 0) {
            told.stored = SYMBOLS_LEFT;
            told.why = os_error == ENOSPC || os_error == EDQUOT ? "the collector's disk is full"
                                                                : "the collector cannot store it";
        }
    }
    pthread_mutex_unlock(&a->symbols->keeping);
    a->each(a->ctx, &told);
}

const char *symbols_add(struct symbols *symbols, uint32_t project, int file,
                        const struct sonde__build_id *claimed, symbols_each_part *each, void *ctx)
{
    struct adding a = {.symbols = symbols,
                       .project = project,
                       .input = file,
                       .claimed = claimed,
                       .each = each,
                       .ctx = ctx};
    const char *why = "the collector cannot store it";
    a.folder = open_folder(symbols, project, true);
    a.output = symbols_new_file(symbols);
    if (a.folder >= 0 && a.output >= 0) {
        why = sandbox_convert(&symbols->sandbox, file, a.output, take_part, &a);
    }
    if (a.folder >= 0) {
        close(a.folder);
    }
    if (a.output >= 0) {
        close(a.output);
    }
    return why;
}
