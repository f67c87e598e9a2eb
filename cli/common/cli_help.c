// SPDX-License-Identifier: Apache-2.0
/* --help, printed from the same tables that the parser reads. */
#include "cli.h"

#include <string.h>

enum { HELP_COLUMN = 26, HELP_WIDTH = 78 };

const char *const sonde__cli_exit_help =
    "  0  done\n"
    "  1  failed, for a reason that the message says\n"
    "  2  wrong options or arguments\n"
    "  3  no such process, thread or file\n"
    "  4  permission denied\n"
    "  5  malformed or cut input (what is whole in it is shown)\n"
    "  6  a program or machine that sonde cannot read\n"
    "  7  some threads could not be read, some differences not be compared (all others\n"
    "     are shown)\n"
    "  8  --fail-on of diff, export and privacy: there is what was asked about\n";

/* Words of `text`, broken at HELP_WIDTH; lines after the first are indented to HELP_COLUMN. */
static void print_wrapped(FILE *out, const char *text, size_t column)
{
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column + 1 + word > HELP_WIDTH && column > HELP_COLUMN) {
            fprintf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const struct sonde__cli_option *option)
{
    char left[80];
    char letter[8] = "    ";
    size_t length;
    if (option->letter != 0) {
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name,
             option->value != NULL ? "=" : "", option->value != NULL ? option->value : "");
    length = strlen(left);
    fputs(left, out);
    if (length + 2 > HELP_COLUMN) {
        fputc('\n', out);
        length = 0;
    }
    fprintf(out, "%*s", (int)(HELP_COLUMN - length), "");
    print_wrapped(out, option->help, HELP_COLUMN);
}

static void print_usage(FILE *out, const struct sonde__cli_command *command)
{
    const char *form = command->usage;
    const char *lead = "usage:";
    for (;;) {
        size_t length = strcspn(form, "\n");
        fprintf(out, "%s %s %s%s%.*s\n", lead, sonde__cli_program.name, command->name,
                length > 0 ? " " : "", (int)length, form);
        if (form[length] == '\0') {
            return;
        }
        form += length + 1;
        lead = "      ";
    }
}

void sonde__cli_print_help(FILE *out, const struct sonde__cli_command *command)
{
    static const struct sonde__cli_option common[] = {
        {"wide", 0, NULL, "do not fit lines to the terminal", NULL},
        {"help", 'h', NULL, "print this", NULL},
    };
    print_usage(out, command);
    fprintf(out, "\n%s\n\nOptions:\n", command->about);
    for (const struct sonde__cli_option *o = command->options; o != NULL && o->name != NULL; o++) {
        if (o->help != NULL) {
            print_option(out, o);
        }
    }
    print_option(out, &common[0]);
    print_option(out, &common[1]);
    if (command->examples != NULL) {
        fprintf(out, "\nExamples:\n%s", command->examples);
    }
}

void sonde__cli_print_overview(FILE *out, const struct sonde__cli_command *const *commands)
{
    fprintf(out, "usage: %s COMMAND [OPTION...] [ARGUMENT...]\n\n%s\nCommands:\n",
            sonde__cli_program.name, sonde__cli_program.about);
    for (size_t i = 0; commands[i] != NULL; i++) {
        fprintf(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    }
    fprintf(out, "\n`%s COMMAND --help` shows the help of one.\n", sonde__cli_program.name);
}
