// SPDX-License-Identifier: Apache-2.0
/* Output errors of stdout are reported; each message on stderr is one line, which a terminal gets
 * fitted.
 *
 * SIGPIPE keeps the disposition that the program was started with, so `sonde ... | head` ends like
 * any other tool. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_fit.h"

void sonde__cli_hold_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
            /* wrong direction on purpose: use fails with EBADF, as on a closed file */
            int opened = open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
            if (opened > fd) { /* cannot happen: open() returns the lowest free number */
                close(opened);
            }
        }
    }
}

int sonde__cli_finish_output(const struct sonde__cli_command *command, int exit_code)
{
    sonde__cli_fit_output_end();
    bool failed = ferror(stdout) != 0;
    if (failed) {
        /* the errno of an earlier failure is lost: write again to get it */
        clearerr(stdout);
        putchar('\n');
    }
    errno = 0;
    if (fflush(stdout) != 0 || failed) {
        sonde__cli_error(command, "standard output: %s",
                         errno != 0 ? strerror(errno) : "the output is incomplete");
        return exit_code == SONDE__CLI_OK ? SONDE__CLI_FAILED : exit_code;
    }
    return exit_code;
}

void sonde__cli_error(const struct sonde__cli_command *command, const char *format, ...)
{
    static struct sonde__report_fit fit;
    struct sonde__report_out out;
    char message[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    fflush(stdout); /* keep stdout and stderr in order */
    sonde__cli_fit_begin(&fit, stderr);
    sonde__report_out_init(&out, sonde__report_fit_sink(&fit), false);
    sonde__report_out_print(&out, "%s%s%s: %s\n", sonde__cli_program.name,
                            command != NULL ? " " : "", command != NULL ? command->name : "",
                            message);
    sonde__report_out_flush(&out);
    sonde__report_fit_end(&fit);
}

static int exit_code_of(enum sonde_status status)
{
    switch (status) {
    case SONDE_OK:
        return SONDE__CLI_OK;
    case SONDE_USAGE:
        return SONDE__CLI_USAGE;
    case SONDE_ABSENT:
    case SONDE_AMBIGUOUS:
        return SONDE__CLI_ABSENT;
    case SONDE_DENIED:
        return SONDE__CLI_DENIED;
    case SONDE_CORRUPT:
        return SONDE__CLI_MALFORMED;
    case SONDE_UNSUPPORTED:
        return SONDE__CLI_UNSUPPORTED;
    default:
        return SONDE__CLI_FAILED;
    }
}

/* Does the text contain the path? As a whole path, because a file can be called "cut". */
static bool is_named_in(const char *text, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = strstr(text, path); at != NULL; at = strstr(at + 1, path)) {
        bool is_start = at == text || strchr(" '\"(", at[-1]) != NULL;
        if (is_start && (at[length] == '\0' || strchr(":;,)'\"", at[length]) != NULL)) {
            return true;
        }
    }
    return false;
}

int sonde__cli_fail(const struct sonde__cli_command *command, const char *subject,
                    enum sonde_status status, const struct sonde_error *error)
{
    const char *what = sonde_status_text(status);
    const char *reason = NULL;
    if (error != NULL && error->status == status && error->what[0] != '\0') {
        what = error->what;
        if (error->os_error != 0) {
            reason = strerror(error->os_error);
        }
    }
    /* do not repeat a reason that the library's text has already */
    if (reason != NULL && strcasestr(what, reason) != NULL) {
        reason = NULL;
    }
    if (subject != NULL && is_named_in(what, subject)) {
        subject = NULL;
    }
    sonde__cli_error(command, "%s%s%s%s%s", subject != NULL ? subject : "",
                     subject != NULL ? ": " : "", what, reason != NULL ? ": " : "",
                     reason != NULL ? reason : "");
    return exit_code_of(status);
}

int sonde__cli_fail_os(const struct sonde__cli_command *command, const char *path, int os_error)
{
    sonde__cli_error(command, "%s: %s", path, strerror(os_error));
    switch (os_error) {
    case ENOENT:
    case ENOTDIR:
        return SONDE__CLI_ABSENT;
    case EACCES:
    case EPERM:
    case EROFS:
        return SONDE__CLI_DENIED;
    default:
        return SONDE__CLI_FAILED;
    }
}

bool sonde__cli_use_color(enum sonde__cli_color color, FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (color != SONDE__CLI_COLOR_AUTO) {
        return color == SONDE__CLI_COLOR_ALWAYS;
    }
    return (no_color == NULL || no_color[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0 &&
           isatty(out == stderr ? STDERR_FILENO : STDOUT_FILENO) == 1;
}
