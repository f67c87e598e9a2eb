// SPDX-License-Identifier: Apache-2.0
#include "rules_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_library.h"
#include "host_file.h"
#include "mem_heap.h"

struct opening {
    struct sonde__rules *rules;
    const char *files[SONDE__RULES_FILES_MAX]; /* without links and "..": each is read once */
    uint32_t count;
};

/* A file that is being read. */
struct level {
    struct opening *opening;
    const char *path;
    struct sonde__rules_use use;
};

static bool is_read(const struct opening *o, const char *path)
{
    for (uint32_t i = 0; i < o->count; i++) {
        if (strcmp(o->files[i], path) == 0) {
            return true;
        }
    }
    return false;
}

/* by: the place that uses the file; null: the user named it. */
static void refuse_file(struct opening *o, const char *path, const struct sonde__rule_place *by,
                        const struct sonde_error *error)
{
    const struct sonde__rule_place own = {path, 1, 1};
    sonde__rules_error(o->rules, by != NULL ? by : &own, "expected a file of rules: %.200s: %s",
                       path, error->status == SONDE_LIMIT ? "more than 256 KiB" : error->what);
}

static bool read_file(struct level *level, const struct sonde__rule_place *by)
{
    struct opening *o = level->opening;
    struct sonde_error error = {0};
    size_t size = 0;
    char *text = sonde__mem_alloc(SONDE__RULES_FILE_BYTES + 1);
    if (text == NULL) {
        return false;
    }
    bool is_whole = true;
    error.status =
        sonde__host_file_read(level->path, text, SONDE__RULES_FILE_BYTES + 1, &size, &error);
    if (error.status != SONDE_OK) {
        refuse_file(o, level->path, by, &error);
    } else {
        is_whole = sonde__rules_read(o->rules, level->path, text, size, &level->use);
    }
    sonde__mem_free(text);
    return is_whole;
}

/* The path of a name in use =. False: there is no such pack. */
static bool find(const char *user, const char *name, char *ret_path, size_t capacity)
{
    const char *slash = strrchr(user, '/');
    if (strchr(name, '/') != NULL) {
        bool is_relative = name[0] != '/' && slash != NULL;
        snprintf(ret_path, capacity, "%.*s%s", is_relative ? (int)(slash + 1 - user) : 0, user,
                 name);
        return true;
    }
    return sonde__cli_find_pack(name, ret_path, capacity);
}

static bool use_file(void *ctx, const char *name, const struct sonde__rule_place *place);

/* Note that a file is read now. False: it was read, or there are too many. */
static bool note_file(struct opening *o, const char *path, const struct sonde__rule_place *by)
{
    char *real = realpath(path, NULL); /* of a file that is absent, its name will do */
    bool is_new = !is_read(o, real != NULL ? real : path);
    if (is_new && o->count == SONDE__RULES_FILES_MAX) {
        sonde__rules_error(o->rules, by, "expected at most %d files", SONDE__RULES_FILES_MAX);
        is_new = false;
    } else if (is_new) {
        const char *name = real != NULL ? real : path;
        name = sonde__arena_copy_text(&o->rules->texts, name, strlen(name));
        o->files[o->count++] = name != NULL ? name : "";
    }
    free(real);
    return is_new;
}

/* Read it unless it was read. */
static bool open_file(struct opening *o, const char *path, const struct sonde__rule_place *by)
{
    if (!note_file(o, path, by)) {
        return true;
    }
    struct level level = {.opening = o,
                          .path = sonde__arena_copy_text(&o->rules->texts, path, strlen(path))};
    level.use = (struct sonde__rules_use){use_file, &level};
    return level.path != NULL && read_file(&level, by);
}

static bool use_file(void *ctx, const char *name, const struct sonde__rule_place *place)
{
    const struct level *level = ctx;
    char path[4096];
    if (!find(level->path, name, path, sizeof path)) {
        sonde__rules_error(level->opening->rules, place,
                           "expected the name of a pack, or a path with a slash: %.100s", name);
        return true;
    }
    return open_file(level->opening, path, place);
}

bool sonde__rules_open(const char *path, void (*print)(void *ctx, const char *line), void *ctx,
                       struct sonde__rules *ret_rules)
{
    struct opening o = {.rules = ret_rules};
    ret_rules->print = print;
    ret_rules->ctx = ctx;
    if (!open_file(&o, path, NULL)) {
        print(ctx, "out of memory: the rules could not be read");
        return false;
    }
    sonde__rules_check(ret_rules);
    return ret_rules->errors == 0;
}
