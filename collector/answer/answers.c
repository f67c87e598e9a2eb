// SPDX-License-Identifier: Apache-2.0
#include "answers.h"

#include <stdlib.h>
#include <string.h>

#include "report_utf8.h"

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
    if (status == STORE_UNFIT) {
        return http_refuse(request, 409, "%s", store_error());
    }
    if (status == STORE_LONG) {
        return http_refuse(request, 503, "the question takes too many steps: ask for less");
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

static bool has_controls(const char *text)
{
    while (*text != '\0' && (unsigned char)*text >= ' ' && *text != 0x7f) {
        text++;
    }
    return *text != '\0';
}

bool answer_field(struct http_request *request, const char *name, char *ret_text, size_t size,
                  bool *ret_is_there)
{
    ret_text[0] = '\0';
    enum http_field found = http_field(request, name, ret_text, size);
    if (found == HTTP_FIELD_UNFIT || has_controls(ret_text) ||
        !sonde__report_utf8_valid(ret_text, strlen(ret_text))) {
        (void)http_refuse(request, 400,
                          "%s: at most %zu bytes of UTF-8 without control characters are expected",
                          name, size - 1);
        return false;
    }
    if (ret_is_there != NULL) {
        *ret_is_there = found == HTTP_FIELD_TEXT;
    }
    return true;
}

int64_t answer_number(const char *part)
{
    char *end;
    long long number = strtoll(part, &end, 10);
    return part[0] >= '1' && part[0] <= '9' && *end == '\0' ? number : 0;
}

/* The index of an argument's word; 0 if it is not there. False: another one, refused. */
static bool word_of(struct http_request *request, const char *name, const char *const *words,
                    unsigned *ret_index)
{
    const char *text = http_argument(request, name);
    char list[160] = "";
    *ret_index = 0;
    if (text == NULL) {
        return true;
    }
    for (unsigned i = 0; words[i] != NULL; i++) {
        size_t used = strlen(list);
        if (words[i][0] != '\0' && strcmp(text, words[i]) == 0) {
            *ret_index = i;
            return true;
        }
        snprintf(list + used, sizeof list - used, "%s%s", used != 0 ? ", " : "", words[i]);
    }
    (void)http_refuse(request, 400, "%s: one of these is expected: %s", name, list);
    return false;
}

static const char *const kinds[] = {"", "stall", "finding", "call", "error", NULL};

const char *answer_kind_text(uint32_t kind)
{
    return kind < sizeof kinds / sizeof *kinds - 1 ? kinds[kind] : "unknown";
}

const char *answer_state_text(enum state state)
{
    switch (state) {
    case STATE_RESOLVED:
    case STATE_RESOLVED_IN:
    case STATE_RESOLVED_NEXT:
        return "resolved";
    case STATE_IGNORED:
        return "ignored";
    case STATE_REGRESSED:
        return "regressed";
    case STATE_OPEN:
        break;
    }
    return "open";
}

bool answer_filter(struct http_request *request, struct store_filter *ret_filter)
{
    static const char *const orders[] = {"impact", "last", "first", "count", NULL};
    static const char *const states[] = {"",          "open",       "resolved", "ignored",
                                         "regressed", "unresolved", NULL};
    static const uint32_t masks[] = {0,
                                     1u << STATE_OPEN,
                                     1u << STATE_RESOLVED | 1u << STATE_RESOLVED_IN |
                                         1u << STATE_RESOLVED_NEXT,
                                     1u << STATE_IGNORED,
                                     1u << STATE_REGRESSED,
                                     1u << STATE_OPEN | 1u << STATE_REGRESSED};
    unsigned order, kind, state;
    if (!word_of(request, "sort", orders, &order) || !word_of(request, "kind", kinds, &kind) ||
        !word_of(request, "state", states, &state)) {
        return false;
    }
    *ret_filter = (struct store_filter){.order = (enum store_order)order,
                                        .kind = kind,
                                        .states = masks[state],
                                        .assignee = http_argument(request, "assignee")};
    return true;
}
