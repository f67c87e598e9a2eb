// SPDX-License-Identifier: Apache-2.0
#include "report_json.h"

#include <string.h>

#include "base_text.h"
#include "report_utf8.h"

void sonde__json_init(struct sonde__json *json, struct sonde__report_out *out)
{
    json->out = out;
    json->depth = 0;
    json->compact = false;
    json->line_indent = -1;
    json->filled[0] = false;
}

void sonde__json_init_compact(struct sonde__json *json, struct sonde__report_out *out)
{
    sonde__json_init(json, out);
    json->compact = true;
}

void sonde__json_line(struct sonde__json *json, uint32_t spaces)
{
    json->line_indent = (int32_t)spaces;
}

static void begin_line(struct sonde__json *json, uint32_t spaces)
{
    sonde__report_out_str(json->out, "\n");
    sonde__report_out_tab(json->out, spaces);
}

/* False: no line was asked for. */
static bool begin_wanted_line(struct sonde__json *json)
{
    int32_t spaces = json->line_indent;
    json->line_indent = -1;
    if (spaces >= 0) {
        begin_line(json, (uint32_t)spaces);
    }
    return spaces >= 0;
}

static void begin_value(struct sonde__json *json, const char *key)
{
    if (json->filled[json->depth]) {
        sonde__report_out_str(json->out, ",");
    }
    if (!begin_wanted_line(json)) {
        if (json->compact) {
            sonde__report_out_str(json->out, json->filled[json->depth] ? " " : "");
        } else if (json->depth > 0) {
            begin_line(json, json->depth);
        }
    }
    json->filled[json->depth] = true;
    if (key != NULL) {
        sonde__report_out_str(json->out, "\"");
        sonde__report_out_str(json->out, key);
        sonde__report_out_str(json->out, "\": ");
    }
}

static void open_value(struct sonde__json *json, const char *key, const char *open, char close)
{
    begin_value(json, key);
    sonde__report_out_str(json->out, open);
    if (json->depth + 1 < SONDE__JSON_DEPTH_MAX) {
        json->depth++;
    }
    json->filled[json->depth] = false;
    json->close[json->depth] = close;
}

void sonde__json_object(struct sonde__json *json, const char *key)
{
    open_value(json, key, "{", '}');
}

void sonde__json_array(struct sonde__json *json, const char *key)
{
    open_value(json, key, "[", ']');
}

void sonde__json_close(struct sonde__json *json)
{
    const char close[2] = {json->close[json->depth], '\0'};
    bool filled = json->filled[json->depth];
    json->depth--;
    if (!begin_wanted_line(json) && filled && !json->compact) {
        begin_line(json, json->depth);
    }
    sonde__report_out_str(json->out, close);
}

/* Length of the prefix that needs no escape. */
static size_t plain_bytes(const char *value)
{
    size_t size = 0;
    while (value[size] >= ' ' && value[size] <= '~' && value[size] != '"' && value[size] != '\\') {
        size++;
    }
    return size;
}

/* RFC 8259 §7: quote, backslash and C0 controls must be escaped. */
void sonde__json_escape(struct sonde__report_out *out, unsigned char c, bool compact)
{
    static const char digits[] = "0123456789abcdef";
    if (c == '"' || c == '\\') {
        sonde__report_out_bytes(out, (const char[]){'\\', (char)c}, 2);
    } else if (!compact && (c == '\n' || c == '\t')) {
        sonde__report_out_str(out, c == '\n' ? "\\n" : "\\t");
    } else if (c < 0x20 || !compact) { /* DEL needs no escape (RFC 8259) */
        sonde__report_out_bytes(
            out, (const char[]){'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]}, 6);
    } else {
        sonde__report_out_bytes(out, (const char[]){(char)c}, 1);
    }
}

static void put_string(struct sonde__json *json, const char *value)
{
    size_t left = strlen(value);
    while (left != 0) {
        size_t size = plain_bytes(value);
        if (size != 0) {
            sonde__report_out_bytes(json->out, value, size);
        } else if ((unsigned char)*value < 0x80) {
            sonde__json_escape(json->out, (unsigned char)*value, json->compact);
            size = 1;
        } else if ((size = sonde__report_utf8_sequence(value, left)) != 0) {
            sonde__report_out_bytes(json->out, value, size);
        } else {
            sonde__report_out_str(json->out, "\\ufffd");
            size = 1;
        }
        value += size;
        left -= size;
    }
}

void sonde__json_string(struct sonde__json *json, const char *key, const char *value)
{
    begin_value(json, key);
    if (value == NULL) {
        sonde__report_out_str(json->out, "null");
        return;
    }
    sonde__report_out_str(json->out, "\"");
    put_string(json, value);
    sonde__report_out_str(json->out, "\"");
}

void sonde__json_uint(struct sonde__json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    sonde__report_out_dec(json->out, value);
}

void sonde__json_int(struct sonde__json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    sonde__report_out_int(json->out, value);
}

void sonde__json_bool(struct sonde__json *json, const char *key, bool value)
{
    begin_value(json, key);
    sonde__report_out_str(json->out, value ? "true" : "false");
}

void sonde__json_hex(struct sonde__json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    sonde__report_out_str(json->out, "\"");
    sonde__report_out_hex(json->out, value);
    sonde__report_out_str(json->out, "\"");
}

static void text_padded(struct sonde__text *text, uint64_t value, uint64_t unit)
{
    for (; unit > 0; unit /= 10) {
        sonde__base_text_char(text, (char)('0' + value / unit % 10));
    }
}

/* Days since 1970 -> Gregorian date, by 400-year cycles of 146097 days that begin on 1 March. */
static void text_date(struct sonde__text *text, uint64_t days)
{
    uint64_t z = days + 719468; /* since 0000-03-01 */
    uint64_t cycle = z / 146097, day = z % 146097;
    uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    uint64_t of_year = day - (365 * year + year / 4 - year / 100);
    uint64_t march_month = (5 * of_year + 2) / 153;
    uint64_t of_month = of_year - (153 * march_month + 2) / 5 + 1;
    uint64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    text_padded(text, cycle * 400 + year + (month <= 2), 1000);
    sonde__base_text_char(text, '-');
    text_padded(text, month, 10);
    sonde__base_text_char(text, '-');
    text_padded(text, of_month, 10);
}

void sonde__json_time(struct sonde__json *json, const char *key, uint64_t unix_ns)
{
    char data[40];
    struct sonde__text text;
    uint64_t seconds = unix_ns / 1000000000;
    if (unix_ns == 0) {
        return;
    }
    sonde__base_text_init(&text, data, sizeof data);
    text_date(&text, seconds / 86400);
    sonde__base_text_char(&text, 'T');
    text_padded(&text, seconds / 3600 % 24, 10);
    sonde__base_text_char(&text, ':');
    text_padded(&text, seconds / 60 % 60, 10);
    sonde__base_text_char(&text, ':');
    text_padded(&text, seconds % 60, 10);
    sonde__base_text_char(&text, '.');
    text_padded(&text, unix_ns % 1000000000, 100000000);
    sonde__base_text_char(&text, 'Z');
    sonde__json_string(json, key, data);
}
