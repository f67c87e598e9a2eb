// SPDX-License-Identifier: Apache-2.0
/* Projects, and reports: their list, and a report's own bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "blob.h"
#include "collector.h"

/* --- projects --- */

struct listing {
    struct sonde__json *json;
    uint32_t only; /* 0: all */
};

static void put_project(void *ctx, const struct store_project *project)
{
    const struct listing *listing = ctx;
    if (listing->only != 0 && listing->only != project->number) {
        return;
    }
    sonde__json_object(listing->json, NULL);
    sonde__json_string(listing->json, "name", project->name);
    sonde__json_time(listing->json, "made", project->made_ns);
    sonde__json_close(listing->json);
}

static enum store_status put_projects(struct http_request *request, struct sonde__json *json,
                                      const void *ctx)
{
    struct listing listing = {json, request->key.project};
    (void)ctx;
    sonde__json_array(json, "projects");
    enum store_status status = store_projects(request->collector->store, put_project, &listing);
    sonde__json_close(json);
    return status;
}

enum http_when answer_projects(struct http_request *request)
{
    return answer_json(request, put_projects, NULL);
}

/* --- reports --- */

static void put_row(void *ctx, const struct store_row *row)
{
    static const char *const kinds[] = {"unread", "stacks", "watch", "calls", "blocks", "audit"};
    struct sonde__json *json = ctx;
    char id[IDS_REPORT_TEXT];
    ids_report_text(&row->id, id);
    sonde__json_object(json, NULL);
    sonde__json_string(json, "id", id);
    sonde__json_string(json, "kind",
                       row->kind < sizeof kinds / sizeof *kinds ? kinds[row->kind] : "unknown");
    sonde__json_time(json, "received", row->received_ns);
    sonde__json_uint(json, "size_bytes", row->size_bytes);
    sonde__json_string(json, "program", row->program);
    sonde__json_string(json, "build", row->build);
    sonde__json_string(json, "device", row->device);
    sonde__json_string(json, "os", row->os);
    sonde__json_string(json, "note", row->note);
    sonde__json_bool(json, "has_file", row->has_file);
    sonde__json_close(json);
}

struct wanted {
    uint32_t limit;
    bool is_unread;
};

static enum store_status put_reports(struct http_request *request, struct sonde__json *json,
                                     const void *ctx)
{
    const struct wanted *wanted = ctx;
    sonde__json_array(json, "reports");
    enum store_status status = store_reports(request->collector->store, request->project, 0,
                                             wanted->is_unread, wanted->limit, put_row, json);
    sonde__json_close(json);
    return status;
}

enum http_when answer_reports(struct http_request *request)
{
    const char *state = http_argument(request, "state");
    struct wanted wanted = {.is_unread = state != NULL};
    if (state != NULL && strcmp(state, "unread") != 0) {
        return http_refuse(request, 400, "state: unread is expected");
    }
    return answer_limit(request, 50, 1000, &wanted.limit)
               ? answer_json(request, put_reports, &wanted)
               : HTTP_NOW;
}

struct file {
    struct hash blob;
    bool is_there;
};

static void take_blob(void *ctx, const struct store_row *row)
{
    *(struct file *)ctx = (struct file){row->blob, row->has_file};
}

enum http_when answer_report(struct http_request *request)
{
    struct report_id id;
    struct file file = {0};
    void *bytes;
    size_t size;
    if (!ids_parse_report(request->parts[1], strlen(request->parts[1]), &id)) {
        return http_refuse(request, 404, "a report's id has 32 hexadecimal digits");
    }
    enum store_status status =
        store_report(request->collector->store, request->project, &id, take_blob, &file);
    if (status != STORE_OK) {
        return answer_failed(request, status);
    }
    if (!file.is_there) {
        return http_refuse(request, 410, "the report is counted, but its file was not kept");
    }
    int os_error = blob_get(&request->collector->blobs, &file.blob, &bytes, &size);
    if (os_error != 0) {
        return http_refuse(request, os_error == EIO ? 503 : 500, "the report's file: %s",
                           os_error == EBADMSG ? "damaged" : strerror(os_error));
    }
    http_add_header(request, "Content-Disposition", "attachment; filename=\"%s.sonde\"",
                    request->parts[1]);
    return http_give(request, 200, "application/x-sonde-report", bytes, size);
}
