// SPDX-License-Identifier: Apache-2.0
/* Without libcurl no server is asked. */
#include <stddef.h>

#include "debuginfod.h"

bool debuginfod_is_there(void)
{
    return false;
}

struct debuginfod *debuginfod_begin(const struct debuginfod_options *options)
{
    (void)options;
    return NULL;
}

void debuginfod_end(struct debuginfod *debuginfod)
{
    (void)debuginfod;
}

void debuginfod_ask(struct debuginfod *debuginfod, const char *url,
                    const struct sonde__build_id *id, int file,
                    struct debuginfod_result *ret_result)
{
    (void)debuginfod, (void)url, (void)id, (void)file;
    *ret_result = (struct debuginfod_result){.answer = DEBUGINFOD_FAILED};
}
