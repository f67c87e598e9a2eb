// SPDX-License-Identifier: Apache-2.0
#include "symbolize_report.h"

#include <string.h>

#include "cli_shown.h"
#include "mem_heap.h"
#include "report_view.h"

enum { LINE_BYTES = 65536 };

/* Splits the view's text into lines; long ones come in parts. */
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

static bool write_bytes(void *ctx, const char *bytes, size_t size)
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

static bool add_images(const struct sonde__report *report, struct symbolize_images *images)
{
    uint32_t count = sonde__report_image_count(report);
    images->report_images = sonde__mem_alloc_array(count, sizeof *images->report_images);
    if (images->report_images == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__report_image *image = sonde__report_image(report, i + 1);
        struct symbolize_report_image *to = &images->report_images[images->report_image_count++];
        to->name = sonde__report_image_name(report, i + 1);
        to->path = sonde__report_text(report, image->path);
        sonde__symfile_id_text(&image->build_id, to->build_id);
    }
    return true;
}

struct shown {
    struct symbolize_images *images;
    struct lines *lines;
    bool raw_names;
    int exit_code;
};

static void print(void *ctx, const struct sonde__report *report,
                  const struct sonde__report_loss *loss)
{
    struct shown *shown = ctx;
    struct symbolize_images *images = shown->images;
    struct sonde__report_view view = {
        .raw_names = shown->raw_names, .physical_only = true, .loss = loss};
    if (!add_images(report, images)) {
        shown->exit_code = sonde__cli_fail(images->command, NULL, SONDE_MEMORY, NULL);
        return;
    }
    sonde__report_text_view(report, &view, (struct sonde__report_sink){write_bytes, shown->lines});
    flush(shown->lines);
    sonde__mem_free(images->report_images);
    images->report_images = NULL;
    images->report_image_count = 0;
}

int symbolize_report(struct symbolize_images *images, const char *path, bool raw_names,
                     void (*each)(void *ctx, const char *line, size_t size), void *ctx)
{
    static struct lines lines;
    struct sonde__cli_symbols as_captured = {0};
    struct shown shown = {images, &lines, raw_names, SONDE__CLI_OK};
    lines = (struct lines){.each = each, .ctx = ctx};
    int exit_code = sonde__cli_shown(images->command, path, &as_captured, print, &shown);
    return shown.exit_code != SONDE__CLI_OK ? shown.exit_code : exit_code;
}
