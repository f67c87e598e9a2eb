// SPDX-License-Identifier: Apache-2.0
#include "report_wrap.h"

/* Without a label, the lines that follow stand this much further in. */
enum { HANGING = 2 };

size_t sonde__report_column_next(const char *line, size_t at, size_t size, unsigned *ret_width)
{
    *ret_width = line[at] != '\033';
    if (line[at] == '\033') {
        while (at < size && line[at] != 'm') {
            at++;
        }
        return at + (at < size);
    }
    at++;
    while (at < size && ((unsigned char)line[at] & 0xc0) == 0x80) {
        at++;
    }
    return at;
}

unsigned sonde__report_columns(const char *line, size_t begin, size_t end)
{
    unsigned sum = 0, width;
    for (size_t at = begin; at < end; sum += width) {
        at = sonde__report_column_next(line, at, end, &width);
    }
    return sum;
}

static size_t skip_spaces(const char *line, size_t at, size_t size)
{
    while (at < size && line[at] == ' ') {
        at++;
    }
    return at;
}

/* Two spaces end a label. A line may begin with several, but most of it is left for the text. */
static unsigned find_indent(const char *line, size_t size, unsigned columns)
{
    size_t begin = skip_spaces(line, 0, size);
    unsigned indent = (unsigned)begin + HANGING, width = (unsigned)begin, step;
    for (size_t at = begin; at < size && width <= columns / 3; width += step) {
        if (at > begin + 1 && line[at] != ' ' && line[at - 1] == ' ' && line[at - 2] == ' ') {
            indent = width;
        }
        at = sonde__report_column_next(line, at, size, &step);
    }
    return indent;
}

/* The end of the words from `from` that fit, and of one word at least. */
static size_t find_break(const char *line, size_t from, size_t size, unsigned columns)
{
    size_t begin = skip_spaces(line, from, size), best = 0;
    unsigned width = (unsigned)(begin - from), step;
    for (size_t at = begin; at < size; width += step) {
        if (line[at] == ' ' && line[at - 1] != ' ' && (best == 0 || width <= columns)) {
            best = at;
        }
        if (width >= columns && best != 0) {
            return best;
        }
        at = sonde__report_column_next(line, at, size, &step);
    }
    return size;
}

void sonde__report_wrap(struct sonde__report_out *out, const char *line, size_t size,
                        unsigned columns)
{
    unsigned indent = find_indent(line, size, columns);
    size_t at = 0;
    for (unsigned used = 0; at < size; used = indent) {
        size_t end = used < columns ? find_break(line, at, size, columns - used) : size;
        sonde__report_out_bytes(out, line + at, end - at);
        at = skip_spaces(line, end, size);
        if (at < size) {
            sonde__report_out_str(out, "\n");
            sonde__report_out_tab(out, indent);
        }
    }
}
