// SPDX-License-Identifier: Apache-2.0
/* A report, or the events of a group out of its reports, in the formats of `sonde export`, with the
 * names that the collector has. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "blob.h"
#include "collector.h"
#include "digest.h"
#include "export.h"
#include "findings.h"
#include "merge.h"
#include "names.h"
#include "report_later.h"
#include "report_read.h"

enum { REPORTS_MAX = 1000 };
/* Bytes of an answer; and of the reports of a group that are read for it. */
#define EXPORT_MAX ((size_t)256 << 20)

static const struct form {
    const char *type, *suffix;
} forms[] = {
    [SONDE__EXPORT_FOLDED] = {"text/plain; charset=utf-8", "folded"},
    [SONDE__EXPORT_FIREFOX] = {"application/json", "firefox.json"},
    [SONDE__EXPORT_SPEEDSCOPE] = {"application/json", "speedscope.json"},
    [SONDE__EXPORT_PPROF] = {"application/octet-stream", "pb.gz"},
    [SONDE__EXPORT_OTLP] = {"application/octet-stream", "otlp"},
    [SONDE__EXPORT_PERFETTO] = {"application/octet-stream", "perfetto"},
    [SONDE__EXPORT_APPLE] = {"text/plain; charset=utf-8", "txt"},
    [SONDE__EXPORT_BS] = {"text/plain; charset=utf-8", "txt"},
    [SONDE__EXPORT_GLIBC] = {"text/plain; charset=utf-8", "txt"},
    [SONDE__EXPORT_JSON] = {"application/json", "json"},
    [SONDE__EXPORT_TEXT] = {"text/plain; charset=utf-8", "txt"},
    [SONDE__EXPORT_SARIF] = {"application/sarif+json", "sarif"},
};

/* --- the output --- */

struct output {
    FILE *stream;
    size_t size;
    bool is_full;
};

static bool write_output(void *ctx, const char *bytes, size_t size)
{
    struct output *output = ctx;
    output->is_full |= size > EXPORT_MAX - output->size;
    if (output->is_full || fwrite(bytes, 1, size, output->stream) != size) {
        return false;
    }
    output->size += size;
    return true;
}

static enum sonde_status write_sarif(struct sonde__report *report, struct sonde__report_sink sink,
                                     struct sonde_error *ret_error)
{
    const struct sonde__report *reports[] = {report};
    const char *const names[] = {"report"};
    const struct sonde__diff_side none = {0}, one = {reports, names, 1};
    const struct sonde__sarif_options options = {.version = SONDE_VERSION};
    struct sonde__diff diff;
    struct sonde__findings findings;
    if (sonde__report_call_count(report) == 0) {
        snprintf(ret_error->what, sizeof ret_error->what,
                 "SARIF has recorded calls, and this has none");
        return ret_error->status = SONDE_UNSUPPORTED;
    }
    enum sonde_status status = sonde__diff_make(&none, &one, SONDE__DIFF_PERCENT, &diff);
    if (status != SONDE_OK) {
        return status;
    }
    status = sonde__findings_make(&diff, NULL, &findings);
    if (status == SONDE_OK) {
        status = sonde__findings_sarif(&findings, &options, sink);
        sonde__findings_done(&findings);
    }
    sonde__diff_done(&diff);
    return status;
}

static enum http_when refuse_export(struct http_request *request, enum sonde_status status,
                                    const struct sonde_error *error)
{
    if (status == SONDE_UNSUPPORTED || status == SONDE_CORRUPT) {
        return http_refuse(request, 422, "%s", error->what);
    }
    return http_refuse(request, 503, "no memory for the answer");
}

/* loss: null: it was not read from one file. name: of the file, without a suffix. */
static enum http_when give(struct http_request *request, struct sonde__report *report,
                           const struct sonde__report_loss *loss, enum sonde__export_format format,
                           const char *name)
{
    char *body = NULL;
    size_t size = 0;
    struct sonde_error error = {0};
    struct output output = {.stream = open_memstream(&body, &size)};
    const struct sonde__report_sink sink = {write_output, &output};
    const struct sonde__report_view view = {.loss = loss};
    const struct sonde__export_options options = {.format = format, .view = &view};
    if (output.stream == NULL) {
        return http_refuse(request, 503, "no memory for the answer");
    }
    if (format <= SONDE__EXPORT_PERFETTO) {
        sonde__report_join_later(report);
    }
    enum sonde_status status = format == SONDE__EXPORT_SARIF
                                   ? write_sarif(report, sink, &error)
                                   : sonde__export(report, &options, sink, &error);
    bool is_whole = fclose(output.stream) == 0;
    if (status == SONDE_OK && is_whole && !output.is_full) {
        http_add_header(request, "Content-Disposition", "attachment; filename=\"%s.%s\"", name,
                        forms[format].suffix);
        return http_give(request, 200, forms[format].type, body, size);
    }
    free(body);
    return output.is_full ? http_refuse(request, 422, "it has more than 256 MiB in this format")
                          : refuse_export(request, is_whole ? status : SONDE_MEMORY, &error);
}

/* False: it was refused. */
static bool take_format(struct http_request *request, enum sonde__export_format *ret_format)
{
    const char *word = http_argument(request, "format");
    *ret_format = SONDE__EXPORT_FOLDED;
    for (unsigned i = 0; word != NULL && sonde__export_words[i] != NULL; i++) {
        if (strcmp(word, sonde__export_words[i]) == 0) {
            *ret_format = (enum sonde__export_format)i;
            return true;
        }
    }
    if (word == NULL) {
        return true;
    }
    (void)http_refuse(request, 400,
                      "format: one of these is expected: folded, firefox, speedscope, pprof, "
                      "otlp-1.10, perfetto, apple, bs, glibc, json, text, sarif");
    return false;
}

/* --- reports --- */

struct file {
    struct hash blob;
    bool is_there;
};

/* Read a report, with names. Returns an errno: EBADMSG (it is damaged), ENOMEM, or of blob_get().
 */
static int read_file(struct http_request *request, struct names *names, const struct hash *blob,
                     struct sonde__report **ret_report, struct sonde__report_loss *ret_loss,
                     size_t *ret_size)
{
    void *bytes;
    struct digest_wants wants = {0};
    int os_error = blob_get(&request->collector->blobs, blob, &bytes, ret_size);
    if (os_error != 0) {
        return os_error;
    }
    struct sonde_error error;
    enum sonde_status status = sonde__report_read(bytes, *ret_size, ret_report, ret_loss, &error);
    free(bytes);
    if (status != SONDE_OK) {
        return status == SONDE_MEMORY ? ENOMEM : EBADMSG;
    }
    const struct digest_naming *naming = names_of(names, request->project);
    naming->name(naming->ctx, *ret_report, &wants);
    return 0;
}

static void take_blob(void *ctx, const struct store_row *row)
{
    *(struct file *)ctx = (struct file){row->blob, row->has_file};
}

static enum http_when export_file(struct http_request *request, const struct hash *blob,
                                  enum sonde__export_format format)
{
    struct names *names = names_begin(request->collector->symbols);
    struct sonde__report *report = NULL;
    struct sonde__report_loss loss;
    size_t size;
    if (names == NULL) {
        return http_refuse(request, 503, "no memory for the answer");
    }
    int os_error = read_file(request, names, blob, &report, &loss, &size);
    names_end(names);
    if (os_error == EBADMSG) {
        return http_refuse(request, 422, "it is no report, or is damaged");
    }
    if (os_error != 0) {
        return http_refuse(request, 503, "the report's file: %s", strerror(os_error));
    }
    enum http_when when = give(request, report, &loss, format, request->parts[1]);
    sonde__report_destroy(report);
    return when;
}

enum http_when answer_export_report(struct http_request *request)
{
    enum sonde__export_format format;
    struct report_id id;
    struct file file = {0};
    if (!take_format(request, &format)) {
        return HTTP_NOW;
    }
    if (!ids_parse_report(request->parts[1], strlen(request->parts[1]), &id)) {
        return http_refuse(request, 404, "a report's id has 32 hexadecimal digits");
    }
    enum store_status status =
        store_report(request->collector->store, request->project, &id, take_blob, &file);
    if (status != STORE_OK) {
        return answer_failed(request, status);
    }
    return file.is_there
               ? export_file(request, &file.blob, format)
               : http_refuse(request, 410, "the report is counted, but its file was not kept");
}

/* --- groups --- */

struct gathering {
    struct merge *merge;
    int64_t number; /* of the group; 0: not found yet */
    int64_t next;
    uint64_t count;
    bool is_joint, has_memory;
    struct hash blobs[REPORTS_MAX];
    uint32_t reports, used; /* used: read */
};

static void take_cause(void *ctx, const struct store_group *group)
{
    struct gathering *g = ctx;
    g->has_memory = g->has_memory && merge_cause(g->merge, group->group) == SONDE_OK;
}

static void take_group(void *ctx, const struct store_group *group)
{
    struct gathering *g = ctx;
    if (group->is_joint && group->joined != 0) {
        g->next = group->joined;
        return;
    }
    g->number = group->number;
    g->count = group->count;
    g->is_joint = group->is_joint;
    if (!group->is_joint) {
        take_cause(g, group);
    }
}

static void take_report(void *ctx, const struct store_row *row)
{
    struct gathering *g = ctx;
    if (row->has_file && g->reports < REPORTS_MAX) {
        g->blobs[g->reports++] = row->blob;
    }
}

static enum store_status gather(struct http_request *request, struct gathering *g)
{
    struct store *store = request->collector->store;
    enum store_status status = STORE_OK;
    while (status == STORE_OK && g->number == 0) {
        status = store_group(store, request->project, g->next, take_group, g);
    }
    if (status == STORE_OK && g->is_joint) {
        status = store_causes(store, g->number, take_cause, g);
    }
    return status == STORE_OK ? store_reports(store, request->project, g->number, false,
                                              REPORTS_MAX, take_report, g)
                              : status;
}

/* A report that cannot be read, or was removed meanwhile, costs no other. */
static enum sonde_status merge_all(struct http_request *request, struct names *names,
                                   struct gathering *g)
{
    size_t sum = 0;
    enum sonde_status status = SONDE_OK;
    for (uint32_t i = 0; i < g->reports && sum < EXPORT_MAX && status == SONDE_OK; i++) {
        struct sonde__report *report = NULL;
        size_t size = 0;
        if (read_file(request, names, &g->blobs[i], &report, NULL, &size) == 0) {
            status = merge_add(g->merge, report);
            sonde__report_destroy(report);
            sum += size;
            g->used++;
        }
    }
    return status;
}

static enum http_when export_group(struct http_request *request, struct gathering *g,
                                   enum sonde__export_format format)
{
    char name[32], note[160];
    struct names *names = names_begin(request->collector->symbols);
    enum sonde_status status =
        names != NULL && g->has_memory ? merge_all(request, names, g) : SONDE_MEMORY;
    names_end(names);
    if (status != SONDE_OK) {
        return http_refuse(request, 503, "no memory for the answer");
    }
    if (merge_count(g->merge) == 0) {
        return http_refuse(request, 422, "no report of the group is kept that has it");
    }
    snprintf(name, sizeof name, "group-%" PRId64, g->number);
    snprintf(note, sizeof note,
             "group %" PRId64 ": %" PRIu64 " of %" PRIu64 " events, from the newest %u reports",
             g->number, merge_count(g->merge), g->count, g->used);
    return give(request, merge_report(g->merge, note), NULL, format, name);
}

enum http_when answer_export_group(struct http_request *request)
{
    enum sonde__export_format format;
    struct gathering *g;
    if (!take_format(request, &format)) {
        return HTTP_NOW;
    }
    g = calloc(1, sizeof *g);
    if (g == NULL || merge_begin(&g->merge) != SONDE_OK) {
        free(g);
        return http_refuse(request, 503, "no memory for the answer");
    }
    g->next = answer_number(request->parts[1]);
    g->has_memory = true;
    enum store_status status = gather(request, g);
    enum http_when when =
        status == STORE_OK ? export_group(request, g, format) : answer_failed(request, status);
    merge_end(g->merge);
    free(g);
    return when;
}
