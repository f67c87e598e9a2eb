// SPDX-License-Identifier: Apache-2.0
#include "cli_print.h"

#include <inttypes.h>

#include "demangle.h"

void sonde__cli_print_visible(FILE *out, const char *text)
{
    while (*text != '\0') {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != 0x7f) {
            plain++;
        }
        fwrite(text, 1, plain, out);
        text += plain;
        if (*text != '\0') {
            fprintf(out, "\\x%02x", (unsigned char)*text++);
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

void sonde__cli_print_call(FILE *out, bool raw, const struct sonde__call *call, const char *between)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    const char *name = raw ? call->name : sonde__demangle(call->name, buffer);
    sonde__cli_print_visible(out, name[0] != '\0' ? name : "??");
    if (call->file[0] != '\0') {
        fputs(between, out);
        sonde__cli_print_source(out, call->file, call->line);
    }
}
