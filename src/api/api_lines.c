// SPDX-License-Identifier: Apache-2.0
/* A separate file, so that a program that links the archive without using this does not get the
 * reader of debug information. */
#include "api_names.h"
#include "symfile_calls.h"

enum sonde_status sonde_symbolizer_use_lines(struct sonde_symbolizer *symbolizer)
{
    if (symbolizer == NULL) {
        return SONDE_USAGE;
    }
    pthread_mutex_lock(&symbolizer->mutex);
    sonde__symfile_use_places(symbolizer->files, &sonde__symfile_places);
    pthread_mutex_unlock(&symbolizer->mutex);
    return SONDE_OK;
}
