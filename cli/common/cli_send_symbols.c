// SPDX-License-Identifier: Apache-2.0
#include "cli_send_symbols.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_collector.h"
#include "cli_print.h"
#include "host_file.h"
#include "mem_heap.h"
#include "symfile_index_find.h"
#include "symfile_kept.h"
#include "symindex.h"
#include "upload_json.h"

enum {
    DEPTH_MAX = 16,
    FILES_MAX = 20000,
    ASK_MAX = 200 /* an answer is read up to 64 KiB */,
    PATH_BYTES = 4096
};
struct file {
    char *path;
    bool is_named; /* by the user, not found in a folder */
    bool is_lacking;
    unsigned id_count;
    char ids[SONDE__SYMFILE_SLICES_MAX][SONDE__SYMFILE_ID_TEXT];
};

struct sending {
    const struct sonde__cli_command *command;
    struct sonde__cli_collector collector;
    struct file *files;
    unsigned count;
    bool is_quiet;
    int exit_code;
};

static void fail_with(struct sending *s, int exit_code)
{
    s->exit_code = s->exit_code == SONDE__CLI_OK ? exit_code : s->exit_code;
}

/* --- the files --- */

/* The build-id of an index file. False: it is none. */
static bool id_of_index(const char *path, struct sonde__build_id *ret_id)
{
    struct sonde__host_file file;
    struct sonde__symindex index;
    if (sonde__host_file_map(NULL, path, UINT64_MAX, &file, NULL) != SONDE_OK) {
        return false;
    }
    bool is_index = sonde__symindex_open(file.data, file.size, &index, NULL) == SONDE_OK;
    if (is_index) {
        *ret_id = index.build_id;
    }
    sonde__host_file_unmap(&file);
    return is_index;
}

/* Add a file that has build-ids. Returns false if it has none. */
static bool add_file(struct sending *s, const char *path, bool is_named)
{
    struct sonde__symfile_slice slices[SONDE__SYMFILE_SLICES_MAX];
    struct file file = {.is_named = is_named};
    unsigned count = sonde__symfile_ids(path, slices);
    if (count == 0 && id_of_index(path, &slices[0].uuid)) {
        count = 1;
    }
    for (unsigned i = 0; i < count; i++) {
        if (slices[i].uuid.size != 0) {
            sonde__symfile_id_text(&slices[i].uuid, file.ids[file.id_count++]);
        }
    }
    if (file.id_count == 0 || s->count == FILES_MAX) {
        return file.id_count != 0;
    }
    struct file *files = realloc(s->files, (s->count + 1) * sizeof *files);
    file.path = sonde__mem_copy_string(path);
    if (files == NULL || file.path == NULL) {
        s->files = files != NULL ? files : s->files;
        sonde__mem_free(file.path);
        sonde__cli_error(s->command, "%s: no memory", path);
        fail_with(s, SONDE__CLI_FAILED);
        return true;
    }
    s->files = files;
    s->files[s->count++] = file;
    return true;
}

static void add_folder(struct sending *s, const char *path, unsigned depth)
{
    char inside[PATH_BYTES];
    DIR *dir = opendir(path);
    if (dir == NULL) {
        sonde__cli_error(s->command, "%s: the folder cannot be read", path);
        fail_with(s, SONDE__CLI_FAILED);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL && s->count < FILES_MAX;) {
        struct stat st;
        if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' || entry->d_name[1] == '.')) {
            continue;
        }
        if (snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name) >= (int)sizeof inside ||
            lstat(inside, &st) != 0) {
            continue;
        }
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
            add_folder(s, inside, depth + 1);
        } else if (S_ISREG(st.st_mode)) {
            (void)add_file(s, inside, false);
        }
    }
    closedir(dir);
}

static void add_path(struct sending *s, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        sonde__cli_error(s->command, "%s: there is no such file", path);
        fail_with(s, SONDE__CLI_ABSENT);
    } else if (S_ISDIR(st.st_mode)) {
        unsigned before = s->count;
        add_folder(s, path, 0);
        if (s->count == before) {
            sonde__cli_error(s->command, "%s: no file in it has a build-id or UUID", path);
            fail_with(s, SONDE__CLI_ABSENT);
        }
    } else if (!add_file(s, path, true)) {
        sonde__cli_error(s->command, "%s: it has no build-id or UUID, so no report can refer to it",
                         path);
        fail_with(s, SONDE__CLI_UNSUPPORTED);
    }
}

/* --- which of them --- */

static void mark_lacking(void *ctx, const char *key, const char *text)
{
    struct sending *s = ctx;
    for (unsigned i = 0; strcmp(key, "lacking") == 0 && i < s->count; i++) {
        for (unsigned id = 0; id < s->files[i].id_count; id++) {
            s->files[i].is_lacking |= strcmp(s->files[i].ids[id], text) == 0;
        }
    }
}

/* Ask about so many files. False: the server does not answer as a collector. */
static bool ask_about(struct sending *s, unsigned first, unsigned count)
{
    size_t ids = 0, size = 0;
    for (unsigned i = first; i < first + count; i++) {
        ids += s->files[i].id_count;
    }
    char *body = malloc(ids * (SONDE__SYMFILE_ID_TEXT + 1) + 1);
    if (body == NULL) {
        return false;
    }
    for (unsigned i = first; i < first + count; i++) {
        for (unsigned id = 0; id < s->files[i].id_count; id++) {
            size += (size_t)sprintf(body + size, "%s\n", s->files[i].ids[id]);
        }
    }
    (void)sonde__cli_collector_post(&s->collector, "/api/symbols/lacking", "text/plain", body,
                                    size);
    free(body);
    const struct sonde__upload_reply *reply = s->collector.sender.reply;
    return reply->status == 200 &&
           sonde__upload_json_read(reply->body, reply->body_bytes, mark_lacking, s);
}

static bool ask(struct sending *s)
{
    for (unsigned first = 0; first < s->count; first += ASK_MAX) {
        unsigned left = s->count - first;
        if (!ask_about(s, first, left < ASK_MAX ? left : ASK_MAX)) {
            const struct sonde__cli_collector_words words =
                sonde__cli_collector_words(&s->collector);
            sonde__cli_error(s->command, "%s: which symbols it lacks is not known: %s",
                             s->collector.sender.address.shown, words.error);
            fail_with(s, SONDE__CLI_FAILED);
            return false;
        }
    }
    return true;
}

/* --- one file --- */

static void print_line(const struct sending *s, const struct file *file, const char *what)
{
    if (!s->is_quiet) {
        sonde__cli_print_visible(stdout, file->path);
        printf("  %s\n", what);
        fflush(stdout);
    }
}

static void send_one(struct sending *s, const struct file *file)
{
    struct sonde__host_file bytes;
    struct sonde_error error = {0};
    enum sonde_status status = sonde__host_file_map(NULL, file->path, UINT64_MAX, &bytes, &error);
    if (status != SONDE_OK) {
        fail_with(s, sonde__cli_fail(s->command, file->path, status, &error));
        return;
    }
    int answer = sonde__cli_collector_post(&s->collector, "/api/symbols",
                                           "application/octet-stream", bytes.data, bytes.size);
    sonde__host_file_unmap(&bytes);
    if (answer == 201) {
        print_line(s, file, "stored");
        return;
    }
    const struct sonde__cli_collector_words words = sonde__cli_collector_words(&s->collector);
    const char *why = words.left_out[0] != '\0' ? words.left_out : words.error;
    if (answer == 422 && !file->is_named) {
        print_line(s, file, why); /* of a folder, what has no symbols is no failure */
        return;
    }
    sonde__cli_error(s->command, "%s: not stored: %s", file->path, why);
    fail_with(s, SONDE__CLI_FAILED);
}

static void send_all(struct sending *s)
{
    unsigned known = 0;
    for (unsigned i = 0; i < s->count; i++) {
        if (s->files[i].is_lacking) {
            send_one(s, &s->files[i]);
        } else {
            known++;
        }
    }
    if (known != 0 && !s->is_quiet) {
        printf("%u file%s: the collector has the symbols\n", known, known == 1 ? "" : "s");
    }
}

int sonde__cli_send_symbols(const struct sonde__cli_command *command,
                            const struct sonde_upload_options *how,
                            const struct sonde__cli_operands *paths, bool is_quiet)
{
    struct sending s = {.command = command, .is_quiet = is_quiet, .exit_code = SONDE__CLI_OK};
    int exit_code = sonde__cli_collector_make(command, how, "symbols", &s.collector);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    for (unsigned i = 0; i < paths->count; i++) {
        add_path(&s, paths->list[i]);
    }
    if (s.count != 0 && ask(&s)) {
        send_all(&s);
    }
    for (unsigned i = 0; i < s.count; i++) {
        sonde__mem_free(s.files[i].path);
    }
    free(s.files);
    sonde__cli_collector_done(&s.collector);
    return s.exit_code;
}
