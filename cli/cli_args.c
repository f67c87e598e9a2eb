// SPDX-License-Identifier: Apache-2.0
/* The option parser: one table a verb, one wording of errors for all.
 *
 * Not getopt_long: it accepts abbreviations (a script that says --js breaks when --jsx arrives),
 * words its own errors, keeps global state, and cannot print the help from the same table. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S ((uint64_t)1000000000)

void sonde__cli_args_init(struct sonde__cli_args *args, const struct sonde__cli_command *command,
                          int argc, char **argv)
{
    memset(args, 0, sizeof *args);
    args->command = command;
    args->argc = argc;
    args->argv = argv;
    args->at = 1;
}

int sonde__cli_usage_error(const struct sonde__cli_command *command, const char *format, ...)
{
    char message[512];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    sonde__cli_error(command, "%s (sonde %s --help tells more)", message, command->name);
    return SONDE__CLI_USAGE;
}

static int stop(struct sonde__cli_args *args, int exit_code)
{
    args->exit_code = exit_code;
    return SONDE__CLI_STOP;
}

static int stop_unknown(struct sonde__cli_args *args, const char *dashes, const char *name,
                        int name_length)
{
    sonde__cli_error(args->command, "unknown option %s%.*s (sonde %s --help lists them)", dashes,
                     name_length, name, args->command->name);
    return stop(args, SONDE__CLI_USAGE);
}

static int stop_help(struct sonde__cli_args *args)
{
    sonde__cli_print_help(stdout, args->command);
    return stop(args, SONDE__CLI_OK);
}

/* The value of an option that takes one: from the same argument, or the next one. */
static int with_value(struct sonde__cli_args *args, const struct sonde__cli_option *option,
                      const char *attached)
{
    args->value = attached;
    if (option->value == NULL) {
        if (attached != NULL) {
            return stop(args, sonde__cli_usage_error(args->command, "option --%s takes no value",
                                                     option->name));
        }
        return option->id;
    }
    if (attached == NULL) {
        if (args->at >= args->argc) {
            return stop(args, sonde__cli_usage_error(args->command, "option --%s needs a value: %s",
                                                     option->name, option->value));
        }
        args->value = args->argv[args->at++];
    }
    return option->id;
}

static int next_long(struct sonde__cli_args *args, const char *name)
{
    const char *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    if (strcmp(name, "help") == 0) {
        return stop_help(args);
    }
    for (const struct sonde__cli_option *o = args->command->options; o != NULL && o->id != 0; o++) {
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0) {
            return with_value(args, o, equals != NULL ? equals + 1 : NULL);
        }
    }
    return stop_unknown(args, "--", name, (int)length);
}

static int next_letter(struct sonde__cli_args *args)
{
    char letter = *args->letter++;
    const char *rest = *args->letter != '\0' ? args->letter : NULL;
    args->letter = rest;
    if (letter == 'h') {
        return stop_help(args);
    }
    for (const struct sonde__cli_option *o = args->command->options; o != NULL && o->id != 0; o++) {
        if (o->letter == letter) {
            if (o->value == NULL) {
                rest = NULL;
            } else {
                args->letter = NULL;
            }
            return with_value(args, o, rest);
        }
    }
    return stop_unknown(args, "-", &letter, 1);
}

int sonde__cli_next(struct sonde__cli_args *args)
{
    const char *arg;
    if (args->letter != NULL) {
        return next_letter(args);
    }
    if (args->at >= args->argc) {
        return SONDE__CLI_END;
    }
    arg = args->argv[args->at++];
    if (!args->operands_only && strcmp(arg, "--") == 0) {
        args->operands_only = true;
        return sonde__cli_next(args);
    }
    if (args->operands_only || arg[0] != '-' || arg[1] == '\0') { /* "-" is stdin */
        args->operands_only = args->operands_only || args->command->options_before_operand;
        args->value = arg;
        return SONDE__CLI_OPERAND;
    }
    if (arg[1] == '-') {
        return next_long(args, arg + 2);
    }
    args->letter = arg + 1;
    return next_letter(args);
}

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

/* The unit's nanoseconds; 0: no such unit. */
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

const char *sonde__cli_core_path(const char *value)
{
    return strcmp(value, "-") == 0 ? "/dev/stdin" : value;
}
