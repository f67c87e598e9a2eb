// SPDX-License-Identifier: Apache-2.0
/* Creates and destroys symbolizers: names (api_names.c) and strings (api_strings.c). */
#include "api_names.h"
#include "mem_heap.h"

enum sonde_status sonde_symbolizer_create(struct sonde_symbolizer **ret_symbolizer)
{
    struct sonde_symbolizer *symbolizer;
    enum sonde_status status;
    if (ret_symbolizer == NULL) {
        return SONDE_USAGE;
    }
    symbolizer = sonde__mem_alloc_zeroed(sizeof *symbolizer);
    if (symbolizer == NULL) {
        return SONDE_MEMORY;
    }
    status = sonde__symfile_cache_create(NULL, &symbolizer->files);
    if (status != SONDE_OK) {
        sonde__mem_free(symbolizer);
        return status;
    }
    pthread_mutex_init(&symbolizer->mutex, NULL);
    status = names_update(symbolizer); /* handlers have at least the images */
    if (status != SONDE_OK) {
        sonde_symbolizer_destroy(symbolizer);
        return status;
    }
    *ret_symbolizer = symbolizer;
    return SONDE_OK;
}

void sonde_symbolizer_destroy(struct sonde_symbolizer *symbolizer)
{
    if (symbolizer == NULL) {
        return;
    }
    names_strings_destroy(atomic_load(&symbolizer->strings));
    names_done(symbolizer);
    sonde__symfile_cache_destroy(symbolizer->files);
    pthread_mutex_destroy(&symbolizer->mutex);
    sonde__mem_free(symbolizer);
}
