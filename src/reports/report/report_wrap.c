// SPDX-License-Identifier: Apache-2.0
#include "report_wrap.h"

#include "base_search.h"

/* Without a label, the lines that follow stand this much further in. */
enum { HANGING = 2 };

/* Blocks of characters that terminals show in two columns (Unicode, EastAsianWidth.txt, W and F),
 * or in none because they join the one before. Sorted. libc's wcwidth() knows only those of the
 * locale, which sonde does not set. */
static const struct {
    uint32_t first, last;
    unsigned columns;
} blocks[] = {
    {0x0300, 0x036f, 0},   /* combining marks */
    {0x1100, 0x115f, 2},   /* Hangul */
    {0x200b, 0x200f, 0},   /* zero width, direction */
    {0x20d0, 0x20ff, 0},   /* combining marks for symbols */
    {0x2e80, 0x303e, 2},   /* radicals, CJK punctuation */
    {0x3041, 0x4dbf, 2},   /* kana, CJK */
    {0x4e00, 0xa4cf, 2},   /* CJK, Yi */
    {0xa960, 0xa97c, 2},   /* Hangul */
    {0xac00, 0xd7a3, 2},   /* Hangul */
    {0xf900, 0xfaff, 2},   /* CJK */
    {0xfe00, 0xfe0f, 0},   /* variation selectors */
    {0xfe30, 0xfe6f, 2},   /* CJK forms */
    {0xff00, 0xff60, 2},   /* full width */
    {0xffe0, 0xffe6, 2},   /* full width */
    {0x16fe0, 0x18d08, 2}, /* Tangut */
    {0x1f300, 0x1f64f, 2}, /* pictures */
    {0x1f680, 0x1f6ff, 2}, /* pictures */
    {0x1f900, 0x1faff, 2}, /* pictures */
    {0x20000, 0x3fffd, 2}, /* CJK */
};

static unsigned columns_of(uint32_t character)
{
    size_t count = sizeof blocks / sizeof blocks[0];
    size_t at = SONDE__SEARCH(0, count, i, blocks[i].last < character);
    return at < count && blocks[at].first <= character ? blocks[at].columns : 1;
}

size_t sonde__report_column_next(const char *line, size_t at, size_t size, unsigned *ret_width)
{
    if (line[at] == '\033') {
        *ret_width = 0;
        while (at < size && line[at] != 'm') {
            at++;
        }
        return at + (at < size);
    }
    unsigned char first = (unsigned char)line[at++];
    uint32_t character = first < 0x80 ? first
                                      : first & (first >= 0xf0   ? 0x07u
                                                 : first >= 0xe0 ? 0x0fu
                                                                 : 0x1fu);
    while (at < size && ((unsigned char)line[at] & 0xc0) == 0x80) {
        character = character << 6 | ((unsigned char)line[at++] & 0x3fu);
    }
    *ret_width = columns_of(character);
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
    return width > columns && best != 0 ? best : size; /* a last character of two columns */
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
