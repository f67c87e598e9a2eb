// SPDX-License-Identifier: Apache-2.0
/* Buffered text output to a sink, with the current column for alignment.
 *
 * Text from outside (names, paths, notes) goes through sonde__report_out_text, which shows control
 * characters as \xNN, so that a thread name cannot control the terminal. */
#ifndef SONDE_REPORT_OUT_H
#define SONDE_REPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The destination of a view. `write` returns false to stop the view, e.g. on a closed pipe. */
struct sonde__report_sink {
    bool (*write)(void *ctx, const char *bytes, size_t size);
    void *ctx;
};

struct sonde__report_out {
    struct sonde__report_sink sink;
    size_t used;
    uint32_t column; /* characters since the last newline, without colour escapes */
    bool stopped;
    bool color;
    bool raw_names; /* print stored names, not demangled ones */
    bool app_only;  /* print only the program's own frames of a stack, and count the others */
    bool unfolded;  /* print the interpreter's frames next to script frames */
    char buffer[1024];
};

enum sonde__report_color {
    SONDE__REPORT_PLAIN,
    SONDE__REPORT_BOLD,
    SONDE__REPORT_DIM,
    SONDE__REPORT_RED,
    SONDE__REPORT_GREEN,
    SONDE__REPORT_YELLOW,
    SONDE__REPORT_CYAN,
};

void sonde__report_out_init(struct sonde__report_out *out, struct sonde__report_sink sink,
                            bool color);
void sonde__report_out_flush(struct sonde__report_out *out);
/* Print our own text unchanged. */
void sonde__report_out_str(struct sonde__report_out *out, const char *text);
void sonde__report_out_bytes(struct sonde__report_out *out, const char *bytes, size_t size);
/* Print text from outside; control characters become visible. */
void sonde__report_out_text(struct sonde__report_out *out, const char *text);
void sonde__report_out_dec(struct sonde__report_out *out, uint64_t value);
void sonde__report_out_int(struct sonde__report_out *out, int64_t value);
void sonde__report_out_hex(struct sonde__report_out *out, uint64_t value); /* with 0x */
/* Prints sixteen digits. */
void sonde__report_out_code_id(struct sonde__report_out *out, uint64_t code_id);
/* Spaces up to `column`; at least one if text is there already. */
void sonde__report_out_tab(struct sonde__report_out *out, uint32_t column);
/* Prints nothing if colour is off. */
void sonde__report_out_color(struct sonde__report_out *out, enum sonde__report_color color);
/* Print by a printf() format with %s, %d, %u, PRId64, PRIu64 and PRIx64. Control characters and
 * line breaks in the text of a %s are made visible. */
void sonde__report_out_print(struct sonde__report_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A figure as text, for a %s. */
struct sonde__report_figure {
    char text[32];
};
/* "850 us", "612 ms", "1.23 s", "2 min 5 s": three digits, for people. */
struct sonde__report_figure sonde__report_duration(uint64_t ns);
void sonde__report_out_duration(struct sonde__report_out *out, uint64_t ns);
/* "97 %"; "<1 %" for small values other than 0. */
struct sonde__report_figure sonde__report_share(uint64_t part, uint64_t whole);

/* Number of characters that sonde__report_out_text prints for `text`. */
uint32_t sonde__report_text_width(const char *text);

#endif
