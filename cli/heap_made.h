// SPDX-License-Identifier: Apache-2.0
/* Where the blocks of a process were made, by the registry that the process keeps. */
#ifndef SONDE_HEAP_MADE_H
#define SONDE_HEAP_MADE_H

#include "audit_process.h"
#include "blockheap.h"
#include "registry_group.h"
#include "report_json.h"

struct heap_view;
struct heap_made;

/* Read the registry for what was found in the view. Reports on stderr what cannot be read; without
 * a registry all functions below do nothing. */
void heap_made_open(struct heap_view *view);
void heap_made_close(struct heap_made *made);

/* "registry: 12 blocks listed, 1 of them gone": a line of its own. */
void heap_made_print_total(const struct heap_made *made);
/* The same as a member of an object: null without a registry. */
void heap_made_json_total(const struct heap_made *made, struct sonde__json *json);

/* The block's thread, age and stack: lines of their own. */
void heap_made_print(struct heap_made *made, const struct sonde__blockheap_item *item);
/* The same as a member of an object. */
void heap_made_json(struct heap_made *made, struct sonde__json *json,
                    const struct sonde__blockheap_item *item);
/* Of a block that is listed and does not exist; nothing if none is listed. */
void heap_made_print_gone(struct heap_made *made, uint64_t address);

/* The same of several blocks, those of one stack and function together. */
void heap_made_print_all(struct heap_made *made, const struct sonde__blockheap_item *items,
                         size_t count);
void heap_made_json_all(struct heap_made *made, struct sonde__json *json,
                        const struct sonde__blockheap_item *items, size_t count);

#endif
