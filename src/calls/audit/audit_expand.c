// SPDX-License-Identifier: Apache-2.0
#include "audit_expand.h"

#include <stdio.h>
#include <string.h>

#include "base_glob.h"
#include "base_status.h"
#include "demangle.h"
#include "image_elf_format.h"

struct expansion {
    const struct sonde__audit_libraries *libraries;
    struct sonde__audit_list *list;
    char *text;
    size_t size;
    struct sonde_error *error;
};

/* The end of the name in demangled text: where its parameters begin. */
static size_t name_length(const char *demangled)
{
    unsigned depth = 0;
    static const char call[] = "operator()";
    for (const char *c = demangled; *c != '\0'; c++) {
        if (strncmp(c, call, sizeof call - 1) == 0) {
            c += sizeof call - 2;
        } else if (*c == '(' && depth == 0 && strncmp(c, "(anonymous", 10) != 0) {
            return (size_t)(c - demangled);
        } else {
            depth += *c == '<' || *c == '(';
            depth -= depth > 0 && (*c == '>' || *c == ')');
        }
    }
    return strlen(demangled);
}

bool sonde__audit_pattern_means(const char *pattern, const char *symbol)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    if (strpbrk(pattern, "(<:[ &~") == NULL) {
        return sonde__base_glob(pattern, symbol, false);
    }
    const char *name = strncmp(symbol, "_Z", 2) == 0 ? sonde__demangle(symbol, buffer) : symbol;
    if (name == symbol) {
        return false;
    }
    if (sonde__base_glob(pattern, name, false)) {
        return true;
    }
    buffer[name_length(buffer)] = '\0';
    return sonde__base_glob(pattern, buffer, false);
}

static enum sonde_status add(struct expansion *e, const char *pattern, const char *symbol)
{
    size_t size = strlen(symbol) + 1;
    if (size - 1 > SONDE__AUDIT_NAME_MAX || sonde__audit_list_has(e->list, symbol)) {
        return SONDE_OK;
    }
    if (e->list->count == SONDE__RECORD_FUNCTIONS || size > e->size) {
        return sonde__base_fail(e->error, SONDE_LIMIT, "more than 512 functions", pattern, 0, 0);
    }
    e->list->versions[e->list->count] = NULL;
    e->list->names[e->list->count++] = memcpy(e->text, symbol, size);
    e->text += size;
    e->size -= size;
    return SONDE_OK;
}

static enum sonde_status add_of(struct expansion *e,
                                const struct sonde__audit_library_file *library,
                                const char *pattern, uint32_t *ret_found, uint32_t *ret_long)
{
    struct sonde__elf_symbol symbol;
    enum sonde_status status = SONDE_OK;
    for (uint32_t at = 0;
         status == SONDE_OK && sonde__audit_next_definition(library, &at, &symbol);) {
        bool is_function = symbol.type == SONDE__STT_FUNC || symbol.type == SONDE__STT_GNU_IFUNC;
        if (is_function && sonde__audit_pattern_means(pattern, symbol.name)) {
            *ret_found += 1;
            *ret_long += strlen(symbol.name) > SONDE__AUDIT_NAME_MAX;
            status = add(e, pattern, symbol.name);
        }
    }
    return status;
}

static enum sonde_status add_all(struct expansion *e, const char *pattern, uint32_t *ret_found,
                                 uint32_t *ret_long)
{
    enum sonde_status status = SONDE_OK;
    for (size_t i = 0; i < e->libraries->count && status == SONDE_OK; i++) {
        status = add_of(e, &e->libraries->items[i], pattern, ret_found, ret_long);
    }
    return status;
}

enum sonde_status sonde__audit_expand(const struct sonde__audit_libraries *libraries,
                                      struct sonde__audit_list *list, char *text, size_t size,
                                      struct sonde__report_lines lines,
                                      struct sonde_error *ret_error)
{
    struct sonde__audit_list listed = *list;
    struct expansion e = {libraries, list, text, size, ret_error};
    list->count = 0;
    for (uint32_t i = 0; i < listed.count; i++) { /* names stay in front of patterns */
        if (!sonde__audit_list_is_pattern(listed.names[i])) {
            list->versions[list->count] = listed.versions[i];
            list->names[list->count++] = listed.names[i];
        }
    }
    for (uint32_t i = 0; i < listed.count; i++) {
        uint32_t found = 0, too_long = 0;
        if (!sonde__audit_list_is_pattern(listed.names[i])) {
            continue;
        }
        SONDE_TRY(add_all(&e, listed.names[i], &found, &too_long));
        if (found == 0) {
            sonde__report_line(
                lines, "%.200s: matches no function of the libraries that the program starts with",
                listed.names[i]);
        } else if (too_long != 0) {
            sonde__report_line(
                lines, "%.200s: %u of %u functions are not recorded: their names are too long",
                listed.names[i], (unsigned)too_long, (unsigned)found);
        }
    }
    return SONDE_OK;
}
