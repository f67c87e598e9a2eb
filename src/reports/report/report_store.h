// SPDX-License-Identifier: Apache-2.0
/* Storage of the model, whose elements never move; for this folder only.
 *
 * All memory comes from one arena per report and is freed with it. A list is a directory of
 * fixed-size chunks, so pointers to elements stay valid while it grows. The hash tables that find
 * equal elements are on the heap. */
#ifndef SONDE_REPORT_STORE_H
#define SONDE_REPORT_STORE_H

#include "mem_table.h"
#include "report_messages.h"
#include "report_model.h"

struct sonde__report_arena {
    struct sonde__report_block *blocks; /* newest first */
    size_t used_bytes;                  /* of the newest block */
    size_t total_bytes;                 /* of all blocks */
};

/* `size` zeroed bytes, aligned for any type; null: out of memory or over
 * SONDE__REPORT_MEMORY_MAX. */
void *sonde__report_arena_take(struct sonde__report_arena *arena, size_t size);
void sonde__report_arena_done(struct sonde__report_arena *arena);

#define SONDE__REPORT_CHUNK 256u /* elements; keeps a small report under 100 KiB */

struct sonde__report_list {
    void **chunks;
    uint32_t chunk_capacity;
    uint32_t count;
    uint32_t element_bytes;
};

/* Append a zeroed element; null: no memory. */
void *sonde__report_list_add(struct sonde__report_arena *arena, struct sonde__report_list *list);
/* Element `index`, or null. */
void *sonde__report_list_at(const struct sonde__report_list *list, uint32_t index);

struct sonde__report_string {
    const char *text; /* valid UTF-8, NUL-terminated */
    uint32_t length;
};

struct sonde__scrub_rules; /* scrub.h */

struct sonde__report {
    const struct sonde__scrub_rules *scrub;            /* null: texts are kept unchanged */
    char scrubbed[SONDE__REPORT_STRING_BYTES_MAX + 8]; /* + 8 shows a text that is too long */
    struct sonde__report_arena arena;
    struct sonde__report_header header;
    struct sonde__report_end end;
    bool has_end;
    struct sonde__report_lost lost;
    struct sonde__report_list strings, notes;
    struct sonde__report_list parts[SONDE__PARTS];
    struct sonde__mem_table string_ids, image_ids, frame_ids, node_ids;
};

/* Any struct in the lists of parts. */
union sonde__report_object {
    struct sonde__report_image image;
    struct sonde__report_frame frame;
    struct sonde__report_node node;
    struct sonde__report_thread thread;
    struct sonde__report_stall stall;
    struct sonde__report_call call;
    struct sonde__report_heap_blocks heap_blocks;
    struct sonde__report_tasks tasks;
    struct sonde__report_process process;
    struct sonde__report_named_phase phase;
    struct sonde__report_rule rule;
    struct sonde__report_sample sample;
    struct sonde__report_wait wait;
    struct sonde__report_stall_count stall_count;
    struct sonde__report_end end;
};

/* Append without a search for an equal object: a reader must keep the file's ids. Returns the new
 * id, or 0 if it did not fit (counted as lost; after a lost dictionary entry a reader must stop,
 * because later ids would be wrong). The object's arrays must be in the arena. */
uint32_t sonde__report_append_string(struct sonde__report *report, const void *text, size_t size);
uint32_t sonde__report_append(struct sonde__report *report, enum sonde__report_part part,
                              const void *object);
/* A node whose parent is not an earlier node, or that is too deep, becomes an outermost node
 * without a frame. An awaiter that is not an earlier node is dropped. */
uint32_t sonde__report_append_node(struct sonde__report *report,
                                   const struct sonde__report_node *node);
/* Replace an object's arrays by copies in the arena; elements over a limit are dropped. */
void sonde__report_keep_arrays(struct sonde__report *report, const struct sonde__message *message,
                               void *object);
/* Replace the TEXT members of an object by copies in the arena, including those in nested structs
 * and in array elements, which must be in the arena already. Null becomes "". */
void sonde__report_keep_texts(struct sonde__report *report, const struct sonde__message *message,
                              void *object);
void sonde__report_append_note(struct sonde__report *report, const void *text, size_t size);

/* Scrub a text. Texts of a report that is made here pass through this; those of a report that is
 * read stay unchanged. Valid until the next call. */
const char *sonde__report_scrub(struct sonde__report *report, const char *text);
/* Copy `size` bytes of text into the arena as valid UTF-8, at most SONDE__REPORT_STRING_BYTES_MAX
 * long. Null when memory ran out. */
const char *sonde__report_copy_text(struct sonde__report *report, const void *text, size_t size,
                                    uint32_t *ret_length);

#endif
