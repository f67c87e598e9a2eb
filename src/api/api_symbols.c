// SPDX-License-Identifier: Apache-2.0
/* The watch names stacks on its own thread, beside the program and once for each frame; but it is
 * the program's memory and disk. So debug information is read where it is mapped as it stands, unit
 * by unit, and indexes are taken that a tool has made before. What would have to be inflated is
 * left to who shows the report (`sonde show --symbols`): the library for that would have to be
 * loaded, and whoever is stuck in dlopen() holds the loader's lock: then the watch could not tell
 * of it. */
#include "api_symbols.h"

#include "symfile_calls.h"
#include "symfile_index_file.h"

static const struct sonde__symfile_making taken = {.keep = true, .only_kept = true};

const struct sonde__symfile_options sonde__api_watch_symbols = {
    .places = &sonde__symfile_places, .making = &taken, .no_inflate = true};
