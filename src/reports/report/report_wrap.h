// SPDX-License-Identifier: Apache-2.0
/* Breaks a line of text between its words, so that a terminal does not break it inside one. The
 * lines that follow begin where the text of the first one does: behind its label, if it has one. A
 * word that is wider than the terminal stays whole, because it may be a path to copy. Context: any
 * thread. */
#ifndef SONDE_REPORT_WRAP_H
#define SONDE_REPORT_WRAP_H

#include "report_out.h"

/* Offset after the escape sequence or the UTF-8 character at `at`. */
size_t sonde__report_column_next(const char *line, size_t at, size_t size, unsigned *ret_width);
/* Columns of a part of a line, without escape sequences. */
unsigned sonde__report_columns(const char *line, size_t begin, size_t end);

/* Print `line`, which has no newline, in lines of at most `columns`; the last one has no newline
 * either. */
void sonde__report_wrap(struct sonde__report_out *out, const char *line, size_t size,
                        unsigned columns);

#endif
