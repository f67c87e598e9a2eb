// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define NS_PER_MS ((uint64_t)1000000)
#define NS_PER_S  ((uint64_t)1000000000)

bool sonde__cli_parse_uint(const char *text, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        uint64_t digit = (uint64_t)(unsigned char)*text - '0';
        if (digit > 9 || digit > max || value > (max - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

/* Nanoseconds of a unit; 0: unknown unit. */
static uint64_t unit_ns(const char *unit)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},       {"us", 1000},         {"ms", 1000000},
                 {"s", NS_PER_S}, {"m", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].name) == 0) {
            return units[i].ns;
        }
    }
    return 0;
}

bool sonde__cli_parse_duration(const char *text, uint64_t *ret_ns)
{
    char number[24];
    size_t whole = strspn(text, "0123456789");
    const char *unit = text + whole;
    uint64_t value = 0;
    uint64_t part = 0;
    uint64_t scale = 1;
    uint64_t extra;
    uint64_t ns;
    if (whole == 0 || whole >= sizeof number) {
        return false;
    }
    memcpy(number, text, whole);
    number[whole] = '\0';
    if (!sonde__cli_parse_uint(number, UINT64_MAX / 2, &value)) {
        return false;
    }
    if (*unit == '.') {
        for (unit++; *unit >= '0' && *unit <= '9' && scale <= NS_PER_S; unit++) {
            part = part * 10 + (uint64_t)(*unit - '0');
            scale *= 10;
        }
    }
    ns = unit_ns(unit);
    /* part < scale <= 1e10, so a double holds the fraction of an hour to less than a nanosecond */
    extra = (uint64_t)((double)part / (double)scale * (double)ns + 0.5);
    if (ns == 0 || value > (UINT64_MAX / 2 - extra) / ns) {
        return false;
    }
    *ret_ns = value * ns + extra;
    return true;
}

bool sonde__cli_parse_pid(const char *text, int32_t *ret_pid)
{
    uint64_t pid;
    if (!sonde__cli_parse_uint(text, INT32_MAX, &pid) || pid == 0) {
        return false;
    }
    *ret_pid = (int32_t)pid;
    return true;
}

/* --- values of options: see cli.h --- */

/* Error text of the last call below. */
static char wrong[256];

const char *sonde__cli_take_flag(const struct sonde__cli_option *option, const char *value,
                                 void *member)
{
    (void)option, (void)value;
    *(bool *)member = true;
    return NULL;
}

/* An empty value is mostly an unset variable of a script. */
static const char *check_empty(const char *value)
{
    return *value == '\0' ? "must not be empty" : NULL;
}

const char *sonde__cli_take_text(const struct sonde__cli_option *option, const char *value,
                                 void *member)
{
    (void)option;
    *(const char **)member = value;
    return check_empty(value);
}

const char *sonde__cli_take_core(const struct sonde__cli_option *option, const char *value,
                                 void *member)
{
    return sonde__cli_take_text(option, strcmp(value, "-") == 0 ? "/dev/stdin" : value, member);
}

const char *sonde__cli_take_list(const struct sonde__cli_option *option, const char *value,
                                 void *member)
{
    struct sonde__cli_list *list = member;
    (void)option;
    if (list->count == SONDE__CLI_LIST_MAX) {
        snprintf(wrong, sizeof wrong, "given more than %d times", SONDE__CLI_LIST_MAX);
        return wrong;
    }
    list->items[list->count++] = value;
    return check_empty(value);
}

const char *sonde__cli_take_folders(const struct sonde__cli_option *option, const char *value,
                                    void *member)
{
    struct stat st;
    if (*value != '\0' && (stat(value, &st) != 0 || !S_ISDIR(st.st_mode))) {
        return "not a folder that can be read";
    }
    return sonde__cli_take_list(option, value, member);
}

const char *sonde__cli_take_number(const struct sonde__cli_option *option, const char *value,
                                   void *member)
{
    uint64_t number;
    if (!sonde__cli_parse_uint(value, option->max, &number) || number < option->min) {
        snprintf(wrong, sizeof wrong, "not a number from %" PRIu64 " to %" PRIu64, option->min,
                 option->max);
        return wrong;
    }
    *(uint32_t *)member = (uint32_t)number;
    return NULL;
}

static void write_duration(char *text, size_t capacity, uint64_t ns)
{
    const char *unit = ns % NS_PER_MS != 0 ? "ns" : ns % NS_PER_S != 0 ? "ms" : "s";
    uint64_t per = ns % NS_PER_MS != 0 ? 1 : ns % NS_PER_S != 0 ? NS_PER_MS : NS_PER_S;
    snprintf(text, capacity, "%" PRIu64 "%s", ns / per, unit);
}

const char *sonde__cli_take_duration(const struct sonde__cli_option *option, const char *value,
                                     void *member)
{
    uint64_t ns;
    char min[32], max[32];
    if (sonde__cli_parse_duration(value, &ns) && ns >= option->min &&
        (option->max == 0 || ns <= option->max)) {
        *(uint64_t *)member = ns;
        return NULL;
    }
    write_duration(min, sizeof min, option->min);
    write_duration(max, sizeof max, option->max);
    snprintf(wrong, sizeof wrong, "not a duration (as 500ms, 1.5s, 2m, 1h) from %s%s%s", min,
             option->max != 0 ? " to " : " on", option->max != 0 ? max : "");
    return wrong;
}

static const char *take_word(const char *const *words, const char *value, void *member)
{
    size_t used = 0;
    for (unsigned i = 0; words[i] != NULL; i++) {
        if (strcmp(value, words[i]) == 0) {
            *(unsigned *)member = i;
            return NULL;
        }
    }
    for (unsigned i = 0; words[i] != NULL && used < sizeof wrong; i++) {
        const char *between = i == 0 ? "not " : words[i + 1] != NULL ? ", " : " or ";
        used += (size_t)snprintf(wrong + used, sizeof wrong - used, "%s%s", between, words[i]);
    }
    return wrong;
}

const char *sonde__cli_take_word(const struct sonde__cli_option *option, const char *value,
                                 void *member)
{
    return take_word(option->words, value, member);
}

const char *sonde__cli_take_color(const struct sonde__cli_option *option, const char *value,
                                  void *member)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    (void)option;
    return take_word(words, value, member);
}

const char *sonde__cli_take_pid(const struct sonde__cli_option *option, const char *value,
                                void *member)
{
    (void)option;
    return sonde__cli_parse_pid(value, member) ? NULL : "not a process id";
}
