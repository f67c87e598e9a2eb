// SPDX-License-Identifier: Apache-2.0
/* Sources of names, files, lines and inlined calls for the watch of this process. */
#ifndef SONDE_API_SYMBOLS_H
#define SONDE_API_SYMBOLS_H

#include "symfile_cache.h"

extern const struct sonde__symfile_options sonde__api_watch_symbols;

#endif
