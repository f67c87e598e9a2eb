// SPDX-License-Identifier: Apache-2.0
/* From where the watch of this process takes names, files, lines and inlined calls. */
#ifndef SONDE_API_SYMBOLS_H
#define SONDE_API_SYMBOLS_H

#include "symfile_cache.h"

extern const struct sonde__symfile_options sonde__api_watch_symbols;

#endif
