// SPDX-License-Identifier: Apache-2.0
/* Options in a file. The order is that of collector_parse(): the file, then the environment, then
 * the command line, each over what is before it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

enum { LINES_MAX = 1000 };

const struct sonde__cli_option *collector_config_options;

/* The file: of --config, else of $SONDE_COLLECTOR_CONFIG; null: none. */
static const char *find_path(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--config=", 9) == 0) {
            return argv[i] + 9;
        }
        if (strcmp(argv[i], "--config") == 0) {
            return argv[i + 1]; /* null at the end: the parser says so */
        }
    }
    const char *path = getenv("SONDE_COLLECTOR_CONFIG");
    return path != NULL && path[0] != '\0' ? path : NULL;
}

static const struct sonde__cli_option *find_option(const struct sonde__cli_option *options,
                                                   const char *name)
{
    for (const struct sonde__cli_option *o = options; o->name != NULL; o++) {
        if (strcmp(o->name, name) == 0 && strcmp(name, "config") != 0) {
            return o;
        }
    }
    return NULL;
}

/* Cut white space at both ends. */
static char *trim(char *text)
{
    text += strspn(text, " \t\r\n");
    for (size_t size = strlen(text); size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL;) {
        text[--size] = '\0';
    }
    return text;
}

/* Values stay until the program ends. */
static struct value {
    struct value *next;
    char text[];
} * values;

static const char *keep(const char *text)
{
    size_t size = strlen(text) + 1;
    struct value *value = malloc(sizeof *value + size);
    if (value == NULL) {
        return NULL;
    }
    memcpy(value->text, text, size);
    value->next = values;
    values = value;
    return value->text;
}

/* Take a line: "name = value", or nothing after a "#". Returns null or the error. */
static const char *take_line(const struct sonde__cli_command *command, char *line, void *request)
{
    char *name = trim(line), *value = strchr(name, '=');
    if (name[0] == '\0' || name[0] == '#') {
        return NULL;
    }
    if (value == NULL) {
        return "\"name = value\" is expected";
    }
    *value++ = '\0';
    name = trim(name);
    if (find_option(collector_config_options, name) == NULL) {
        return "no option of serve has this name";
    }
    const struct sonde__cli_option *option = find_option(command->options, name);
    const char *kept = option != NULL ? keep(trim(value)) : NULL;
    if (option == NULL) {
        return NULL; /* of the server, but not of this command */
    }
    return kept == NULL ? "no memory"
                        : option->take(option, kept, (char *)request + option->member);
}

static int take_file(const struct sonde__cli_command *command, const char *path, void *request)
{
    char line[1024];
    const char *wrong = NULL;
    unsigned number = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return sonde__cli_fail_os(command, path, errno);
    }
    while (wrong == NULL && number < LINES_MAX && fgets(line, sizeof line, file) != NULL) {
        number++;
        bool is_whole = strchr(line, '\n') != NULL || feof(file);
        wrong = is_whole ? take_line(command, line, request) : "the line is too long";
    }
    int os_error = ferror(file) ? errno : 0; /* as of a folder */
    if (wrong == NULL && number == LINES_MAX) {
        wrong = "too many lines";
    }
    fclose(file);
    if (os_error != 0) {
        return sonde__cli_fail_os(command, path, os_error);
    }
    if (wrong != NULL) {
        sonde__cli_error(command, "%s:%u: %s", path, number, wrong);
        return SONDE__CLI_USAGE;
    }
    return SONDE__CLI_GO_ON;
}

const char *collector_take_config(const struct sonde__cli_option *option, const char *value,
                                  void *member)
{
    (void)option, (void)value, (void)member;
    return NULL;
}

int collector_parse(const struct sonde__cli_command *command, int argc, char **argv, void *request,
                    struct sonde__cli_operands *ret_operands)
{
    const char *path = find_path(argc, argv);
    int exit_code = path != NULL ? take_file(command, path, request) : SONDE__CLI_GO_ON;
    return exit_code == SONDE__CLI_GO_ON
               ? sonde__cli_parse(command, argc, argv, request, ret_operands)
               : exit_code;
}
