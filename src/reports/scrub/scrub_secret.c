// SPDX-License-Identifier: Apache-2.0
/* Secrets: values after words that announce them, in options, variables, headers and JSON; tokens
 * with a known form; logins and queries of URLs. */
#include "scrub_parts.h"

#define HIDDEN "***"

/* Endings of words that announce a secret. Compared without "-" and "_". */
static const char *const secrets[] = {
    "password",    "passwd",    "passphrase", "pwd",       "secret", "token",         "apikey",
    "accesskey",   "secretkey", "privatekey", "authkey",   "auth",   "authorization", "credential",
    "credentials", "cookie",    "sessionid",  "signature", "jwt",
};
/* Words too short to be compared as endings. */
static const char *const words[] = {"pass", "sig", "sid", "bearer"};

enum { KEY_MAX = 64 };

static bool ends_with(const char *text, size_t size, const char *end)
{
    size_t length = sonde__base_str_length(end);
    if (length > size) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[size - length + i] != end[i]) {
            return false;
        }
    }
    return true;
}

/* Compares the word in lower case and without dashes; of a longer word the last KEY_MAX letters. */
static bool is_secret(const struct scrub_place *place, size_t size)
{
    char key[KEY_MAX];
    size_t used = 0;
    for (size_t i = size > KEY_MAX ? size - KEY_MAX : 0; i < size; i++) {
        char c = scrub_byte(place, i);
        if (c != '-' && c != '_') {
            key[used++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
    }
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        if (ends_with(key, used, secrets[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (used == sonde__base_str_length(words[i]) && ends_with(key, used, words[i])) {
            return true;
        }
    }
    return false;
}

/* Number of bytes up to a quote or the end of the text. */
static size_t to_quote(const struct scrub_place *place, size_t offset, char quote)
{
    size_t size = 0;
    while (place->at + offset + size < place->size && scrub_byte(place, offset + size) != quote) {
        size++;
    }
    return size;
}

/* Size of the value at an offset: in quotes; or up to the quote that began before its word; or up
 * to a space, without a ")" or "," that closes the text around it. */
static size_t value_at(const struct scrub_place *place, size_t offset, bool is_json)
{
    char quote = scrub_byte(place, offset), before = scrub_before(place);
    if (quote == '"' || quote == '\'') {
        size_t size = 1;
        while (place->at + offset + size < place->size &&
               scrub_byte(place, offset + size) != quote) {
            size += scrub_byte(place, offset + size) == '\\' ? 2 : 1;
        }
        size++;
        return place->at + offset + size <= place->size ? size : place->size - place->at - offset;
    }
    if (!is_json && (before == '"' || before == '\'')) {
        return to_quote(place, offset, before);
    }
    size_t size = scrub_run(place, offset, "");
    while (size > 1 && (scrub_byte(place, offset + size - 1) == ')' ||
                        scrub_byte(place, offset + size - 1) == ',')) {
        size--;
    }
    return size;
}

/* Size of the separator between a word of `key` bytes and its value; 0: no value follows. */
static size_t separator_at(const struct scrub_place *place, size_t key)
{
    char c = scrub_byte(place, key), next = scrub_byte(place, key + 1);
    bool is_option = scrub_byte(place, 0) == '-',
         is_bearer = scrub_follows(place, 0, "bearer", true);
    if (c == '=') {
        return 1;
    }
    if ((c == '"' || c == '\'') && next == ':') { /* JSON */
        return scrub_byte(place, key + 2) == ' ' ? 3 : 2;
    }
    if (c == ':' && (next == ' ' || !place->is_method)) {
        return next == ' ' ? 2 : next == ':' ? 0 : 1;
    }
    return c == ' ' && ((is_option && next != '-') || (is_bearer && key == 6)) ? 1 : 0;
}

/* The scheme of "Basic dXNlcg==" stays. */
static size_t scheme_at(const struct scrub_place *place, size_t offset)
{
    static const char *const schemes[] = {"basic ", "bearer ", "digest ", "token ", "negotiate "};
    for (unsigned i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (scrub_follows(place, offset, schemes[i], true)) {
            return sonde__base_str_length(schemes[i]);
        }
    }
    return 0;
}

size_t scrub_secret(const struct scrub_place *place)
{
    size_t key = 0;
    if ((place->rules->on & SONDE__SCRUB_SECRETS) == 0 || scrub_is_word(scrub_before(place))) {
        return 0;
    }
    while (scrub_is_word(scrub_byte(place, key))) {
        key++;
    }
    size_t separator = key != 0 && is_secret(place, key) ? separator_at(place, key) : 0;
    size_t begin = key + separator;
    if (separator == 0) {
        return 0;
    }
    begin += scheme_at(place, begin);
    size_t value =
        value_at(place, begin, scrub_byte(place, key) == '"' || scrub_byte(place, key) == '\'');
    if (value == 0) {
        return 0;
    }
    char quote = scrub_byte(place, begin); /* stays, so that a reader sees the end of the value */
    bool is_quoted = quote == '"' || quote == '\'';
    sonde__base_text_bytes(place->out, place->text + place->at, begin + is_quoted);
    sonde__base_text_str(place->out, HIDDEN);
    if (is_quoted) {
        sonde__base_text_char(place->out, quote);
    }
    return begin + value;
}

/* Tokens of known services and JSON web tokens: a prefix and a minimum number of letters. */
size_t scrub_shape(const struct scrub_place *place)
{
    static const char *const prefixes[] = {"ghp_",  "gho_",  "ghs_",   "github_pat_", "glpat-",
                                           "xoxb-", "xoxp-", "sk-",    "AKIA",        "eyJ",
                                           "hf_",   "npm_",  "dop_v1_"};
    enum { LETTERS_MIN = 16 };
    size_t size = 0;
    if ((place->rules->on & SONDE__SCRUB_SECRETS) == 0 || scrub_is_word(scrub_before(place))) {
        return 0;
    }
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (!scrub_follows(place, 0, prefixes[i], false)) {
            continue;
        }
        while (scrub_is_word(scrub_byte(place, size)) || scrub_byte(place, size) == '.') {
            size++;
        }
        if (size >= sonde__base_str_length(prefixes[i]) + LETTERS_MIN) {
            sonde__base_text_str(place->out, HIDDEN);
            return size;
        }
        return 0;
    }
    return 0;
}

/* The part between "//" and "@" of "postgres://app:x@host/". */
size_t scrub_login(const struct scrub_place *place)
{
    if ((place->rules->on & SONDE__SCRUB_SECRETS) == 0 || !scrub_follows(place, 0, "://", false)) {
        return 0;
    }
    size_t size = scrub_run(place, 3, "/'\"");
    size_t at = size;
    while (at > 0 && scrub_byte(place, 3 + at - 1) != '@') {
        at--;
    }
    if (at < 2) {
        return 0;
    }
    sonde__base_text_str(place->out, "://" HIDDEN "@");
    return 3 + at;
}

size_t scrub_query(const struct scrub_place *place)
{
    size_t key = 1;
    if ((place->rules->on & SONDE__SCRUB_QUERIES) == 0 || scrub_byte(place, 0) != '?') {
        return 0;
    }
    while (scrub_is_word(scrub_byte(place, key)) || scrub_byte(place, key) == '.' ||
           scrub_byte(place, key) == '%' || scrub_byte(place, key) == '[' ||
           scrub_byte(place, key) == ']') {
        key++;
    }
    if (key == 1 || scrub_byte(place, key) != '=') {
        return 0;
    }
    size_t size = scrub_run(place, 1, "'\"#");
    while (size > 0 && (scrub_byte(place, size) == ')' || scrub_byte(place, size) == ',')) {
        size--;
    }
    sonde__base_text_str(place->out, "?" HIDDEN);
    return 1 + size;
}
