// SPDX-License-Identifier: Apache-2.0
#include "rules_values.h"

#include <string.h>

#include "cli.h"
#include "report_model.h"
#include "rules.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* How many brackets are open behind a character. */
static size_t depth_after(size_t depth, char c)
{
    depth += strchr("([<", c) != NULL;
    return depth - (depth > 0 && strchr(")]>", c) != NULL);
}

const char *sonde__rules_unbalanced(const char *text, size_t *ret_at)
{
    size_t depth = 0;
    *ret_at = strcspn(text, ",");
    for (const char *c = text; *c != '\0'; c++) {
        depth = depth_after(depth, *c);
    }
    return depth > 0 && text[*ret_at] == ',' ? "expected ), ] or > before the comma" : NULL;
}

bool sonde__rules_next(const char *list, size_t *at, size_t *ret_begin, size_t *ret_size)
{
    size_t begin = *at, end, depth = 0;
    while (is_blank(list[begin])) {
        begin++;
    }
    if (list[begin] == '\0') {
        return false;
    }
    for (end = begin; list[end] != '\0' && (list[end] != ',' || depth > 0); end++) {
        depth = depth_after(depth, list[end]);
    }
    *at = end + (list[end] == ',');
    while (end > begin && is_blank(list[end - 1])) {
        end--;
    }
    *ret_begin = begin;
    *ret_size = end - begin;
    return true;
}

const char *sonde__rules_severity(const char *text, uint32_t *ret_severity)
{
    static const struct {
        const char *word;
        uint32_t severity;
    } words[] = {
        {"note", SONDE__REPORT_SEVERITY_NOTE},       {"low", SONDE__REPORT_SEVERITY_NOTE},
        {"warning", SONDE__REPORT_SEVERITY_WARNING}, {"medium", SONDE__REPORT_SEVERITY_WARNING},
        {"error", SONDE__REPORT_SEVERITY_ERROR},     {"high", SONDE__REPORT_SEVERITY_ERROR},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i].word) == 0) {
            *ret_severity = words[i].severity;
            return NULL;
        }
    }
    return "expected note, warning or error (or low, medium, high)";
}

const char *sonde__rules_limit(const char *text, uint64_t *ret_count, uint64_t *ret_ns)
{
    char number[24] = "";
    const char *slash = strchr(text, '/');
    size_t size = slash != NULL ? (size_t)(slash - text) : 0;
    memcpy(number, text, size < sizeof number ? size : 0);
    if (!sonde__cli_parse_uint(number, UINT32_MAX, ret_count) || *ret_count == 0 ||
        !sonde__cli_parse_duration(slash + 1, ret_ns) || *ret_ns == 0) {
        return "expected calls/time, as 1/2s or 100/1m";
    }
    return NULL;
}

const char *sonde__rules_argument(char *text, size_t *ret_at, uint32_t *ret_argument)
{
    char *colon = strrchr(text, ':');
    bool is_argument = colon != NULL && colon > text && colon[-1] != ':' && colon[1] != '\0' &&
                       strspn(colon + 1, "0123456789") == strlen(colon + 1);
    uint64_t argument = 0;
    if (!is_argument) {
        return NULL;
    }
    *ret_at = (size_t)(colon + 1 - text);
    if (!sonde__cli_parse_uint(colon + 1, SONDE__RULE_ARGUMENTS_MAX, &argument) || argument == 0) {
        return "expected the number of an argument, 1 to 6";
    }
    *ret_argument = (uint32_t)argument;
    *colon = '\0';
    return NULL;
}

const char *sonde__rules_pattern(const char *text, size_t *ret_at, bool *ret_is_symbol,
                                 bool *ret_is_not, const char **ret_glob)
{
    const char *at = text;
    *ret_is_not = *at == '!';
    at += *at == '!';
    while (is_blank(*at)) {
        at++;
    }
    *ret_is_symbol = strncmp(at, "symbol:", 7) == 0;
    *ret_at = (size_t)(at - text);
    if (!*ret_is_symbol && strncmp(at, "module:", 7) != 0) {
        return "expected module:PATTERN or symbol:PATTERN";
    }
    *ret_at += 7;
    *ret_glob = at + 7;
    return at[7] == '\0' ? "expected a pattern" : NULL;
}
