// SPDX-License-Identifier: Apache-2.0
/* A manifest's name on the collector says for which code it declares: "Foo.app", "Stat.framework",
 * and for further ones of a part "Foo.app:Kit.bundle". A part of a bundle without a manifest gets
 * one that declares nothing. */
#include "send_manifests.h"

#include <stdio.h>
#include <string.h>

#include "base_text.h"
#include "cli_collector.h"
#include "cli_input.h"
#include "cli_print.h"
#include "manifest_bundle.h"
#include "manifest_file.h"
#include "mem_heap.h"

/* As collectors have them; and of a path, with each byte as %XX. */
enum { NAME_BYTES = 128, PATH_BYTES = 64 + 3 * 3 * NAME_BYTES };

static const char nothing[] = "<plist version=\"1.0\"><dict/></plist>\n";

struct file {
    char name[NAME_BYTES];
    char *path; /* null: it declares nothing */
};

struct sending {
    const struct sonde__cli_command *command;
    struct sonde__cli_collector collector;
    const char *project, *build;
    struct file *files;
    size_t count, capacity;
    bool is_quiet;
    int exit_code;
};

static void fail_with(struct sending *s, int exit_code)
{
    s->exit_code = s->exit_code == SONDE__CLI_OK ? exit_code : s->exit_code;
}

/* Does it stand for a folder in a path? Those are not sent. */
static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* --- which --- */

static void add(struct sending *s, const char *name, const char *path)
{
    struct file file = {.path = NULL};
    if (snprintf(file.name, sizeof file.name, "%s", name) >= (int)sizeof file.name) {
        sonde__cli_error(s->command, "%s: the name of a manifest has at most %d bytes", name,
                         NAME_BYTES - 1);
        fail_with(s, SONDE__CLI_USAGE);
        return;
    }
    if (is_dots(name)) {
        sonde__cli_error(s->command, "%s: name the bundle, as in ../App.app", name);
        fail_with(s, SONDE__CLI_USAGE);
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->files[i].name, name) == 0) {
            sonde__cli_error(s->command, "%s: there are two manifests of this name", name);
            fail_with(s, SONDE__CLI_USAGE);
            return;
        }
    }
    file.path = path != NULL ? sonde__mem_copy_string(path) : NULL;
    if ((path != NULL && file.path == NULL) ||
        !SONDE__MEM_ADD(s->files, s->count, s->capacity, file)) {
        sonde__mem_free(file.path);
        sonde__cli_error(s->command, "no memory");
        fail_with(s, SONDE__CLI_FAILED);
    }
}

static void add_file(void *ctx, const char *part, const char *inside, const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s%s%s", part, *inside != '\0' ? ":" : "", inside);
    for (char *at = name; (at = strchr(at, '/')) != NULL;) {
        *at = ':';
    }
    add(ctx, name, path);
}

/* Does a manifest of the part have the part's own name, or one behind it? */
static bool is_there(const struct sending *s, size_t first, const char *part)
{
    size_t size = strlen(part);
    for (size_t i = first; i < s->count; i++) {
        const char *name = s->files[i].name;
        if (strncmp(name, part, size) == 0 && (name[size] == '\0' || name[size] == ':')) {
            return true;
        }
    }
    return false;
}

static void add_bundle(struct sending *s, const char *path)
{
    struct sonde__cli_bundle bundle = {.on_file = add_file, .ctx = s};
    size_t first = s->count;
    fail_with(s, sonde__cli_bundle_read(s->command, path, &bundle));
    for (size_t i = 0; i < bundle.count && s->exit_code == SONDE__CLI_OK; i++) {
        if (!is_there(s, first, bundle.parts[i].name)) {
            add(s, bundle.parts[i].name, NULL);
        }
    }
    sonde__mem_free(bundle.parts);
}

/* A single one declares for the framework whose folder it is in. */
static void add_single(struct sending *s, const char *path)
{
    static struct sonde__manifest manifest;
    char name[NAME_BYTES];
    size_t size = 0;
    const char *framework = sonde__manifest_framework(path, &size);
    manifest.count = 0;
    fail_with(s, sonde__cli_manifest_add(s->command, path, &manifest));
    if (s->exit_code == SONDE__CLI_OK) {
        snprintf(name, sizeof name, "%.*s", (int)size, framework != NULL ? framework : "");
        add(s, framework != NULL ? name : sonde__base_file_name(path), path);
    }
}

/* --- sending --- */

/* RFC 3986, 2.3: all bytes but these are written as %XX. */
static void put_part(struct sonde__text *text, const char *part)
{
    static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    static const char digits[] = "0123456789ABCDEF";
    for (; *part != '\0'; part++) {
        if (strchr(kept, *part) != NULL) {
            sonde__base_text_char(text, *part);
        } else {
            sonde__base_text_char(text, '%');
            sonde__base_text_char(text, digits[(unsigned char)*part >> 4]);
            sonde__base_text_char(text, digits[*part & 15]);
        }
    }
}

static int post(struct sending *s, const char *name, const void *bytes, size_t size)
{
    char path[PATH_BYTES];
    struct sonde__text text;
    sonde__base_text_init(&text, path, sizeof path);
    sonde__base_text_str(&text, "/api/projects/");
    put_part(&text, s->project);
    sonde__base_text_str(&text, "/builds/");
    put_part(&text, s->build);
    sonde__base_text_str(&text, "/manifests/");
    put_part(&text, name);
    return sonde__cli_collector_post(&s->collector, path, "application/octet-stream", bytes, size);
}

static bool may_begin(const void *bytes, size_t size)
{
    (void)bytes, (void)size;
    return true;
}

static void send_one(struct sending *s, const struct file *file)
{
    struct sonde__cli_input input = {.data = NULL};
    int answer;
    if (file->path != NULL) {
        int exit_code = sonde__cli_input_read(s->command, file->path, may_begin, &input);
        if (exit_code != SONDE__CLI_OK) {
            fail_with(s, exit_code);
            return;
        }
        answer = post(s, file->name, input.data, input.size);
        sonde__cli_input_done(&input);
    } else {
        answer = post(s, file->name, nothing, sizeof nothing - 1);
    }
    if (answer != 200 && answer != 201) {
        const struct sonde__cli_collector_words words = sonde__cli_collector_words(&s->collector);
        sonde__cli_error(s->command, "%s: not stored: %s", file->name, words.error);
        fail_with(s, SONDE__CLI_FAILED);
    } else if (!s->is_quiet) {
        sonde__cli_print_visible(stdout, file->name);
        printf("  stored%s\n", file->path == NULL ? ": no manifest, so it declares nothing" : "");
    }
}

int sonde__cli_send_manifests(const struct sonde__cli_command *command,
                              const struct sonde_upload_options *how, const char *project,
                              const char *build, const struct sonde__cli_operands *paths,
                              bool is_quiet)
{
    struct sending s = {.command = command,
                        .project = project,
                        .build = build,
                        .is_quiet = is_quiet,
                        .exit_code = SONDE__CLI_OK};
    if (strlen(project) >= NAME_BYTES || strlen(build) >= NAME_BYTES || project[0] == '\0' ||
        build[0] == '\0' || strchr(build, '/') != NULL || is_dots(build) || is_dots(project)) {
        return sonde__cli_usage_error(
            command, "the names of a project and a build have 1 to 127 bytes, and no slash");
    }
    int exit_code = sonde__cli_collector_make(command, how, "manifests", &s.collector);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    for (unsigned i = 0; i < paths->count && s.exit_code == SONDE__CLI_OK; i++) {
        (sonde__cli_is_folder(paths->list[i]) ? add_bundle : add_single)(&s, paths->list[i]);
    }
    for (size_t i = 0, count = s.exit_code == SONDE__CLI_OK ? s.count : 0; i < count; i++) {
        send_one(&s, &s.files[i]);
    }
    for (size_t i = 0; i < s.count; i++) {
        sonde__mem_free(s.files[i].path);
    }
    sonde__mem_free(s.files);
    sonde__cli_collector_done(&s.collector);
    return s.exit_code;
}
