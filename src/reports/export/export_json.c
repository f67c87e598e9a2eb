// SPDX-License-Identifier: Apache-2.0
#include "export_json.h"

#include "report_json.h"

static bool put_escaped(void *ctx, const char *text, size_t size)
{
    struct sonde__report_out *out = ctx;
    for (size_t i = 0; i < size && !out->stopped; i++) {
        sonde__json_escape(out, (unsigned char)text[i], true);
    }
    return !out->stopped;
}

void sonde__export_json_string(struct sonde__report_out *out, const char *text)
{
    sonde__report_out_str(out, "\"");
    (void)put_escaped(out, text, __builtin_strlen(text));
    sonde__report_out_str(out, "\"");
}

void sonde__export_json_begin(struct sonde__export_json_text *text, struct sonde__report_out *to)
{
    text->to = to;
    sonde__report_out_init(&text->out, (struct sonde__report_sink){put_escaped, to}, false);
    sonde__report_out_str(to, "\"");
}

void sonde__export_json_end(struct sonde__export_json_text *text)
{
    sonde__report_out_flush(&text->out);
    sonde__report_out_str(text->to, "\"");
}

void sonde__export_json_function(struct sonde__report_out *out,
                                 const struct sonde__export_functions *functions, uint32_t function)
{
    struct sonde__export_json_text text;
    sonde__export_json_begin(&text, out);
    sonde__export_put_name(&text.out, functions, function);
    sonde__export_json_end(&text);
}

void sonde__export_json_ms(struct sonde__report_out *out, uint64_t ns)
{
    uint64_t rest = ns % 1000000;
    sonde__report_out_dec(out, ns / 1000000);
    if (rest != 0) {
        char digits[8] = ".";
        for (unsigned i = 6; i > 0; i--, rest /= 10) {
            digits[i] = (char)('0' + rest % 10);
        }
        digits[7] = '\0';
        sonde__report_out_str(out, digits);
    }
}

void sonde__export_json_comma(struct sonde__report_out *out, bool *filled)
{
    if (*filled) {
        sonde__report_out_str(out, ",");
    }
    *filled = true;
}
