// SPDX-License-Identifier: Apache-2.0
/* The watch names stacks on its own thread, once for each frame, with the program's memory and
 * disk. So it reads uncompressed debug information unit by unit, and uses index files that exist.
 * It does not decompress: that needs a library, and a thread that is stuck in dlopen() holds the
 * loader's lock, so the watch could not report it. `sonde show --symbols` does that later. */
#include "api_symbols.h"

#include "symfile_calls.h"
#include "symfile_index_file.h"

static const struct sonde__symfile_making taken = {.keep = true, .only_kept = true};

const struct sonde__symfile_options sonde__api_watch_symbols = {
    .places = &sonde__symfile_places, .making = &taken, .no_inflate = true};
