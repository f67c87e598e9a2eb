// SPDX-License-Identifier: Apache-2.0
/* What the verbs of the `sonde` program share.
 *
 * A verb is one file, cmd_VERB.c, that defines one `const struct sonde__cli_command`, and one line
 * in the table of main.c. Its options are data: the parser and --help both read the same table, so
 * that they cannot disagree. Every message goes to stderr as one line "sonde VERB: ...".
 *
 *     while ((id = sonde__cli_next(&args)) != SONDE__CLI_END) {
 *         switch (id) {
 *         case OPTION_JSON: json = true; break;
 *         case SONDE__CLI_OPERAND: pid_text = args.value; break;
 *         default: return args.exit_code;      // SONDE__CLI_STOP: --help, or an error was said
 *         }
 *     }
 */
#ifndef SONDE_CLI_H
#define SONDE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sonde/status.h>

/* Exit codes, for every verb but `run`, which ends as its program does (docs/guide/cli.md). */
enum sonde__cli_exit {
    SONDE__CLI_OK = 0,
    SONDE__CLI_FAILED = 1,      /* for another reason than those below; the message says it */
    SONDE__CLI_USAGE = 2,       /* wrong options or arguments */
    SONDE__CLI_ABSENT = 3,      /* no such process, thread or file */
    SONDE__CLI_DENIED = 4,      /* permission denied */
    SONDE__CLI_MALFORMED = 5,   /* the input is not what it should be, or was cut */
    SONDE__CLI_UNSUPPORTED = 6, /* a program or machine that sonde cannot read */
    SONDE__CLI_INCOMPLETE = 7,  /* some threads could not be read; all others are shown */
};

struct sonde__cli_option {
    int id;            /* > 0, what sonde__cli_next() answers; 0 ends a table */
    const char *name;  /* long name without the dashes */
    char letter;       /* short name, or 0 */
    const char *value; /* what stands for its value in --help ("FILE"); null: takes none */
    const char *help;  /* one sentence; wrapped by --help; null: not shown there */
};

struct sonde__cli_command {
    const char *name;
    const char *summary; /* one line of `sonde help` */
    const char *usage;   /* what follows "sonde NAME "; further forms after newlines */
    const char *about;   /* a paragraph or some; lines of at most 78 columns */
    const struct sonde__cli_option *options;
    const char *examples;        /* lines, or null */
    bool options_before_operand; /* options end at the first operand (`run CMD -x`) */
    int (*run)(const struct sonde__cli_command *command, int argc, char **argv); /* exit code */
};

/* --- cli_args.c: options --- */

enum { SONDE__CLI_END = 0, SONDE__CLI_OPERAND = -1, SONDE__CLI_STOP = -2 };

struct sonde__cli_args {
    const struct sonde__cli_command *command;
    int argc;
    char **argv;
    int at;             /* next element of argv */
    const char *letter; /* rest of a cluster of short options */
    bool operands_only; /* "--" was seen, or options_before_operand and an operand */
    const char *value;  /* of the option just answered (null: takes none), or the operand */
    int exit_code;      /* after SONDE__CLI_STOP */
};

/* argv[0] is the verb. */
void sonde__cli_args_init(struct sonde__cli_args *args, const struct sonde__cli_command *command,
                          int argc, char **argv);
/* The id of the next option, or SONDE__CLI_OPERAND, _END or _STOP. -h and --help are answered here.
 * Long options take "--name=value" and "--name value", short ones "-nvalue" and "-n value". */
int sonde__cli_next(struct sonde__cli_args *args);

/* Say "sonde VERB: MESSAGE (sonde VERB --help ...)" and return SONDE__CLI_USAGE. */
int sonde__cli_usage_error(const struct sonde__cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whole strings only. A duration is a number and one of ns us ms s m h ("250ms", "1.5s"). */
bool sonde__cli_parse_uint(const char *text, uint64_t max, uint64_t *ret_value);
bool sonde__cli_parse_duration(const char *text, uint64_t *ret_ns);
/* The file that --core names: "-" is standard input. */
const char *sonde__cli_core_path(const char *value);

/* --- cli_help.c --- */

void sonde__cli_print_help(FILE *out, const struct sonde__cli_command *command);
/* commands: null-terminated. */
void sonde__cli_print_overview(FILE *out, const struct sonde__cli_command *const *commands);
/* The table of exit codes, as --help of every verb but `run` shows it. */
extern const char *const sonde__cli_exit_help;

/* --- cli_output.c --- */

/* At start: what was closed of the three standard files becomes one that fails when used, so that
 * no file opened later takes its number. Programs that are started see it closed as before. */
void sonde__cli_hold_standard_files(void);
/* Flush stdout; if anything could not be written, say so and return SONDE__CLI_FAILED, else
 * `exit_code`. Every verb returns through it (main.c does that). */
int sonde__cli_finish_output(const struct sonde__cli_command *command, int exit_code);

/* One line on stderr, "sonde VERB: ...", control characters made visible. command may be null. */
void sonde__cli_error(const struct sonde__cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a failed call: "sonde VERB: SUBJECT: what (os error)". `subject` may be null.
 * Returns the exit code that stands for the status. */
int sonde__cli_fail(const struct sonde__cli_command *command, const char *subject,
                    enum sonde_status status, const struct sonde_error *error);

enum sonde__cli_color { SONDE__CLI_COLOR_AUTO, SONDE__CLI_COLOR_ALWAYS, SONDE__CLI_COLOR_NEVER };
/* "auto", "always", "never". */
bool sonde__cli_parse_color(const char *text, enum sonde__cli_color *ret_color);
/* Auto: a terminal that is not "dumb", and NO_COLOR is not set (no-color.org). */
bool sonde__cli_use_color(enum sonde__cli_color color, FILE *out);

/* --- cli_progress.c: on stderr, if that is a terminal, for what takes over a second --- */

struct sonde__cli_progress {
    const char *what; /* "reading threads" */
    uint64_t begin_ns, shown_ns;
    bool terminal;
};
void sonde__cli_progress_begin(struct sonde__cli_progress *progress, const char *what);
void sonde__cli_progress_step(struct sonde__cli_progress *progress, uint64_t done, uint64_t total);
/* Removes the line. */
void sonde__cli_progress_end(struct sonde__cli_progress *progress);

#endif
