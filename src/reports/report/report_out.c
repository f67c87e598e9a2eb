// SPDX-License-Identifier: Apache-2.0
#include "report_out.h"

#include <stdarg.h>
#include <string.h>

#include "base_text.h"

#define NS_PER_MS ((uint64_t)1000000)
#define NS_PER_S  ((uint64_t)1000000000)

void sonde__report_out_init(struct sonde__report_out *out, struct sonde__report_sink sink,
                            bool color)
{
    out->sink = sink;
    out->used = 0;
    out->column = 0;
    out->stopped = false;
    out->color = color;
    out->raw_names = false;
    out->app_only = false;
}

void sonde__report_out_flush(struct sonde__report_out *out)
{
    if (out->used != 0 && !out->stopped) {
        out->stopped = !out->sink.write(out->sink.ctx, out->buffer, out->used);
    }
    out->used = 0;
}

static void put_byte(struct sonde__report_out *out, char byte)
{
    if (out->used == sizeof out->buffer) {
        sonde__report_out_flush(out);
    }
    out->buffer[out->used++] = byte;
    if (byte == '\n') {
        out->column = 0;
    } else if (((unsigned char)byte & 0xc0) != 0x80) {
        out->column++; /* the first byte of a UTF-8 sequence */
    }
}

/* Write the printable ASCII at the start of `text`, up to a `stop` or until the buffer is full.
 * Returns the rest of the text. */
static inline const char *put_ascii(struct sonde__report_out *out, const char *text, char stop)
{
    const char *from = text;
    char *to = out->buffer + out->used, *end = out->buffer + sizeof out->buffer;
    for (; to != end && *from >= ' ' && *from <= '~' && *from != stop; from++) {
        *to++ = *from;
    }
    out->used = (size_t)(to - out->buffer);
    out->column += (uint32_t)(from - text);
    return from;
}

void sonde__report_out_str(struct sonde__report_out *out, const char *text)
{
    while (*(text = put_ascii(out, text, '\0')) != '\0') {
        put_byte(out, *text++);
    }
}

void sonde__report_out_bytes(struct sonde__report_out *out, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        put_byte(out, bytes[i]);
    }
}

/* C0 controls, DEL, and C1 controls (U+0080..U+009F, "\xc2\x80".."\xc2\x9f"). */
static unsigned control_bytes(const char *text)
{
    unsigned char a = (unsigned char)text[0];
    if (a < 0x20 || a == 0x7f) {
        return 1;
    }
    return a == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0 ? 2 : 0;
}

void sonde__report_out_text(struct sonde__report_out *out, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    while (*(text = put_ascii(out, text, '\0')) != '\0') {
        unsigned control = control_bytes(text);
        if (control == 0) {
            put_byte(out, *text++);
            continue;
        }
        unsigned char code = (unsigned char)text[control - 1];
        sonde__report_out_str(out, "\\x");
        put_byte(out, digits[code >> 4]);
        put_byte(out, digits[code & 15]);
        text += control;
    }
}

uint32_t sonde__report_text_width(const char *text)
{
    uint32_t width = 0;
    while (*text != '\0') {
        unsigned control = control_bytes(text);
        if (control != 0) {
            width += 4;
            text += control;
        } else {
            width += ((unsigned char)*text & 0xc0) != 0x80;
            text++;
        }
    }
    return width;
}

void sonde__report_out_dec(struct sonde__report_out *out, uint64_t value)
{
    char data[24];
    struct sonde__text text;
    sonde__base_text_init(&text, data, sizeof data);
    sonde__base_text_dec(&text, value);
    sonde__report_out_str(out, data);
}

void sonde__report_out_int(struct sonde__report_out *out, int64_t value)
{
    if (value < 0) {
        put_byte(out, '-');
    }
    sonde__report_out_dec(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void sonde__report_out_hex(struct sonde__report_out *out, uint64_t value)
{
    char data[24];
    struct sonde__text text;
    sonde__base_text_init(&text, data, sizeof data);
    sonde__base_text_str(&text, "0x");
    sonde__base_text_hex(&text, value, 0);
    sonde__report_out_str(out, data);
}

void sonde__report_out_code_id(struct sonde__report_out *out, uint64_t code_id)
{
    char data[24];
    struct sonde__text text;
    sonde__base_text_init(&text, data, sizeof data);
    sonde__base_text_hex(&text, code_id, 16);
    sonde__report_out_str(out, data);
}

void sonde__report_out_tab(struct sonde__report_out *out, uint32_t column)
{
    if (out->column >= column && out->column != 0) {
        put_byte(out, ' ');
    }
    while (out->column < column) {
        put_byte(out, ' ');
    }
}

void sonde__report_out_color(struct sonde__report_out *out, enum sonde__report_color color)
{
    static const char *const codes[] = {"\x1b[0m",  "\x1b[1m",  "\x1b[2m", "\x1b[31m",
                                        "\x1b[32m", "\x1b[33m", "\x1b[36m"};
    if (out->color) {
        uint32_t column = out->column;
        sonde__report_out_str(out, codes[color]);
        out->column = column;
    }
}

/* Print one conversion; `%` has been read. Returns the text after it. */
static const char *put_conversion(struct sonde__report_out *out, const char *format, va_list *list)
{
    char data[24];
    struct sonde__text text;
    bool is_long = *format == 'l';
    while (*format == 'l') {
        format++;
    }
    switch (*format) {
    case 's':
        sonde__report_out_text(out, va_arg(*list, const char *));
        break;
    case 'd':
        sonde__report_out_int(out, is_long ? va_arg(*list, int64_t) : va_arg(*list, int));
        break;
    case 'u':
        sonde__report_out_dec(out, is_long ? va_arg(*list, uint64_t) : va_arg(*list, unsigned));
        break;
    case 'x':
        sonde__base_text_init(&text, data, sizeof data);
        sonde__base_text_hex(&text, va_arg(*list, uint64_t), 0);
        sonde__report_out_str(out, data);
        break;
    default: /* %% */
        put_byte(out, *format);
        break;
    }
    return format + 1;
}

void sonde__report_out_print(struct sonde__report_out *out, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    while (*(format = put_ascii(out, format, '%')) != '\0') {
        if (*format == '%') {
            format = put_conversion(out, format + 1, &list);
        } else {
            put_byte(out, *format++);
        }
    }
    va_end(list);
}

/* Print `value` (in thousandths of `unit`) with three significant digits. */
static void text_scaled(struct sonde__text *text, uint64_t thousandths, const char *unit)
{
    uint64_t whole = thousandths / 1000, rest = thousandths % 1000;
    unsigned digits = whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
    sonde__base_text_dec(text, whole);
    if (digits > 0) {
        sonde__base_text_char(text, '.');
        sonde__base_text_char(text, (char)('0' + rest / 100));
    }
    if (digits > 1) {
        sonde__base_text_char(text, (char)('0' + rest / 10 % 10));
    }
    sonde__base_text_str(text, unit);
}

static void text_unit(struct sonde__text *text, uint64_t value, const char *unit)
{
    sonde__base_text_dec(text, value);
    sonde__base_text_str(text, unit);
}

struct sonde__report_figure sonde__report_duration(uint64_t ns)
{
    struct sonde__report_figure figure;
    struct sonde__text text;
    sonde__base_text_init(&text, figure.text, sizeof figure.text);
    if (ns < 1000) {
        text_unit(&text, ns, " ns");
    } else if (ns < NS_PER_MS) {
        text_unit(&text, ns / 1000, " us");
    } else if (ns < NS_PER_S) {
        text_unit(&text, ns / NS_PER_MS, " ms");
    } else if (ns < 120 * NS_PER_S) {
        text_scaled(&text, ns / NS_PER_MS, " s");
    } else {
        text_unit(&text, ns / NS_PER_S / 60, " min ");
        text_unit(&text, ns / NS_PER_S % 60, " s");
    }
    return figure;
}

void sonde__report_out_duration(struct sonde__report_out *out, uint64_t ns)
{
    sonde__report_out_str(out, sonde__report_duration(ns).text);
}

struct sonde__report_figure sonde__report_share(uint64_t part, uint64_t whole)
{
    struct sonde__report_figure figure;
    struct sonde__text text;
    uint64_t percent = 0;
    while (whole > UINT64_MAX / 200) { /* the upper bits are enough for a percentage */
        whole >>= 1;
        part >>= 1;
    }
    if (part > whole) {
        part = whole;
    }
    if (whole != 0) {
        percent = (part * 100 + whole / 2) / whole;
    }
    sonde__base_text_init(&text, figure.text, sizeof figure.text);
    if (percent == 0 && part != 0) {
        sonde__base_text_str(&text, "<1 %");
    } else {
        sonde__base_text_dec(&text, percent);
        sonde__base_text_str(&text, " %");
    }
    return figure;
}
