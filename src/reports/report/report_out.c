// SPDX-License-Identifier: Apache-2.0
#include "report_out.h"

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
    out->physical_only = false;
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

/* Write the printable ASCII that `text` begins with, as far as the buffer has room. Returns the
 * rest of the text. */
static const char *put_ascii(struct sonde__report_out *out, const char *text)
{
    const char *from = text;
    char *to = out->buffer + out->used, *end = out->buffer + sizeof out->buffer;
    for (; to != end && *from >= ' ' && *from <= '~'; from++) {
        *to++ = *from;
    }
    out->used = (size_t)(to - out->buffer);
    out->column += (uint32_t)(from - text);
    return from;
}

void sonde__report_out_str(struct sonde__report_out *out, const char *text)
{
    while (*(text = put_ascii(out, text)) != '\0') {
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
    while (*(text = put_ascii(out, text)) != '\0') {
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

/* `value` in thousandths of `unit`, as three significant digits. */
static void out_scaled(struct sonde__report_out *out, uint64_t thousandths, const char *unit)
{
    uint64_t whole = thousandths / 1000, rest = thousandths % 1000;
    unsigned digits = whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
    sonde__report_out_dec(out, whole);
    if (digits > 0) {
        put_byte(out, '.');
        put_byte(out, (char)('0' + rest / 100));
    }
    if (digits > 1) {
        put_byte(out, (char)('0' + rest / 10 % 10));
    }
    sonde__report_out_str(out, unit);
}

void sonde__report_out_duration(struct sonde__report_out *out, uint64_t ns)
{
    if (ns < 1000) {
        sonde__report_out_dec(out, ns);
        sonde__report_out_str(out, " ns");
    } else if (ns < NS_PER_MS) {
        sonde__report_out_dec(out, ns / 1000);
        sonde__report_out_str(out, " us");
    } else if (ns < NS_PER_S) {
        sonde__report_out_dec(out, ns / NS_PER_MS);
        sonde__report_out_str(out, " ms");
    } else if (ns < 120 * NS_PER_S) {
        out_scaled(out, ns / NS_PER_MS, " s");
    } else {
        uint64_t seconds = ns / NS_PER_S;
        sonde__report_out_dec(out, seconds / 60);
        sonde__report_out_str(out, " min ");
        sonde__report_out_dec(out, seconds % 60);
        sonde__report_out_str(out, " s");
    }
}

void sonde__report_out_share(struct sonde__report_out *out, uint64_t part, uint64_t whole)
{
    uint64_t percent = 0;
    while (whole > UINT64_MAX / 200) { /* the upper bits suffice for a share */
        whole >>= 1;
        part >>= 1;
    }
    if (part > whole) {
        part = whole;
    }
    if (whole != 0) {
        percent = (part * 100 + whole / 2) / whole;
    }
    if (percent == 0 && part != 0) {
        sonde__report_out_str(out, "<1 %");
        return;
    }
    sonde__report_out_dec(out, percent);
    sonde__report_out_str(out, " %");
}
