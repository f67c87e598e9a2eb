// SPDX-License-Identifier: Apache-2.0
#include "symbolize_report.h"

#include <string.h>

#include "cli_input.h"
#include "mem_heap.h"
#include "report_read.h"
#include "report_view.h"

enum { LINE_BYTES = 65536 };

/* Bytes of the view, made lines again; what is longer than a line's room comes in pieces. */
struct lines {
    void (*each)(void *ctx, const char *line, size_t size);
    void *ctx;
    size_t size;
    char line[LINE_BYTES];
};

static void flush(struct lines *lines)
{
    if (lines->size != 0) {
        lines->each(lines->ctx, lines->line, lines->size);
        lines->size = 0;
    }
}

static bool take(void *ctx, const char *bytes, size_t size)
{
    struct lines *lines = ctx;
    for (size_t i = 0; i < size; i++) {
        lines->line[lines->size++] = bytes[i];
        if (bytes[i] == '\n' || lines->size == sizeof lines->line) {
            flush(lines);
        }
    }
    return true;
}

static bool add_images(const struct sonde__report *report, struct symbolize_modules *modules)
{
    uint32_t count = sonde__report_image_count(report);
    modules->images = sonde__mem_alloc_array(count, sizeof *modules->images);
    if (modules->images == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__report_image *image = sonde__report_image(report, i + 1);
        struct symbolize_image *to = &modules->images[modules->image_count++];
        to->name = sonde__report_module(report, i + 1);
        to->path = sonde__report_text(report, image->path);
        sonde__symfile_id_text(&image->build_id, to->build_id);
    }
    return true;
}

int symbolize_report(struct symbolize_modules *modules, const char *path, bool raw_names,
                     void (*each)(void *ctx, const char *line, size_t size), void *ctx)
{
    static struct lines lines;
    const struct sonde__cli_command *command = modules->command;
    const char *name = sonde__cli_input_name(path);
    struct sonde__cli_input input;
    struct sonde__report *report = NULL;
    struct sonde__report_loss loss;
    struct sonde__report_view view = {.raw_names = raw_names, .physical_only = true, .loss = &loss};
    struct sonde_error error;
    enum sonde_status status;
    int exit_code = sonde__cli_input_read(command, path, sonde__report_begins, &input);
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    status = sonde__report_read(input.data, input.size, &report, &loss, &error);
    sonde__cli_input_done(&input);
    if (status != SONDE_OK) {
        return sonde__cli_fail(command, name, status, &error);
    }
    if (!add_images(report, modules)) {
        sonde__report_destroy(report);
        return sonde__cli_fail(command, name, SONDE_MEMORY, NULL);
    }
    lines = (struct lines){.each = each, .ctx = ctx};
    sonde__report_text_view(report, &view, (struct sonde__report_sink){take, &lines});
    flush(&lines);
    sonde__mem_free(modules->images);
    modules->images = NULL;
    modules->image_count = 0;
    sonde__report_destroy(report);
    if (loss.damage == SONDE__REPORT_WHOLE) {
        return SONDE__CLI_OK;
    }
    char line[SONDE__REPORT_LOSS_LINE];
    sonde__report_loss_line(&loss, line, sizeof line);
    sonde__cli_error(command, "%s: %s", name, line);
    return SONDE__CLI_MALFORMED;
}
