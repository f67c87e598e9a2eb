// SPDX-License-Identifier: Apache-2.0
#include "audit_list.h"

#include <stdio.h>
#include <string.h>

#include "arch_regs.h"
#include "arch_syscall.h"
#include "base_status.h"
#include "base_text.h"
#include "hook_method.h"

#define SYSCALL "syscall:"

int64_t sonde__audit_list_number(const char *name)
{
    return strncmp(name, SYSCALL, strlen(SYSCALL)) == 0
               ? sonde__arch_syscall_number(SONDE__ARCH_HOST, name + strlen(SYSCALL))
               : -1;
}

/* Where a line is wrong, and what was expected there. */
struct flaw {
    const char *at;
    const char *what;
};

static bool is_in_name(const char *text, const char *c)
{
    bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    return is_letter || *c == '_' || *c == '$' || *c == '.' ||
           (c != text && *c >= '0' && *c <= '9');
}

bool sonde__audit_list_is_pattern(const char *text)
{
    struct sonde__hook_method_name method;
    return !sonde__hook_method_parse(text, &method) &&
           (strpbrk(text, "*?(<") != NULL || strstr(text, "::") != NULL ||
            strncmp(text, "operator ", 9) == 0);
}

/* A pattern of symbols, or a C++ name as people write it. */
static bool check_pattern(const char *text, struct flaw *flaw)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((*c < ' ' || *c > '~' || strchr("/;\"'\\#@", *c) != NULL) && flaw->at == NULL) {
            *flaw = (struct flaw){c, "expected a character of a C++ name, * or ?"};
        }
    }
    return flaw->at == NULL;
}

/* A symbol, a method or a system call, by its characters. */
static bool check(const char *text, struct flaw *flaw)
{
    struct sonde__hook_method_name method;
    size_t most = SONDE__AUDIT_NAME_MAX;
    if (strncmp(text, SYSCALL, strlen(SYSCALL)) == 0) {
        *flaw = (struct flaw){text + strlen(SYSCALL), "no system call of this name here"};
        return sonde__audit_list_number(text) >= 0;
    }
    if (sonde__hook_method_parse(text, &method)) {
        most = SONDE__AUDIT_METHOD_MAX;
    } else if (text[0] == '-' || text[0] == '+' || text[0] == '[') {
        *flaw = (struct flaw){text, "expected -[Class selector] or +[Class selector]"};
        return false;
    } else if (sonde__audit_list_is_pattern(text)) {
        return check_pattern(text, flaw);
    } else {
        const char *c = text;
        while (*c != '\0' && is_in_name(text, c)) {
            c++;
        }
        if (*c != '\0' || c == text) {
            *flaw = (struct flaw){c, c == text ? "expected the name of a function"
                                               : "expected a letter, a digit, _ $ . * or ?"};
            return false;
        }
    }
    *flaw = (struct flaw){text + most, "the name is too long"};
    return strlen(text) <= most;
}

bool sonde__audit_list_has(const struct sonde__audit_list *list, const char *name)
{
    return sonde__base_is_one_of(name, (const char *const *)list->names, list->count);
}

/* Cut a line: its text without comment and blanks. */
static char *trim(char *text)
{
    text[strcspn(text, "#\r")] = '\0';
    text += strspn(text, " \t");
    for (char *end = text + strlen(text); end > text && (end[-1] == ' ' || end[-1] == '\t');) {
        *--end = '\0';
    }
    return text;
}

/* Cut off "@VERSION" or "@@VERSION"; null: there is none. */
static char *take_version(char *text)
{
    char *at = strchr(text, '@');
    if (at == NULL || at == text || sonde__audit_list_is_pattern(text)) {
        return NULL;
    }
    char *version = at + 1 + (at[1] == '@');
    for (const char *c = version; *c != '\0'; c++) {
        if (!is_in_name("", c)) {
            return NULL;
        }
    }
    if (*version == '\0') {
        return NULL;
    }
    *at = '\0';
    return version;
}

const char *sonde__audit_list_wrong(const char *text, size_t *ret_at)
{
    struct flaw flaw = {NULL, NULL};
    char name[SONDE__AUDIT_NAME_MAX + 1];
    *ret_at = SONDE__AUDIT_NAME_MAX;
    if (strlen(text) > SONDE__AUDIT_NAME_MAX) {
        return "the name is too long";
    }
    memcpy(name, text, strlen(text) + 1);
    (void)take_version(name);
    if (check(name, &flaw)) {
        return NULL;
    }
    *ret_at = (size_t)(flaw.at - name);
    return flaw.what;
}

enum sonde_status sonde__audit_list_add(struct sonde__audit_list *list, char *name, uint64_t line,
                                        struct sonde_error *ret_error)
{
    const char *version = take_version(name);
    if (version != NULL) {
        name[strlen(name)] = '@'; /* hook.h takes both */
        if (strlen(name) > SONDE__AUDIT_NAME_MAX) {
            return sonde__base_fail(ret_error, SONDE_CORRUPT,
                                    "the name with its version is too long", name, 0, line);
        }
    }
    if (sonde__audit_list_has(list, name)) {
        return SONDE_OK;
    }
    if (list->count == SONDE__RECORD_FUNCTIONS) {
        return sonde__base_fail(ret_error, SONDE_LIMIT, "more than 512 functions", name, 0, line);
    }
    list->versions[list->count] = version;
    list->names[list->count++] = name;
    return SONDE_OK;
}

enum sonde_status sonde__audit_list_parse(char *text, const struct sonde__audit_list_flaws *flaws,
                                          struct sonde__audit_list *ret_list,
                                          struct sonde_error *ret_error)
{
    uint64_t line = 0;
    ret_list->count = 0;
    while (text != NULL && *text != '\0') {
        char *begin = text, *next = strchr(text, '\n');
        struct flaw flaw = {NULL, NULL};
        char name[SONDE__AUDIT_LINE_MAX + 1] = "";
        line++;
        if (next != NULL) {
            *next++ = '\0';
        }
        text = trim(text);
        size_t length = strlen(text);
        if (length >
            0) { /* checked without its version; the version stays if the rest is no name */
            memcpy(name, text, length < sizeof name ? length + 1 : sizeof name - 1);
            (void)take_version(name);
        }
        if (length > 0 && !check(name, &flaw)) {
            char what[SONDE__AUDIT_LINE_MAX + 100];
            unsigned column = (unsigned)(text - begin + (flaw.at - name)) + 1;
            snprintf(what, sizeof what, "column %u: %s: %s", column, flaw.what, text);
            enum sonde_status status =
                sonde__base_fail(ret_error, SONDE_CORRUPT, what, NULL, 0, line);
            if (flaws == NULL) {
                return status;
            }
            flaws->each(flaws->ctx, line, what);
        } else if (length > 0) {
            SONDE_TRY(sonde__audit_list_add(ret_list, text, line, ret_error));
        }
        text = next;
    }
    return ret_list->count > 0 ? SONDE_OK
                               : sonde__base_fail(ret_error, SONDE_ABSENT,
                                                  "no function is named in it", NULL, 0, 0);
}
