// SPDX-License-Identifier: Apache-2.0
/* Parses and writes rules. */
#include "scrub.h"

static const struct {
    const char *name;
    uint32_t bit;
} names[] = {
    {"home", SONDE__SCRUB_HOME},
    {"user", SONDE__SCRUB_USER},
    {"secrets", SONDE__SCRUB_SECRETS},
    {"queries", SONDE__SCRUB_QUERIES},
    {"ip", SONDE__SCRUB_IP},
    {"peers", SONDE__SCRUB_PEERS},
    {"arguments", SONDE__SCRUB_ARGUMENTS},
};
#define ALL 127u

void sonde__scrub_init(struct sonde__scrub_rules *rules)
{
    sonde__base_mem_set(rules, 0, sizeof *rules);
    rules->on = SONDE__SCRUB_DEFAULT;
}

static void copy(char *to, const char *from, size_t size)
{
    sonde__base_mem_copy(to, from, size);
    to[size] = '\0';
}

void sonde__scrub_set_home(struct sonde__scrub_rules *rules, const char *home)
{
    size_t size = sonde__base_str_length(home);
    while (size > 1 && home[size - 1] == '/') {
        size--;
    }
    if (home[0] == '/' && size > 1 && size < sizeof rules->home) {
        copy(rules->home, home, size);
    }
}

void sonde__scrub_add_name(struct sonde__scrub_rules *rules, const char *name)
{
    static const char *const system[] = {"root",     "nobody", "daemon", "user", "admin",
                                         "www-data", "bin",    "sys",    "mail", "main"};
    size_t size = sonde__base_str_length(name);
    if (size < 3 || size >= SONDE__SCRUB_NAME_BYTES ||
        rules->name_count == SONDE__SCRUB_NAMES_MAX ||
        sonde__base_is_one_of(name, system, sizeof system / sizeof *system)) {
        return;
    }
    copy(rules->names[rules->name_count++], name, size);
}

/* "text:WHAT", "path:WHAT=WITH" or "path:WHAT". */
static const char *add_text(struct sonde__scrub_rules *rules, const char *rule, size_t size,
                            bool is_path)
{
    struct sonde__scrub_text *t = &rules->texts[rules->text_count];
    const char *with = is_path ? "<path>" : "***";
    size_t what = 0;
    while (what < size && !(is_path && rule[what] == '=')) {
        what++;
    }
    size_t left = what < size ? size - what - 1 : sonde__base_str_length(with);
    with = what < size ? rule + what + 1 : with;
    while (is_path && what > 1 && rule[what - 1] == '/') {
        what--;
    }
    if (rules->text_count == SONDE__SCRUB_TEXTS_MAX) {
        return "more than 64 texts and paths";
    }
    if (what < 3 || what >= SONDE__SCRUB_TEXT_BYTES || left >= SONDE__SCRUB_NAME_BYTES) {
        return "a text has 3 to 255 bytes, what replaces it at most 63";
    }
    if (is_path && rule[0] != '/') {
        return "not an absolute path";
    }
    t->is_path = is_path;
    copy(t->text, rule, what);
    copy(t->with, with, left);
    rules->text_count++;
    return NULL;
}

static bool is_word(const char *rule, size_t size, const char *word)
{
    return size == sonde__base_str_length(word) && sonde__base_starts_with(rule, word);
}

/* "user:NAME" with any name, and "home:PATH". */
static const char *add_own(struct sonde__scrub_rules *rules, const char *value, size_t size,
                           bool is_home)
{
    if (is_home) {
        if (value[0] != '/' || size < 2 || size >= sizeof rules->home) {
            return "a home folder is an absolute path of at most 255 bytes";
        }
        copy(rules->home, value, size);
        return NULL;
    }
    if (size >= SONDE__SCRUB_NAME_BYTES || rules->name_count == SONDE__SCRUB_NAMES_MAX) {
        return "at most 8 users, whose names have at most 63 bytes";
    }
    copy(rules->names[rules->name_count++], value, size);
    return NULL;
}

/* Rules with a value; false: not such a rule. */
static bool add_value(struct sonde__scrub_rules *rules, const char *rule, size_t size,
                      const char **ret_wrong)
{
    static const char *const kinds[] = {"text:", "path:", "user:", "home:"};
    enum { KIND_BYTES = 5 };
    for (unsigned i = 0; i < 4; i++) {
        if (size > KIND_BYTES && sonde__base_starts_with(rule, kinds[i])) {
            rule += KIND_BYTES;
            size -= KIND_BYTES;
            *ret_wrong =
                i < 2 ? add_text(rules, rule, size, i == 1) : add_own(rules, rule, size, i == 3);
            return true;
        }
    }
    return false;
}

const char *sonde__scrub_add(struct sonde__scrub_rules *rules, const char *rule, size_t size)
{
    const char *wrong = NULL;
    bool off = size > 0 && rule[0] == '-';
    if (add_value(rules, rule, size, &wrong)) {
        return wrong;
    }
    if (is_word(rule, size, "all") || is_word(rule, size, "none")) {
        rules->on = rule[0] == 'a' ? ALL : 0;
        rules->text_count = rule[0] == 'a' ? rules->text_count : 0;
        return NULL;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (is_word(rule + off, size - off, names[i].name)) {
            rules->on = off ? rules->on & ~names[i].bit : rules->on | names[i].bit;
            return NULL;
        }
    }
    return "not home, user, secrets, queries, ip, peers, arguments, or one of them after -, all, "
           "none, text:TEXT, path:PATH=NAME, user:NAME or home:PATH";
}

static void put(struct sonde__text *text, const char *before, const char *value)
{
    sonde__base_text_str(text, before);
    sonde__base_text_str(text, value);
}

void sonde__scrub_write(const struct sonde__scrub_rules *rules, struct sonde__text *ret_text)
{
    put(ret_text, "none", "\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if ((rules->on & names[i].bit) != 0) {
            put(ret_text, names[i].name, "\n");
        }
    }
    if (rules->home[0] != '\0') {
        put(ret_text, "home:", rules->home);
        put(ret_text, "\n", "");
    }
    for (uint32_t i = 0; i < rules->name_count; i++) {
        put(ret_text, "user:", rules->names[i]);
        put(ret_text, "\n", "");
    }
    for (uint32_t i = 0; i < rules->text_count; i++) {
        const struct sonde__scrub_text *t = &rules->texts[i];
        put(ret_text, t->is_path ? "path:" : "text:", t->text);
        put(ret_text, t->is_path ? "=" : "", t->is_path ? t->with : "");
        put(ret_text, "\n", "");
    }
}
