// SPDX-License-Identifier: Apache-2.0
#include "audit_list.h"

#include <string.h>

#include "arch_regs.h"
#include "arch_syscall.h"
#include "base_status.h"
#include "hook_method.h"

#define SYSCALL "syscall:"

int64_t sonde__audit_list_number(const char *name)
{
    return strncmp(name, SYSCALL, strlen(SYSCALL)) == 0
               ? sonde__arch_syscall_number(SONDE__ARCH_HOST, name + strlen(SYSCALL))
               : -1;
}

/* What symbols are made of; C++ names are mangled here. */
static bool is_name(const char *text)
{
    struct sonde__hook_method_name method;
    if (sonde__hook_method_parse(text, &method)) {
        return strlen(text) <= SONDE__AUDIT_METHOD_MAX;
    }
    for (const char *c = text; *c != '\0'; c++) {
        bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!is_letter && *c != '_' && *c != '$' && *c != '.' &&
            (c == text || *c < '0' || *c > '9')) {
            return false;
        }
    }
    return *text != '\0' && strlen(text) <= SONDE__AUDIT_NAME_MAX;
}

bool sonde__audit_list_has(const struct sonde__audit_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

enum sonde_status sonde__audit_list_parse(char *text, struct sonde__audit_list *ret_list,
                                          struct sonde_error *ret_error)
{
    uint64_t line = 0;
    ret_list->count = 0;
    while (text != NULL && *text != '\0') {
        char *next = strchr(text, '\n');
        line++;
        if (next != NULL) {
            *next++ = '\0';
        }
        text[strcspn(text, "#\r")] = '\0';
        text += strspn(text, " \t");
        for (char *end = text + strlen(text); end > text && (end[-1] == ' ' || end[-1] == '\t');) {
            *--end = '\0';
        }
        if (strncmp(text, SYSCALL, strlen(SYSCALL)) == 0 && sonde__audit_list_number(text) < 0) {
            return sonde__base_fail(ret_error, SONDE_CORRUPT, "no system call of this name", text,
                                    0, line);
        }
        if (*text != '\0' && !is_name(text) && sonde__audit_list_number(text) < 0) {
            return sonde__base_fail(ret_error, SONDE_CORRUPT, "not the name of a function", text, 0,
                                    line);
        }
        if (*text != '\0' && !sonde__audit_list_has(ret_list, text)) {
            if (ret_list->count == SONDE__RECORD_FUNCTIONS) {
                return sonde__base_fail(ret_error, SONDE_LIMIT, "more than 512 functions", text, 0,
                                        line);
            }
            ret_list->names[ret_list->count++] = text;
        }
        text = next;
    }
    return ret_list->count > 0 ? SONDE_OK
                               : sonde__base_fail(ret_error, SONDE_ABSENT,
                                                  "no function is named in it", NULL, 0, 0);
}

bool sonde__audit_list_has_methods(const struct sonde__audit_list *list)
{
    struct sonde__hook_method_name method;
    for (uint32_t i = 0; i < list->count; i++) {
        if (sonde__hook_method_parse(list->names[i], &method)) {
            return true;
        }
    }
    return false;
}
