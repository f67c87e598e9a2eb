// SPDX-License-Identifier: Apache-2.0
/* JSON without line breaks between elements: profiles are long columns of numbers, and
 * report_json.h writes for people. */
#ifndef SONDE_EXPORT_JSON_H
#define SONDE_EXPORT_JSON_H

#include "export_functions.h"
#include "report_out.h"

/* Write a string with quotes; `text` is valid UTF-8. */
void sonde__export_json_string(struct sonde__report_out *out, const char *text);
/* Write the name of a function as a string. */
void sonde__export_json_function(struct sonde__report_out *out,
                                 const struct sonde__export_functions *functions,
                                 uint32_t function);
/* Nanoseconds as milliseconds, exactly: "905.000001". */
void sonde__export_json_ms(struct sonde__report_out *out, uint64_t ns);
/* Write "," except before the first element. */
void sonde__export_json_comma(struct sonde__report_out *out, bool *filled);
/* Collects output that becomes a JSON string of `out`: begin, print, end. */
struct sonde__export_json_text {
    struct sonde__report_out out; /* print here */
    struct sonde__report_out *to;
};
void sonde__export_json_begin(struct sonde__export_json_text *text, struct sonde__report_out *to);
void sonde__export_json_end(struct sonde__export_json_text *text);

#endif
