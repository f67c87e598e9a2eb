// SPDX-License-Identifier: Apache-2.0
/* Patterns of a list: globs of symbols ("SSL_*"), and C++ names as people write them, with
 * parameters ("ns::f(int)": this one) or without ("ns::f": all of this name), of which * and ? are
 * globs, too. They stand for the functions that the libraries define with which a program starts.
 * Context: any thread. */
#ifndef SONDE_AUDIT_EXPAND_H
#define SONDE_AUDIT_EXPAND_H

#include "audit_libraries.h"
#include "audit_list.h"

/* Puts the functions in the place of each pattern. text, size: room for names, which point into it.
 * each: one line for people of each pattern that stands for nothing; may be null. Returns OK |
 * LIMIT (more than 512 functions, or no room; ret_error says of which pattern). */
SONDE_NODISCARD enum sonde_status
sonde__audit_expand(const struct sonde__audit_libraries *libraries, struct sonde__audit_list *list,
                    char *text, size_t size, void (*each)(void *ctx, const char *line), void *ctx,
                    struct sonde_error *ret_error);

#endif
