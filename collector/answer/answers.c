// SPDX-License-Identifier: Apache-2.0
#include "answers.h"

#include <stdlib.h>
#include <string.h>

static bool write_stream(void *ctx, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, ctx) == size;
}

bool answer_json_begin(struct answer_json *answer)
{
    answer->body = NULL;
    answer->stream = open_memstream(&answer->body, &answer->size);
    if (answer->stream == NULL) {
        return false;
    }
    sonde__report_out_init(&answer->out, (struct sonde__report_sink){write_stream, answer->stream},
                           false);
    sonde__json_init(&answer->json, &answer->out);
    sonde__json_object(&answer->json, NULL);
    return true;
}

enum http_when answer_json_end(struct answer_json *answer, struct http_request *request,
                               unsigned status)
{
    sonde__json_close(&answer->json);
    sonde__report_out_str(&answer->out, "\n");
    sonde__report_out_flush(&answer->out);
    if (fclose(answer->stream) != 0) {
        free(answer->body);
        return http_refuse(request, 503, "no memory for the answer");
    }
    return http_give(request, status, "application/json", answer->body, answer->size);
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
