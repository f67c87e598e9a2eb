// SPDX-License-Identifier: Apache-2.0
#include "answers.h"

#include <stdlib.h>
#include <string.h>

static bool write_stream(void *ctx, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, ctx) == size;
}

enum http_when answer_json(struct http_request *request, answer_put *put, const void *ctx)
{
    char *body = NULL;
    size_t size = 0;
    struct sonde__report_out out;
    struct sonde__json json;
    FILE *stream = open_memstream(&body, &size);
    if (stream == NULL) {
        return http_refuse(request, 503, "no memory for the answer");
    }
    sonde__report_out_init(&out, (struct sonde__report_sink){write_stream, stream}, false);
    sonde__json_init(&json, &out);
    sonde__json_object(&json, NULL);
    enum store_status status = put(request, &json, ctx);
    sonde__json_close(&json);
    sonde__report_out_str(&out, "\n");
    sonde__report_out_flush(&out);
    bool is_whole = fclose(stream) == 0;
    if (status == STORE_OK && is_whole) {
        return http_give(request, 200, "application/json", body, size);
    }
    free(body);
    return status != STORE_OK ? answer_failed(request, status)
                              : http_refuse(request, 503, "no memory for the answer");
}

enum http_when answer_failed(struct http_request *request, enum store_status status)
{
    if (status == STORE_ABSENT) {
        return http_refuse(request, 404, "there is no such thing here");
    }
    http_add_header(request, "Retry-After", "10");
    return http_refuse(request, 503, "the database: %s", store_error());
}

bool answer_limit(struct http_request *request, uint32_t other, uint32_t max, uint32_t *ret_limit)
{
    const char *text = http_argument(request, "limit");
    char *end;
    *ret_limit = other;
    if (text == NULL) {
        return true;
    }
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || value == 0 || value > max) {
        (void)http_refuse(request, 400, "limit: a number from 1 to %u is expected", max);
        return false;
    }
    *ret_limit = (uint32_t)value;
    return true;
}

bool answer_order(struct http_request *request, enum store_order *ret_order)
{
    static const char *const words[] = {"impact", "last", "first", "count"};
    const char *text = http_argument(request, "sort");
    *ret_order = STORE_BY_IMPACT;
    for (size_t i = 0; text != NULL && i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret_order = (enum store_order)i;
            return true;
        }
    }
    if (text != NULL) {
        (void)http_refuse(request, 400, "sort: impact, last, first or count is expected");
    }
    return text == NULL;
}

static const char *const kinds[] = {"", "stall", "finding", "call"};

const char *answer_kind_text(uint32_t kind)
{
    return kind < sizeof kinds / sizeof *kinds ? kinds[kind] : "unknown";
}

bool answer_kind(struct http_request *request, uint32_t *ret_kind)
{
    const char *text = http_argument(request, "kind");
    *ret_kind = 0;
    for (uint32_t i = 1; text != NULL && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(text, kinds[i]) == 0) {
            *ret_kind = i;
            return true;
        }
    }
    if (text != NULL) {
        (void)http_refuse(request, 400, "kind: stall, finding or call is expected");
    }
    return text == NULL;
}
