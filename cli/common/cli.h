// SPDX-License-Identifier: Apache-2.0
/* What the commands of the `sonde` program share.
 *
 * A command is one file, cmd_NAME.c, that defines one `const struct sonde__cli_command`, and one
 * line in the table of main.c. Its options are data: name, function that reads the value, member of
 * the command's request. The parser and --help use the same table. Each message is one line on
 * stderr, "sonde NAME: ...". */
#ifndef SONDE_CLI_H
#define SONDE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sonde/status.h>

/* Exit codes of every command but `run`, which exits as its program does (docs/guide/cli.md). */
enum sonde__cli_exit {
    SONDE__CLI_OK = 0,
    SONDE__CLI_FAILED = 1,      /* for another reason than those below; see the message */
    SONDE__CLI_USAGE = 2,       /* wrong options or arguments */
    SONDE__CLI_ABSENT = 3,      /* no such process, thread or file */
    SONDE__CLI_DENIED = 4,      /* permission denied */
    SONDE__CLI_MALFORMED = 5,   /* the input is malformed or cut */
    SONDE__CLI_UNSUPPORTED = 6, /* a program or machine that sonde cannot read */
    SONDE__CLI_INCOMPLETE = 7,  /* some threads could not be read; all others are shown */
    SONDE__CLI_FOUND = 8,       /* what --fail-on asks for was found */
};

struct sonde__cli_option;

/* Read an option's value (null: it takes none) into its member. Returns null, or the error ("not
 * auto, always or never") with the member unchanged. */
typedef const char *sonde__cli_take(const struct sonde__cli_option *option, const char *value,
                                    void *member);

struct sonde__cli_option {
    const char *name;  /* long name without the dashes; null ends a table */
    char letter;       /* short name, or 0 */
    const char *value; /* placeholder in --help ("FILE"); null: the option takes no value */
    const char *help;  /* one sentence, wrapped by --help; null: hidden */
    sonde__cli_take *take;
    size_t member; /* offset in the request */
    /* for some of the functions below */
    uint64_t min, max;
    const char *const *words; /* null-terminated */
};

struct sonde__cli_command {
    const char *name;
    const char *summary; /* one line of `sonde help` */
    const char *usage;   /* text after "sonde NAME "; further forms after newlines */
    const char *about;   /* one or more paragraphs; lines of at most 78 columns */
    const struct sonde__cli_option *options;
    const char *examples;        /* lines, or null */
    bool options_before_operand; /* options end at the first operand (`run CMD -x`) */
    /* Prefix of environment variables that set options: "SONDE_WATCH_" for SONDE_WATCH_STALL ("1"
     * sets a flag). The command line overrides them. Null: none. */
    const char *environment;
    int (*run)(const struct sonde__cli_command *command, int argc, char **argv); /* exit code */
};

/* The program: cli_program.c is `sonde`. */
struct sonde__cli_program {
    const char *name;
    const char *about; /* a paragraph of its overview; lines of at most 78 columns */
};
extern const struct sonde__cli_program sonde__cli_program;

/* --- cli_args.c: options --- */

struct sonde__cli_operands {
    char **list; /* null-terminated; a part of argv */
    unsigned count;
};

/* Parse argv, whose first element is the command's name, into the request. Options take
 * "--name=value" and "--name value", "-nvalue" and "-n value"; operands may be mixed with them and
 * are moved to the front of argv. Returns SONDE__CLI_GO_ON, or an exit code after an error message
 * or --help. */
enum { SONDE__CLI_GO_ON = -1 };
int sonde__cli_parse(const struct sonde__cli_command *command, int argc, char **argv, void *request,
                     struct sonde__cli_operands *ret_operands);

/* Print "sonde NAME: MESSAGE (sonde NAME --help ...)"; returns SONDE__CLI_USAGE. */
int sonde__cli_usage_error(const struct sonde__cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns SONDE__CLI_GO_ON for at most one operand; else prints "one WHAT at a time, not also
 * OPERAND". */
int sonde__cli_one_operand(const struct sonde__cli_command *command,
                           const struct sonde__cli_operands *operands, const char *what);

/* --- cli_values.c: values of options --- */

enum { SONDE__CLI_LIST_MAX = 256 };
struct sonde__cli_list {
    const char *items[SONDE__CLI_LIST_MAX];
    unsigned count;
};

sonde__cli_take sonde__cli_take_flag;     /* bool: true */
sonde__cli_take sonde__cli_take_text;     /* const char * */
sonde__cli_take sonde__cli_take_list;     /* struct sonde__cli_list: appends an element */
sonde__cli_take sonde__cli_take_folders;  /* the same for an existing folder */
sonde__cli_take sonde__cli_take_number;   /* uint32_t, from min to max */
sonde__cli_take sonde__cli_take_duration; /* uint64_t, ns, from min to max (0: any) */
sonde__cli_take sonde__cli_take_word;     /* unsigned or an enum: the index in words */
sonde__cli_take sonde__cli_take_color;    /* enum sonde__cli_color */
sonde__cli_take sonde__cli_take_pid;      /* int32_t, > 0 */
sonde__cli_take sonde__cli_take_core;     /* const char *: a file; "-" is standard input */

/* Whole strings only. A duration is a number and one of ns us ms s m h ("250ms", "1.5s"). */
bool sonde__cli_parse_uint(const char *text, uint64_t max, uint64_t *ret_value);
bool sonde__cli_parse_duration(const char *text, uint64_t *ret_ns);
bool sonde__cli_parse_pid(const char *text, int32_t *ret_pid);

/* --- cli_help.c --- */

void sonde__cli_print_help(FILE *out, const struct sonde__cli_command *command);
/* commands: null-terminated. */
void sonde__cli_print_overview(FILE *out, const struct sonde__cli_command *const *commands);
/* The table of exit codes in --help of every command but `run`. */
extern const char *const sonde__cli_exit_help;

/* --- cli_output.c --- */

/* Call at start: closed standard files are replaced by files that fail when used, so that no file
 * opened later gets their numbers. Started programs see them as closed. */
void sonde__cli_hold_standard_files(void);
/* Flush stdout. Returns `exit_code`, or reports that something was not written and returns
 * SONDE__CLI_FAILED. main.c calls it after every command. */
int sonde__cli_finish_output(const struct sonde__cli_command *command, int exit_code);

/* One line on stderr, "sonde NAME: ...", with control characters visible. command may be null. */
void sonde__cli_error(const struct sonde__cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a failed call: "sonde NAME: SUBJECT: what (os error)". `subject` may be null.
 * Returns the exit code for the status. */
int sonde__cli_fail(const struct sonde__cli_command *command, const char *subject,
                    enum sonde_status status, const struct sonde_error *error);
/* The same for a failed libc call on a file, with its errno. */
int sonde__cli_fail_os(const struct sonde__cli_command *command, const char *path, int os_error);

enum sonde__cli_color { SONDE__CLI_COLOR_AUTO, SONDE__CLI_COLOR_ALWAYS, SONDE__CLI_COLOR_NEVER };
/* auto: if `out`, stdout or stderr, is a terminal other than "dumb" and NO_COLOR is not set
 * (no-color.org). */
bool sonde__cli_use_color(enum sonde__cli_color color, FILE *out);

/* --- cli_progress.c: progress of steps that take over a second, if stderr is a terminal --- */

struct sonde__cli_progress {
    const char *what; /* "reading threads" */
    uint64_t begin_ns, shown_ns;
    bool terminal;
};
void sonde__cli_progress_begin(struct sonde__cli_progress *progress, const char *what);
void sonde__cli_progress_step(struct sonde__cli_progress *progress, uint64_t done, uint64_t total);
/* Remove the line. */
void sonde__cli_progress_end(struct sonde__cli_progress *progress);

#endif
