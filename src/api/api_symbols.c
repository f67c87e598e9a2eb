// SPDX-License-Identifier: Apache-2.0
/* The watch looks up names on its own thread, once per frame, with the program's memory and disk.
 * So it reads uncompressed debug information unit by unit and uses existing index files. It does
 * not decompress: that loads a library, and if a thread is stuck in dlopen() with the loader's
 * lock, the watch could not report it. `sonde show --symbols` decompresses later. */
#include "api_symbols.h"

#include "symfile_calls.h"
#include "symfile_index_file.h"

static const struct sonde__symfile_making taken = {.keep = true, .only_kept = true};

const struct sonde__symfile_options sonde__api_watch_symbols = {
    .places = &sonde__symfile_places, .making = &taken, .no_inflate = true};
