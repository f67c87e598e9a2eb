// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "drain_names.h"
#include "report_model.h"
#include "symfile_cache.h"
#include "symfile_calls.h"
#include "symfile_index_file.h"

/* Projects whose indexes stay open, and images that one may know: a report may name any. */
enum { OPEN_PROJECTS = 8, IMAGES_MAX = 4096, PATH_BYTES = 2100 };

struct open_project {
    struct sonde__symfile_cache *cache; /* null: free */
    uint32_t project;
    uint64_t version; /* of the symbols when it was opened */
    uint64_t used, images;
};

struct names {
    struct symbols *symbols;
    struct open_project projects[OPEN_PROJECTS];
    uint64_t clock;
    uint32_t project;
    struct digest_naming naming;
};

static void close_project(struct open_project *project)
{
    if (project->cache != NULL) {
        sonde__symfile_cache_destroy(project->cache);
    }
    *project = (struct open_project){0};
}

/* Paths of reports lead into an empty folder: only the collector's indexes are used. */
static bool open_project(struct names *names, struct open_project *ret_project)
{
    static const struct sonde__symfile_making making = {.only_kept = true};
    char own[PATH_BYTES], common[PATH_BYTES], none[PATH_BYTES];
    const char *const folders[] = {own, common};
    symbols_folder(names->symbols, names->project, own, sizeof own);
    symbols_folder(names->symbols, 0, common, sizeof common);
    symbols_folder_of_none(names->symbols, none, sizeof none);
    const struct sonde__symfile_options options = {.root = none,
                                                   .debug_root = "/none",
                                                   .folders = folders,
                                                   .folder_count = names->project != 0 ? 2 : 1,
                                                   .places = &sonde__symfile_places,
                                                   .making = &making};
    *ret_project = (struct open_project){.project = names->project,
                                         .version = symbols_version(names->symbols)};
    return sonde__symfile_cache_create(&options, &ret_project->cache) == SONDE_OK;
}

/* The cache of the project, opened anew if there are new symbols; null: no memory. */
static struct open_project *project_of(struct names *names)
{
    struct open_project *oldest = &names->projects[0];
    for (unsigned i = 0; i < OPEN_PROJECTS; i++) {
        struct open_project *project = &names->projects[i];
        if (project->cache != NULL && project->project == names->project &&
            project->version == symbols_version(names->symbols) && project->images < IMAGES_MAX) {
            project->used = ++names->clock;
            return project;
        }
        bool is_stale = project->cache != NULL && project->project == names->project;
        if (is_stale) {
            close_project(project);
        }
        oldest = project->used < oldest->used ? project : oldest;
    }
    close_project(oldest);
    if (!open_project(names, oldest)) {
        return NULL;
    }
    oldest->used = ++names->clock;
    return oldest;
}

/* Is there an index of an image? Asked of each report, so first of all. */
static bool has_any(struct names *names, const struct sonde__report *report)
{
    uint32_t count = sonde__report_image_count(report);
    for (uint32_t i = 1; i <= count; i++) {
        const struct sonde__report_image *image = sonde__report_image(report, i);
        if (image->build_id.size != 0 &&
            symbols_has(names->symbols, names->project, &image->build_id)) {
            return true;
        }
    }
    return false;
}

static void add_want(struct digest_wants *wants, const struct sonde__build_id *id)
{
    for (uint32_t i = 0; i < wants->count; i++) {
        if (wants->ids[i].size == id->size &&
            memcmp(wants->ids[i].bytes, id->bytes, id->size) == 0) {
            return;
        }
    }
    if (wants->count < DIGEST_WANTS_MAX) {
        wants->ids[wants->count++] = *id;
    }
}

static void find_wants(struct names *names, const struct sonde__report *report,
                       struct digest_wants *ret_wants)
{
    uint32_t count = sonde__report_frame_count(report), last = 0;
    for (uint32_t i = 1; i <= count; i++) {
        const struct sonde__report_frame *frame = sonde__report_frame(report, i);
        if (frame->name != 0 || frame->image == 0 || frame->lost_count != 0 ||
            frame->image == last) {
            continue;
        }
        last = frame->image;
        const struct sonde__report_image *image = sonde__report_image(report, frame->image);
        if (image->build_id.size != 0 &&
            !symbols_has(names->symbols, names->project, &image->build_id)) {
            add_want(ret_wants, &image->build_id);
        }
    }
}

static void name(void *ctx, struct sonde__report *report, struct digest_wants *ret_wants)
{
    struct names *names = ctx;
    struct open_project *project = has_any(names, report) ? project_of(names) : NULL;
    if (project != NULL) {
        project->images += sonde__report_image_count(report);
        (void)!sonde__drain_rename(report, project->cache);
    }
    find_wants(names, report, ret_wants);
}

struct names *names_begin(struct symbols *symbols)
{
    struct names *names = calloc(1, sizeof *names);
    if (names != NULL) {
        names->symbols = symbols;
        names->naming = (struct digest_naming){name, names};
    }
    return names;
}

void names_end(struct names *names)
{
    for (unsigned i = 0; names != NULL && i < OPEN_PROJECTS; i++) {
        close_project(&names->projects[i]);
    }
    free(names);
}

const struct digest_naming *names_of(struct names *names, uint32_t project)
{
    names->project = project;
    return &names->naming;
}
