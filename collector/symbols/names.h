// SPDX-License-Identifier: Apache-2.0
/* Names frames of reports with the collector's symbols. Context: one thread. */
#ifndef SONDE_COLLECTOR_NAMES_H
#define SONDE_COLLECTOR_NAMES_H

#include "digest.h"
#include "symbols.h"

struct names;

/* Null: no memory. `symbols` must outlive it. Ownership: names_end(). */
struct names *names_begin(struct symbols *symbols);
void names_end(struct names *names);
/* For digest_read(): with the symbols of a project, and those of all. What it waits for are the
 * build-ids of frames without a name that neither has. Valid until the next call. */
const struct digest_naming *names_of(struct names *names, uint32_t project);

#endif
