// SPDX-License-Identifier: Apache-2.0
/* Patterns of names and paths. Context: handler. */
#ifndef SONDE_BASE_GLOB_H
#define SONDE_BASE_GLOB_H

#include <stdbool.h>

/* Does the pattern match the whole text? * is any characters, ? is one. of_paths: neither is a
 * slash, and ** is any characters with slashes. All others are literal, brackets too: C++ names
 * have them. Takes at most as many steps as the pattern times the text is long, of paths times the
 * text again. */
bool sonde__base_glob(const char *pattern, const char *text, bool of_paths);

#endif
