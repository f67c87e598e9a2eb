// SPDX-License-Identifier: Apache-2.0
#include "cli_report.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "report_write.h"

static bool write_stream(void *ctx, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, ctx) == size;
}

struct sonde__report_sink sonde__cli_sink(FILE *out)
{
    return (struct sonde__report_sink){write_stream, out};
}

void sonde__cli_report_header(struct sonde__report_header *ret_header)
{
    static char os[2 * sizeof((struct utsname *)0)->sysname + 2];
    struct utsname name;
    struct timespec now;
    memset(ret_header, 0, sizeof *ret_header);
    os[0] = '\0';
    if (uname(&name) == 0) {
        snprintf(os, sizeof os, "%s %s", name.sysname, name.release);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    ret_header->tool = "sonde " SONDE_VERSION;
    ret_header->os = os;
    ret_header->executable = "";
    ret_header->arch = "";
    ret_header->source = "";
    ret_header->time_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static enum sonde_status write_report_bytes(void *ctx, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, ctx) == size ? SONDE_OK : SONDE_OS;
}

static enum sonde_status write_whole(const struct sonde__report *report, FILE *file)
{
    struct sonde__report_writer *writer;
    enum sonde_status status = sonde__report_writer_create(NULL, write_report_bytes, file, &writer);
    if (status == SONDE_OK) {
        status = sonde__report_writer_finish(writer, report);
        sonde__report_writer_destroy(writer);
    }
    return status;
}

int sonde__cli_write_report(const struct sonde__cli_command *command,
                            const struct sonde__report *report, const char *path)
{
    bool to_stdout = strcmp(path, "-") == 0;
    FILE *file = to_stdout ? stdout : fopen(path, "we");
    enum sonde_status status;
    int reason;
    if (file == NULL) {
        reason = errno;
        sonde__cli_error(command, "%s: %s", path, strerror(reason));
        return reason == EACCES || reason == EPERM ? SONDE__CLI_DENIED : SONDE__CLI_FAILED;
    }
    errno = 0;
    status = write_whole(report, file);
    reason = errno;
    if (to_stdout) {
        return status == SONDE_OK ? SONDE__CLI_OK : SONDE__CLI_FAILED; /* main says the reason */
    }
    if (fclose(file) != 0 && status == SONDE_OK) {
        reason = errno;
        status = SONDE_OS;
    }
    if (status != SONDE_OK) {
        sonde__cli_error(command, "%s: %s", path,
                         status == SONDE_OS && reason != 0 ? strerror(reason)
                                                           : sonde_status_text(status));
        return SONDE__CLI_FAILED;
    }
    return SONDE__CLI_OK;
}
