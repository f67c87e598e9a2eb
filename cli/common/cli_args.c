// SPDX-License-Identifier: Apache-2.0
/* The option parser: one table for each command, the same error texts for all.
 *
 * getopt_long accepts abbreviations (a script with --js breaks when --jsx is added), has its own
 * error texts and global state, and cannot print the help from the same table. */
#include "cli.h"

#include <stdarg.h>
#include <string.h>

#include "cli_fit.h"
#include "host_self.h"

struct args {
    const struct sonde__cli_command *command;
    char **argv;
    int argc, at; /* at: the next element */
    char *request;
};

int sonde__cli_usage_error(const struct sonde__cli_command *command, const char *format, ...)
{
    char message[512];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    sonde__cli_error(command, "%s (see %s %s --help)", message, sonde__cli_program.name,
                     command->name);
    return SONDE__CLI_USAGE;
}

int sonde__cli_one_operand(const struct sonde__cli_command *command,
                           const struct sonde__cli_operands *operands, const char *what)
{
    return operands->count <= 1 ? SONDE__CLI_GO_ON
                                : sonde__cli_usage_error(command, "one %s at a time, not also %s",
                                                         what, operands->list[1]);
}

static int print_unknown(const struct args *args, const char *dashes, const char *name, size_t size)
{
    sonde__cli_error(args->command, "unknown option %s%.*s (%s %s --help lists them)", dashes,
                     (int)size, name, sonde__cli_program.name, args->command->name);
    return SONDE__CLI_USAGE;
}

static int print_help(const struct args *args)
{
    sonde__cli_print_help(stdout, args->command);
    return SONDE__CLI_OK;
}

/* attached: the value in the same argument, or null. */
static int take_option(struct args *args, const struct sonde__cli_option *option,
                       const char *attached)
{
    if (option->value == NULL && attached != NULL) {
        return sonde__cli_usage_error(args->command, "option --%s takes no value", option->name);
    }
    if (option->value != NULL && attached == NULL) {
        if (args->at >= args->argc) {
            return sonde__cli_usage_error(args->command, "option --%s needs a value: %s",
                                          option->name, option->value);
        }
        attached = args->argv[args->at++];
    }
    const char *wrong = option->take(option, attached, args->request + option->member);
    return wrong == NULL ? SONDE__CLI_GO_ON
                         : sonde__cli_usage_error(args->command, "--%s: %s: %s", option->name,
                                                  wrong, attached);
}

static int take_long(struct args *args, const char *name)
{
    const char *equals = strchr(name, '=');
    size_t size = equals != NULL ? (size_t)(equals - name) : strlen(name);
    if (strcmp(name, "help") == 0) {
        return print_help(args);
    }
    if (strcmp(name, "wide") == 0) {
        sonde__cli_fit_nothing();
        return SONDE__CLI_GO_ON;
    }
    for (const struct sonde__cli_option *o = args->command->options; o != NULL && o->name != NULL;
         o++) {
        if (strlen(o->name) == size && memcmp(o->name, name, size) == 0) {
            return take_option(args, o, equals != NULL ? equals + 1 : NULL);
        }
    }
    return print_unknown(args, "--", name, size);
}

/* "jd9": letters without a value; the last one may take one. */
static int take_letters(struct args *args, const char *letters)
{
    int exit_code = SONDE__CLI_GO_ON;
    while (*letters != '\0' && exit_code == SONDE__CLI_GO_ON) {
        char letter = *letters++;
        const struct sonde__cli_option *o = args->command->options;
        if (letter == 'h') {
            return print_help(args);
        }
        while (o != NULL && o->name != NULL && o->letter != letter) {
            o++;
        }
        if (o == NULL || o->name == NULL) {
            return print_unknown(args, "-", &letter, 1);
        }
        bool has_value = o->value != NULL && *letters != '\0';
        exit_code = take_option(args, o, has_value ? letters : NULL);
        letters = o->value != NULL ? "" : letters;
    }
    return exit_code;
}

/* The option's environment variable: PREFIX and its name in capitals, with "-" as "_". */
static const char *read_variable(const char *prefix, const struct sonde__cli_option *option,
                                 char ret_name[64])
{
    size_t n = (size_t)snprintf(ret_name, 64, "%s%s", prefix, option->name);
    for (char *c = ret_name; *c != '\0'; c++) {
        *c = *c == '-' ? '_' : (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    }
    return n < 64 ? sonde__host_environment(ret_name) : NULL;
}

static int take_variables(const struct args *args)
{
    char name[64];
    const struct sonde__cli_option *o = args->command->options;
    for (; args->command->environment != NULL && o != NULL && o->name != NULL; o++) {
        const char *value =
            o->help != NULL ? read_variable(args->command->environment, o, name) : NULL;
        if (value == NULL || value[0] == '\0' || (o->value == NULL && strcmp(value, "0") == 0)) {
            continue;
        }
        if (o->value == NULL && strcmp(value, "1") != 0) {
            return sonde__cli_usage_error(args->command, "%s: not 0 or 1: %s", name, value);
        }
        const char *wrong = o->take(o, value, args->request + o->member);
        if (wrong != NULL) {
            return sonde__cli_usage_error(args->command, "%s: %s: %s", name, wrong, value);
        }
    }
    return SONDE__CLI_GO_ON;
}

int sonde__cli_parse(const struct sonde__cli_command *command, int argc, char **argv, void *request,
                     struct sonde__cli_operands *ret_operands)
{
    struct args args = {command, argv, argc, 1, request};
    struct sonde__cli_operands operands = {argv + 1, 0};
    bool operands_only = false;
    int exit_code = take_variables(&args);
    while (args.at < argc && exit_code == SONDE__CLI_GO_ON) {
        char *arg = argv[args.at++];
        if (!operands_only && strcmp(arg, "--") == 0) {
            operands_only = true;
        } else if (operands_only || arg[0] != '-' || arg[1] == '\0') { /* "-" is stdin */
            operands.list[operands.count++] = arg;
            operands_only = operands_only || command->options_before_operand;
        } else {
            exit_code = arg[1] == '-' ? take_long(&args, arg + 2) : take_letters(&args, arg + 1);
        }
    }
    operands.list[operands.count] = NULL;
    *ret_operands = operands;
    return exit_code;
}
