// SPDX-License-Identifier: Apache-2.0
#include "findings_suppress.h"

#include <string.h>

#include "base_glob.h"
#include "base_status.h"
#include "demangle.h"
#include "mem_heap.h"

#define UNTIL " until "
#define BY    " by "

/* One line of the file, NUL-terminated. */
struct line {
    char *text;
    uint32_t number;
    struct sonde__suppress_error *error;
};

static enum sonde_status fail(const struct line *line, const char *at, const char *expected)
{
    *line->error =
        (struct sonde__suppress_error){line->number, (uint32_t)(at - line->text) + 1, expected};
    return SONDE_CORRUPT;
}

static bool is_digits(const char *text, size_t size)
{
    return strspn(text, "0123456789") >= size;
}

/* "2027-06-30", followed by a space or the end. */
static bool is_date(const char *text)
{
    static const char days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (!is_digits(text, 4) || text[4] != '-' || !is_digits(text + 5, 2) || text[7] != '-' ||
        !is_digits(text + 8, 2) || (text[10] != ' ' && text[10] != '\0')) {
        return false;
    }
    int month = (text[5] - '0') * 10 + text[6] - '0', day = (text[8] - '0') * 10 + text[9] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
}

/* "1:" and 32 digits, as the whole text. */
static bool is_fingerprint(const char *text)
{
    size_t version = strspn(text, "0123456789");
    return version > 0 && text[version] == ':' &&
           strspn(text + version + 1, "0123456789abcdef") == 32 && text[version + 33] == '\0' &&
           version + 34 <= SONDE__REPORT_CALL_KEY_TEXT;
}

static char *skip_spaces(char *text)
{
    return text + strspn(text, " \t");
}

/* What is suppressed: the text before " until ", which ends there. */
static enum sonde_status read_what(const struct line *line, char *what,
                                   struct sonde__suppression *s)
{
    char *by = strstr(what, BY);
    if (is_fingerprint(what)) {
        memcpy(s->fingerprint, what, strlen(what) + 1);
        return SONDE_OK;
    }
    if (by == NULL || by == what) {
        return fail(line, what, "a fingerprint, or RULE by FUNCTION");
    }
    *by = '\0';
    s->rule = what;
    s->function = skip_spaces(by + strlen(BY));
    return *s->function != '\0' ? SONDE_OK : fail(line, s->function, "a function after by");
}

static enum sonde_status read_line(const struct line *line, const char *today,
                                   struct sonde__suppression *s)
{
    char *what = skip_spaces(line->text);
    char *until = strstr(what, UNTIL);
    *s = (struct sonde__suppression){.line = line->number};
    if (until == NULL) {
        return fail(line, what + strlen(what), "until DATE REASON");
    }
    char *date = skip_spaces(until + strlen(UNTIL));
    if (!is_date(date)) {
        return fail(line, date, "a date, YYYY-MM-DD");
    }
    s->reason = skip_spaces(date + 10);
    if (*s->reason == '\0') {
        return fail(line, s->reason, "a reason");
    }
    memcpy(s->until, date, 10);
    s->is_expired = strcmp(s->until, today) < 0;
    while (until > what && (until[-1] == ' ' || until[-1] == '\t')) {
        until--;
    }
    *until = '\0';
    return read_what(line, what, s);
}

/* End the line at its newline, and cut spaces off. Returns the next line. */
static char *end_line(char *text)
{
    size_t size = strcspn(text, "\n");
    char *next = text + size + (text[size] == '\n');
    while (size > 0 && strchr(" \t\r", text[size - 1]) != NULL) {
        size--;
    }
    text[size] = '\0';
    return next;
}

static enum sonde_status read_lines(struct sonde__suppressions *s, const char *end,
                                    const char *today, struct sonde__suppress_error *error)
{
    char *next = s->text;
    for (uint32_t number = 1; next < end; number++) {
        struct line line = {next, number, error};
        next = end_line(next);
        const char *first = skip_spaces(line.text);
        if (*first == '\0' || *first == '#') {
            continue;
        }
        if (strlen(line.text) > SONDE__SUPPRESS_LINE) {
            return fail(&line, line.text + SONDE__SUPPRESS_LINE, "a shorter line");
        }
        if (s->count == SONDE__SUPPRESSIONS_MAX) {
            return fail(&line, line.text, "no more than 4096 suppressions");
        }
        SONDE_TRY(read_line(&line, today, &s->list[s->count]));
        s->count++;
    }
    return SONDE_OK;
}

static uint32_t count_lines(const char *text, size_t size)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < size && lines < SONDE__SUPPRESSIONS_MAX; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

enum sonde_status sonde__suppressions_read(const void *bytes, size_t size, const char *today,
                                           struct sonde__suppressions *ret,
                                           struct sonde__suppress_error *ret_error)
{
    struct sonde__suppressions s = {0};
    *ret_error = (struct sonde__suppress_error){0};
    const char *nul = size > 0 ? memchr(bytes, '\0', size) : NULL;
    if (nul != NULL) {
        uint32_t lines = 1;
        for (const char *at = bytes; at < nul; at++) {
            lines += *at == '\n';
        }
        *ret_error = (struct sonde__suppress_error){lines, 1, "text without NUL"};
        return SONDE_CORRUPT;
    }
    s.text = sonde__mem_alloc(size + 1);
    s.list = sonde__mem_alloc_array(count_lines(bytes, size), sizeof *s.list);
    enum sonde_status status = s.text != NULL && s.list != NULL ? SONDE_OK : SONDE_MEMORY;
    if (status == SONDE_OK) {
        if (size > 0) {
            memcpy(s.text, bytes, size);
        }
        s.text[size] = '\0';
        status = read_lines(&s, s.text + size, today, ret_error);
    }
    if (status != SONDE_OK) {
        sonde__suppressions_done(&s);
        return status;
    }
    *ret = s;
    return SONDE_OK;
}

void sonde__suppressions_done(struct sonde__suppressions *suppressions)
{
    sonde__mem_free(suppressions->list);
    sonde__mem_free(suppressions->text);
    *suppressions = (struct sonde__suppressions){0};
}

static bool matches(const char *pattern, const char *text)
{
    return sonde__base_glob(pattern, text, false);
}

/* Does a function of the program in the stack match, by its stored or its decoded name? */
static bool has_function(const char *pattern, const struct sonde__report *report,
                         const struct sonde__report_call_key *key)
{
    char decoded[SONDE__DEMANGLE_OUTPUT_MAX], name[SONDE__DEMANGLE_INPUT_MAX];
    for (uint32_t i = 0; i < key->count; i++) {
        const struct sonde__report_element *e = &key->functions[i].element;
        struct sonde__report_element_name text = sonde__report_element_name(report, e);
        if (e->name == 0 || text.size >= sizeof name) {
            continue;
        }
        memcpy(name, text.bytes, text.size);
        name[text.size] = '\0';
        if (matches(pattern, name) || matches(pattern, sonde__demangle(name, decoded))) {
            return true;
        }
    }
    return false;
}

static bool is_meant(const struct sonde__suppression *s, const struct sonde__report *report,
                     const struct sonde__report_call *call,
                     const struct sonde__report_call_key *key)
{
    char id[SONDE__REPORT_CALL_KEY_TEXT];
    if (s->fingerprint[0] != '\0') {
        sonde__report_call_key_text(&key->hash, id);
        return sonde__report_call_key_is_stable(key) && strcmp(s->fingerprint, id) == 0;
    }
    uint32_t rule = sonde__report_rule(report, call->rule)->name;
    return matches(s->rule, sonde__report_text(report, rule != 0 ? rule : call->function)) &&
           has_function(s->function, report, key);
}

const struct sonde__suppression *
sonde__suppressions_find(const struct sonde__suppressions *suppressions,
                         const struct sonde__report *report, const struct sonde__report_call *call,
                         const struct sonde__report_call_key *key)
{
    for (uint32_t i = 0; i < suppressions->count; i++) {
        const struct sonde__suppression *s = &suppressions->list[i];
        if (!s->is_expired && is_meant(s, report, call, key)) {
            return s;
        }
    }
    return NULL;
}
