// SPDX-License-Identifier: Apache-2.0
/* Adds scope and parameters to functions whose debug information has only plain names.
 *
 * gcc gives no linkage name to functions local to a unit (lambdas, anonymous namespaces), and clang
 * at -g1 to none at all. The symbol at the function's code has the name: an Itanium encoding that
 * contains the plain name. Inlined calls have no symbol, so their names stay plain. A clone
 * (".isra.0", ".cold") gets the name of its function, as it does from a linkage name. */
#include <string.h>

#include "base_search.h"
#include "convert.h"
#include "mem_heap.h"

/* Aliases compared at most: identical code folding makes some dozens. */
enum { STD_NAMES = 6, LENGTH_DIGITS = 12, ALIASES_MAX = 256 };

static bool is_encoded(const struct string *name)
{
    return name->size > 2 && name->text[0] == '_' && (name->text[1] == 'Z' || name->text[1] == 'R');
}

/* Size of a symbol's name without a suffix after the encoding. */
static uint32_t encoded_size(const struct string *name)
{
    const char *dot = memchr(name->text, '.', name->size);
    return dot != NULL ? (uint32_t)(dot - name->text) : name->size;
}

static bool contains(const struct string *name, const char *part, size_t size)
{
    return memmem(name->text, name->size, part, size) != NULL;
}

/* Classes of the standard library with two-letter encodings (Itanium ABI §5.1.10). */
static bool is_abbreviated(const char *plain, size_t size)
{
    static const char *const names[STD_NAMES] = {"basic_string",  "allocator",      "basic_istream",
                                                 "basic_ostream", "basic_iostream", "string"};
    for (unsigned i = 0; i < STD_NAMES; i++) {
        if (strlen(names[i]) == size && memcmp(names[i], plain, size) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_operator(const struct string *plain)
{
    return plain->size > 8 && memcmp(plain->text, "operator", 8) == 0 && !is_word(plain->text[8]);
}

/* Can a function with this plain name have this symbol? Symbols have codes for operators. */
static bool is_name_of(const struct string *symbol, const struct string *plain)
{
    char part[LENGTH_DIGITS + CONVERT_NAME_MAX + 1];
    const char *at = plain->text;
    const char *arguments;
    size_t size = plain->size;
    uint32_t digits = LENGTH_DIGITS;
    if (!is_encoded(symbol)) {
        return false;
    }
    if (is_operator(plain)) {
        return true;
    }
    if (size > 1 && at[0] == '~') {
        at++;
        size--;
    }
    arguments = memchr(at, '<', size);
    size = arguments != NULL && arguments != at ? (size_t)(arguments - at) : size;
    if (size == 0 || size > CONVERT_NAME_MAX) {
        return false;
    }
    for (size_t left = size; left != 0; left /= 10) {
        part[--digits] = (char)('0' + left % 10);
    }
    memcpy(part + LENGTH_DIGITS, at, size);
    return contains(symbol, part + digits, LENGTH_DIGITS - digits + size) ||
           is_abbreviated(at, size);
}

static uint32_t without_clone(struct convert *c, uint32_t name)
{
    const struct string text = c->strings.all[name];
    uint32_t size = encoded_size(&text);
    return size != text.size ? convert_string(c, text.text, size) : name;
}

/* Is this the symbol's name without a clone suffix? */
static bool is_same(const struct string *symbol, const struct string *plain)
{
    return encoded_size(symbol) == plain->size &&
           memcmp(symbol->text, plain->text, plain->size) == 0;
}

/* The encoded name for a plain one, from the symbol that covers an address. 0: none, or the plain
 * name is itself a symbol there, because linkers fold identical functions. */
static uint32_t find_encoded(struct convert *c, uint32_t at, uint32_t plain)
{
    /* the first symbol behind it */
    size_t after = SONDE__SEARCH(0, c->symbol_count, i, c->symbols[i].start <= at);
    if (after == 0 || at - c->symbols[after - 1].start >= c->symbols[after - 1].size) {
        return 0;
    }
    uint32_t symbol = (uint32_t)(after - 1);
    size_t first = convert_first_alias(c, symbol), end = first;
    uint32_t found = 0, own = c->symbols[symbol].name;
    if (is_same(&c->strings.all[own], &c->strings.all[plain])) {
        return 0;
    }
    found = is_name_of(&c->strings.all[own], &c->strings.all[plain]) ? own : 0;
    for (; end < c->alias_count && end - first < ALIASES_MAX && c->aliases[end].symbol == symbol;
         end++) {
        uint32_t name = c->aliases[end].name;
        if (is_same(&c->strings.all[name], &c->strings.all[plain])) {
            return 0;
        }
        if (found == 0 && is_name_of(&c->strings.all[name], &c->strings.all[plain])) {
            found = name;
        }
    }
    return found != 0 ? without_clone(c, found) : 0;
}

static bool any_encoded(const struct convert *c)
{
    for (size_t i = 0; i < c->symbol_count; i++) {
        if (is_encoded(&c->strings.all[c->symbols[i].name])) {
            return true;
        }
    }
    return false;
}

void convert_outer_names(struct convert *c)
{
    enum { SAID, PLAIN };
    uint8_t *kinds; /* by scope: does its outermost function have a plain name? */
    if (!any_encoded(c) || c->scope_count == 0) {
        return;
    }
    kinds = sonde__mem_alloc_zeroed(c->scope_count);
    if (kinds == NULL) {
        c->status = SONDE_MEMORY;
        return;
    }
    for (size_t i = 0; i < c->scope_count; i++) { /* callers come before their inlined calls */
        const struct scope *scope = &c->scopes[i];
        kinds[i] = scope->parent != CONVERT_NONE ? kinds[scope->parent]
                   : scope->name != 0 && !is_encoded(&c->strings.all[scope->name]) ? PLAIN
                                                                                   : SAID;
    }
    for (size_t i = 0; i < c->piece_count && c->status == SONDE_OK; i++) {
        uint32_t scope = c->pieces[i].scope;
        if (scope == CONVERT_NONE || kinds[scope] == SAID) {
            continue;
        }
        kinds[scope] = c->scopes[scope].parent != CONVERT_NONE ? SAID : PLAIN;
        while (c->scopes[scope].parent != CONVERT_NONE) {
            scope = c->scopes[scope].parent;
        }
        if (kinds[scope] == PLAIN) {
            uint32_t name = find_encoded(c, c->pieces[i].start, c->scopes[scope].name);
            c->scopes[scope].name = name != 0 ? name : c->scopes[scope].name;
            kinds[scope] = SAID;
        }
    }
    sonde__mem_free(kinds);
}
