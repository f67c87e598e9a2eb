// SPDX-License-Identifier: Apache-2.0
/* Patterns of a list: globs of symbols ("SSL_*"), and C++ names as people write them, with
 * parameters ("ns::f(int)": this one) or without ("ns::f": all of this name), of which * and ? are
 * globs, too. They expand to functions defined by the libraries that a program starts with.
 * Context: any thread. */
#ifndef SONDE_AUDIT_EXPAND_H
#define SONDE_AUDIT_EXPAND_H

#include "audit_libraries.h"
#include "audit_list.h"
#include "report_line.h"

/* Replace each pattern by the functions that it matches. text, size: memory for their names. say: a
 * line for each pattern without a match. Returns OK | LIMIT (more than 512 functions, or no room;
 * ret_error has the pattern). */
SONDE_NODISCARD enum sonde_status
sonde__audit_expand(const struct sonde__audit_libraries *libraries, struct sonde__audit_list *list,
                    char *text, size_t size, struct sonde__report_lines lines,
                    struct sonde_error *ret_error);

/* Does a pattern mean the function of this symbol? */
bool sonde__audit_pattern_means(const char *pattern, const char *symbol);

#endif
