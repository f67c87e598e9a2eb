// SPDX-License-Identifier: Apache-2.0
#include "cli_report.h"

#include <errno.h>
#include <string.h>

#include "drain_origin.h"

void sonde__cli_json_begin(struct sonde__json *json, struct sonde__report_out *out)
{
    sonde__report_out_init(out, sonde__cli_sink(stdout), false);
    sonde__json_init_compact(json, out);
}

void sonde__cli_json_end(struct sonde__json *json)
{
    sonde__json_close(json);
    sonde__report_out_str(json->out, "\n");
    sonde__report_out_flush(json->out);
}

const char *const sonde__cli_styles[] = {"sonde", "callstack", "bs", "glibc", NULL};

const char *sonde__cli_take_top(const struct sonde__cli_option *option, const char *value,
                                void *member)
{
    uint64_t top = UINT32_MAX;
    (void)option;
    if (strcmp(value, "all") != 0 &&
        (!sonde__cli_parse_uint(value, UINT32_MAX - 1, &top) || top == 0)) {
        return "neither a number of stacks, 1 or more, nor all";
    }
    *(uint32_t *)member = (uint32_t)top;
    return NULL;
}

const char *sonde__cli_take_severity(const struct sonde__cli_option *option, const char *value,
                                     void *member)
{
    static const char *const severities[] = {"note", "warning", "error", NULL};
    struct sonde__cli_option words = *option;
    unsigned word = 0;
    words.words = severities;
    const char *wrong = sonde__cli_take_word(&words, value, &word);
    if (wrong == NULL) {
        *(uint32_t *)member = (uint32_t)SONDE__REPORT_SEVERITY_NOTE + word;
    }
    return wrong;
}

void sonde__cli_view_print(struct sonde__cli_view *view, const struct sonde__report *report)
{
    view->view.color = sonde__cli_use_color(view->color, stdout);
    if (view->json) {
        sonde__report_json_view(report, &view->view, sonde__cli_sink(stdout));
    } else if (view->style != SONDE_STYLE_SONDE) {
        sonde__report_style_view(report, view->style, sonde__cli_sink(stdout));
    } else {
        sonde__cli_fit_output();
        sonde__report_text_view(report, &view->view, sonde__cli_sink(stdout));
    }
}

void sonde__cli_report_header(struct sonde__report_header *ret_header)
{
    static struct sonde__drain_origin origin;
    memset(ret_header, 0, sizeof *ret_header);
    sonde__drain_origin(&origin, ret_header);
    ret_header->tool = "sonde " SONDE_VERSION;
    ret_header->executable = "";
    ret_header->arch = "";
    ret_header->source = "";
}

static enum sonde_status write_report_bytes(void *ctx, const void *bytes, size_t size)
{
    struct sonde__cli_report_file *file = ctx;
    errno = 0;
    /* flush now, because a killed process loses buffered data */
    if (fwrite(bytes, 1, size, file->file) == size && fflush(file->file) == 0) {
        return SONDE_OK;
    }
    file->os_error = errno;
    return SONDE_OS;
}

int sonde__cli_report_open(const struct sonde__cli_command *command, const char *path,
                           struct sonde__cli_report_file *ret_file)
{
    int reason;
    memset(ret_file, 0, sizeof *ret_file);
    ret_file->path = path;
    ret_file->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (ret_file->file != NULL) {
        /* the writer points to ret_file, which must not move */
        ret_file->status =
            sonde__report_writer_create(NULL, write_report_bytes, ret_file, &ret_file->writer);
        return SONDE__CLI_OK;
    }
    reason = errno;
    sonde__cli_error(command, "%s: %s", path, strerror(reason));
    return reason == EACCES || reason == EPERM ? SONDE__CLI_DENIED : SONDE__CLI_FAILED;
}

void sonde__cli_report_flush(struct sonde__cli_report_file *file,
                             const struct sonde__report *report)
{
    if (file->writer != NULL && file->status == SONDE_OK) {
        file->status = sonde__report_writer_flush(file->writer, report);
    }
}

int sonde__cli_report_close(const struct sonde__cli_command *command,
                            struct sonde__cli_report_file *file, const struct sonde__report *report)
{
    bool to_stdout = file->file == stdout;
    if (file->file == NULL) {
        return SONDE__CLI_OK;
    }
    if (file->writer != NULL) {
        if (file->status == SONDE_OK && report != NULL) {
            file->status = sonde__report_writer_finish(file->writer, report);
        }
        sonde__report_writer_destroy(file->writer);
    }
    if (!to_stdout && fclose(file->file) != 0 && file->status == SONDE_OK) {
        file->os_error = errno;
        file->status = SONDE_OS;
    }
    file->file = NULL;
    file->writer = NULL;
    if (file->status == SONDE_OK) {
        return SONDE__CLI_OK;
    }
    if (!to_stdout || file->status != SONDE_OS) {
        sonde__cli_error(command, "%s: %s", file->path,
                         file->status == SONDE_OS && file->os_error != 0
                             ? strerror(file->os_error)
                             : sonde_status_text(file->status));
    }
    return SONDE__CLI_FAILED;
}
