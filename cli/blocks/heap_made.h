// SPDX-License-Identifier: Apache-2.0
/* Shows where the blocks of a process were made, from the registry in the process. */
#ifndef SONDE_HEAP_MADE_H
#define SONDE_HEAP_MADE_H

#include "audit_process.h"
#include "blockheap.h"
#include "registry_group.h"
#include "report_json.h"

struct heap_view;
struct heap_made;

/* Read the registry for the blocks of the view. Reports what cannot be read. Without a registry,
 * all functions below do nothing. */
void heap_made_open(struct heap_view *view);
void heap_made_close(struct heap_made *made);

/* Print the line "registry: 12 blocks listed, 1 of them gone". */
void heap_made_print_total(const struct heap_made *made);
/* The same as JSON member "registry"; null without a registry. */
void heap_made_json_total(const struct heap_made *made, struct sonde__json *json);

/* Print lines with the block's thread, age and stack. */
void heap_made_print(struct heap_made *made, const struct sonde__blockheap_item *item);
/* The same as a JSON member. */
void heap_made_json(struct heap_made *made, struct sonde__json *json,
                    const struct sonde__blockheap_item *item);
/* Print the same for a listed block that no longer exists; nothing if none is listed. */
void heap_made_print_gone(struct heap_made *made, uint64_t address);

/* Print the same for several blocks, grouped by stack and function. */
void heap_made_print_all(struct heap_made *made, const struct sonde__blockheap_item *items,
                         size_t count);
void heap_made_json_all(struct heap_made *made, struct sonde__json *json,
                        const struct sonde__blockheap_item *items, size_t count);

#endif
