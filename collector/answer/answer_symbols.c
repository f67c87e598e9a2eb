// SPDX-License-Identifier: Apache-2.0
/* Symbols: a file is uploaded as a whole body, converted by a process of its own (symbols.h), and
 * answered when what it gave is on the disk. Debug files are given back as debuginfod does
 * (elfutils' debuginfod(8), "WEBAPI"): GET /buildid/ID/debuginfo. A key of one project adds to it
 * and sees only its files and those of all projects; a key of all adds to all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "collector.h"
#include "symbols.h"
#include "symfile_kept.h"

enum { UPLOADS_MAX = 8, IDS_MAX = 10000 };

static _Atomic unsigned uploads;

static void forget_upload(struct http_request *request)
{
    (void)request;
    uploads--;
}

int answer_symbols_file(struct http_request *request)
{
    if (++uploads > UPLOADS_MAX) {
        uploads--;
        errno = EBUSY;
        return -1;
    }
    request->forget = forget_upload;
    return symbols_new_file(request->collector->symbols);
}

/* --- POST /api/symbols --- */

struct told {
    struct sonde__json *json;
    struct sonde__build_id claimed;
    uint32_t stored;
    char *left; /* "NAME: REASON", each with a NUL */
    size_t left_size;
    FILE *leaving;
};

static void put_part(void *ctx, const struct symbols_part *part)
{
    static const char *const words[] = {
        [SYMBOLS_NEW] = "new", [SYMBOLS_BETTER] = "better", [SYMBOLS_KNOWN] = "known"};
    struct told *told = ctx;
    struct sonde__json *json = told->json;
    char id[SONDE__SYMFILE_ID_TEXT];
    if (part->stored == SYMBOLS_LEFT) {
        bool has_name = part->name[0] != '\0';
        fprintf(told->leaving, "%s%s%s", part->name, has_name ? ": " : "", part->why);
        fputc('\0', told->leaving);
        return;
    }
    told->stored++;
    sonde__symfile_id_text(&part->id, id);
    sonde__json_object(json, NULL);
    sonde__json_string(json, "build_id", id);
    sonde__json_string(json, "arch", part->arch);
    sonde__json_string(json, "name", part->name);
    sonde__json_uint(json, "index_bytes", part->size);
    sonde__json_uint(json, "units", part->units);
    sonde__json_uint(json, "bad_units", part->bad_units);
    sonde__json_string(json, "stored", words[part->stored]);
    sonde__json_close(json);
}

static void put_left(struct told *told)
{
    sonde__json_array(told->json, "left_out");
    for (size_t at = 0; at < told->left_size; at += strlen(told->left + at) + 1) {
        sonde__json_string(told->json, NULL, told->left + at);
    }
    sonde__json_close(told->json);
    free(told->left);
}

static enum store_status put_upload(struct http_request *request, struct sonde__json *json,
                                    const void *ctx)
{
    struct told *told = *(struct told *const *)ctx;
    told->json = json;
    told->leaving = open_memstream(&told->left, &told->left_size);
    if (told->leaving == NULL) {
        return STORE_FAILED;
    }
    sonde__json_array(json, "files");
    const char *why = symbols_add(request->collector->symbols, request->project, request->file,
                                  &told->claimed, put_part, told);
    sonde__json_close(json);
    fclose(told->leaving);
    put_left(told);
    if (why != NULL || told->stored == 0) {
        sonde__json_string(json, "error",
                           why != NULL ? why : "nothing in it has symbols that can be used");
    }
    return STORE_OK;
}

enum http_when answer_add_symbols(struct http_request *request)
{
    struct told told = {.json = NULL};
    struct told *ctx = &told;
    const char *id = http_argument(request, "id");
    if (!answer_is_from_here(request)) {
        return http_refuse(request, 403, "the request is from another site's page");
    }
    if (id != NULL && (!sonde__symfile_id_parse(id, &told.claimed) || told.claimed.size == 0)) {
        return http_refuse(request, 400, "id: a build-id in lower-case hexadecimal is expected");
    }
    if (!request->has_file) {
        return http_refuse(request, 400, "the body is empty: a symbol file is expected");
    }
    enum http_when when = answer_json(request, put_upload, &ctx);
    if (request->answer.status == 200) {
        request->answer.status = told.stored != 0 ? 201 : 422;
    }
    return when;
}

/* --- POST /api/symbols/lacking --- */

/* The ids of the body, one a line, that are not there. */
static enum store_status put_lacking(struct http_request *request, struct sonde__json *json,
                                     const void *ctx)
{
    const char *at = request->body, *end = at + request->size;
    (void)ctx;
    sonde__json_array(json, "lacking");
    for (unsigned i = 0; at < end && i < IDS_MAX; i++) {
        char text[SONDE__SYMFILE_ID_TEXT];
        struct sonde__build_id id;
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((line != NULL ? line : end) - at);
        if (size < sizeof text) {
            memcpy(text, at, size);
            text[size] = '\0';
            if (sonde__symfile_id_parse(text, &id) && id.size != 0 &&
                !symbols_has(request->collector->symbols, request->project, &id)) {
                sonde__json_string(json, NULL, text);
            }
        }
        at += size + 1;
    }
    sonde__json_close(json);
    return STORE_OK;
}

enum http_when answer_lacking_symbols(struct http_request *request)
{
    return answer_json(request, put_lacking, NULL);
}

/* --- what is waited for --- */

static void put_want(void *ctx, const struct sonde__build_id *id, uint64_t reports)
{
    struct sonde__json *json = ctx;
    char text[SONDE__SYMFILE_ID_TEXT];
    sonde__symfile_id_text(id, text);
    sonde__json_object(json, NULL);
    sonde__json_string(json, "build_id", text);
    sonde__json_uint(json, "reports", reports);
    sonde__json_close(json);
}

static enum store_status put_wants(struct http_request *request, struct sonde__json *json,
                                   const void *ctx)
{
    sonde__json_array(json, "waiting");
    enum store_status status = store_wants(request->collector->store, request->project,
                                           *(const uint32_t *)ctx, put_want, json);
    sonde__json_close(json);
    return status;
}

enum http_when answer_wanted_symbols(struct http_request *request)
{
    uint32_t limit;
    return answer_limit(request, 100, 10000, &limit) ? answer_json(request, put_wants, &limit)
                                                     : HTTP_NOW;
}

/* --- debuginfod --- */

enum http_when answer_debuginfo(struct http_request *request)
{
    struct sonde__build_id id;
    if (!sonde__symfile_id_parse(request->parts[0], &id) || id.size == 0) {
        return http_refuse(request, 400, "a build-id has lower-case hexadecimal digits");
    }
    int file = symbols_open_debug(request->collector->symbols, request->project, &id);
    if (file < 0) {
        return errno == ENOENT || errno == ENOTDIR
                   ? http_refuse(request, 404, "there is no debug file with this build-id")
                   : http_refuse(request, 500, "the debug file: %s", strerror(errno));
    }
    return http_give_file(request, 200, "application/octet-stream", file);
}
