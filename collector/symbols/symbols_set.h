// SPDX-License-Identifier: Apache-2.0
/* Which build-ids a project has symbols of: asked for each image of each report. For this folder
 * only. Context: any thread. */
#ifndef SONDE_COLLECTOR_SYMBOLS_SET_H
#define SONDE_COLLECTOR_SYMBOLS_SET_H

#include "symbols.h"

struct symbols_set;

/* Null: no memory. */
struct symbols_set *symbols_set_begin(void);
void symbols_set_end(struct symbols_set *set);
/* False: no memory. */
bool symbols_set_add(struct symbols_set *set, uint32_t project, const struct sonde__build_id *id);
bool symbols_set_has(struct symbols_set *set, uint32_t project, const struct sonde__build_id *id);

#endif
