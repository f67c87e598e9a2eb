// SPDX-License-Identifier: Apache-2.0
#include "report_fit.h"

#include <string.h>

#include "report_wrap.h"

/* Columns that still distinguish names. On a narrower terminal the line is too long. */
enum { FIELD_MIN = 20 };

/* Marks an omission: U+2026. */
static const char mark[] = "\xe2\x80\xa6";

void sonde__report_fit_begin(struct sonde__report_fit *fit, struct sonde__report_sink sink,
                             uint32_t columns)
{
    fit->sink = sink;
    fit->columns = columns;
    fit->used = 0;
    fit->is_long = false;
}

/* A part of a line, separated by two spaces; padding does not count. */
struct field {
    size_t begin, end;
    unsigned width;
};

static struct field widest_field(const char *line, size_t size)
{
    struct field widest = {0, 0, 0};
    for (size_t begin = 0, end; begin < size; begin = end) {
        while (begin < size && line[begin] == ' ') {
            begin++;
        }
        for (end = begin;
             end < size && !(line[end] == ' ' && end + 1 < size && line[end + 1] == ' '); end++) {
        }
        unsigned width = sonde__report_columns(line, begin, end);
        if (width > widest.width) {
            widest = (struct field){begin, end, width};
        }
    }
    return widest;
}

/* Offset of column `column` of the field, outside of escape sequences. */
static size_t byte_of(const char *line, const struct field *field, unsigned column)
{
    size_t at = field->begin;
    for (unsigned width, done = 0; at < field->end; done += width) {
        size_t next = sonde__report_column_next(line, at, field->end, &width);
        if (done == column && width != 0) {
            break;
        }
        at = next;
    }
    return at;
}

/* Replace `count` columns in the field's middle by the mark. */
static void shorten(char *line, size_t *size, const struct field *field, unsigned count)
{
    unsigned kept = field->width - count - 1;
    size_t from = byte_of(line, field, kept / 2), to = byte_of(line, field, kept / 2 + count + 1);
    size_t mark_size = sizeof mark - 1;
    for (size_t at = from, next; at < to; at = next) { /* keep escape sequences */
        unsigned width;
        next = sonde__report_column_next(line, at, to, &width);
        if (width == 0) {
            memmove(line + from, line + at, next - at);
            from += next - at;
        }
    }
    if (to - from < mark_size) {
        return;
    }
    memcpy(line + from, mark, mark_size);
    memmove(line + from + mark_size, line + to, *size - to);
    *size -= to - from - mark_size;
}

/* "  #12  main+0x1f  prog+0x1137  main.c:7"; inlined calls have no number. */
static bool is_frame(const char *line, size_t size)
{
    size_t at = 0;
    while (at < size && line[at] == ' ') {
        at++;
    }
    return at > 0 && size - at > 2 &&
           ((line[at] == '#' && line[at + 1] >= '0' && line[at + 1] <= '9') ||
            memmem(line, size, "+0x", 3) != NULL);
}

/* Remove up to `count` columns of the padding between fields; two spaces stay. */
static void squeeze(char *line, size_t *size, unsigned count)
{
    size_t begin = 0;
    while (begin < *size && line[begin] == ' ') {
        begin++;
    }
    for (size_t at = begin; at < *size && count > 0; at++) {
        size_t end = at;
        while (end < *size && line[end] == ' ') {
            end++;
        }
        if (end - at > 2) {
            size_t extra = end - at - 2, taken = extra < count ? extra : count;
            memmove(line + at, line + at + taken, *size - at - taken);
            *size -= taken;
            count -= (unsigned)taken;
            at = end - taken - 1;
        }
    }
}

static size_t fit_line(char *line, size_t size, unsigned columns)
{
    while (size > 0 && line[size - 1] == ' ') {
        size--;
    }
    unsigned width = sonde__report_columns(line, 0, size);
    if (width > columns) {
        squeeze(line, &size, width - columns);
    }
    for (int i = 0; i < 8; i++) {
        width = sonde__report_columns(line, 0, size);
        struct field field = widest_field(line, size);
        if (width <= columns || field.width <= FIELD_MIN) {
            break;
        }
        unsigned more = width - columns, most = field.width - FIELD_MIN;
        shorten(line, &size, &field, more < most ? more : most);
    }
    return size;
}

/* end: "\n" or "". */
static bool put_line(struct sonde__report_fit *fit, const char *end)
{
    struct sonde__report_out out;
    size_t size = fit->used;
    fit->used = 0;
    sonde__report_out_init(&out, fit->sink, false);
    if (fit->is_long || memchr(fit->line, '\0', size) != NULL) {
        sonde__report_out_bytes(&out, fit->line, size);
    } else if (is_frame(fit->line, size)) {
        sonde__report_out_bytes(&out, fit->line, fit_line(fit->line, size, fit->columns));
    } else {
        sonde__report_wrap(&out, fit->line, size, fit->columns);
    }
    sonde__report_out_str(&out, end);
    sonde__report_out_flush(&out);
    return !out.stopped;
}

static bool write_fitted(void *ctx, const char *bytes, size_t size)
{
    struct sonde__report_fit *fit = ctx;
    if (fit->columns == 0) {
        return fit->sink.write(fit->sink.ctx, bytes, size);
    }
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            if (!put_line(fit, "\n")) {
                return false;
            }
            fit->is_long = false;
            continue;
        }
        if (fit->used == sizeof fit->line) {
            fit->is_long = true;
            if (!put_line(fit, "")) {
                return false;
            }
        }
        fit->line[fit->used++] = bytes[i];
    }
    return true;
}

struct sonde__report_sink sonde__report_fit_sink(struct sonde__report_fit *fit)
{
    return (struct sonde__report_sink){write_fitted, fit};
}

void sonde__report_fit_end(struct sonde__report_fit *fit)
{
    (void)put_line(fit, "");
}
