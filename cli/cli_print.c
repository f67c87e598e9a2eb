// SPDX-License-Identifier: Apache-2.0
#include "cli_print.h"

#include <inttypes.h>
#include <string.h>

#include "report_utf8.h"

void sonde__cli_print_json_string(FILE *out, const char *text)
{
    size_t left = strlen(text);
    putc('"', out);
    while (left > 0) {
        unsigned size = sonde__report_utf8_sequence(text, left);
        if (size == 0) {
            fputs("\\ufffd", out);
            size = 1;
        } else if (*text == '"' || *text == '\\') {
            fprintf(out, "\\%c", *text);
        } else if ((unsigned char)*text < 0x20) {
            fprintf(out, "\\u%04x", (unsigned char)*text);
        } else {
            fwrite(text, 1, size, out);
        }
        text += size;
        left -= size;
    }
    putc('"', out);
}

void sonde__cli_print_visible(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f) {
            fprintf(out, "\\x%02x", c);
        } else {
            putc(c, out);
        }
    }
}

void sonde__cli_print_source(FILE *out, const char *file, uint32_t line)
{
    sonde__cli_print_visible(out, file);
    if (file[0] != '\0' && line != 0) {
        fprintf(out, ":%" PRIu32, line);
    }
}
