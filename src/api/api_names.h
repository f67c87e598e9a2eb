// SPDX-License-Identifier: Apache-2.0
/* Names of this process' code: implements symbol.h and text.h.
 *
 * A table describes the images of one image snapshot. It is replaced as a whole, so handlers may
 * read it at any time: a reader pins the snapshot (capture_images.h), and an old table is freed
 * once every stripe of pins has been idle. Names are in symbol files that the symbolizer keeps
 * mapped, not in images, which may be unloaded. */
#ifndef SONDE_API_NAMES_H
#define SONDE_API_NAMES_H

#include <pthread.h>
#include <stdatomic.h>

#include <sonde/symbol.h>

#include "base_text.h"
#include "capture_images.h"
#include "mem_arena.h"
#include "style.h"
#include "symfile_cache.h"

struct names_table;
struct names_strings; /* api_strings.c */

struct sonde_symbolizer {
    pthread_mutex_t mutex; /* guards all but `table` and what api_strings.c reads without it */
    struct sonde__symfile_cache *files;
    struct names_path *paths;
    _Atomic(struct names_table *) table;
    struct names_table *retired;
    struct sonde__answer answer; /* for the current frame; too large for the stack */
    _Atomic(struct names_strings *) strings;
};

/* The answer for one pc. Strings belong to the symbolizer; in a handler they are valid while
 * pinned. */
struct names_answer {
    const char *path; /* "": in no image */
    uint64_t image_start, bias;
    const struct sonde__build_id *build_id; /* null: none */
    struct sonde__function function;        /* its start is an address */
};

/* Update the table to the current snapshot. Mutex held. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status names_update(struct sonde_symbolizer *symbolizer);

/* Free the table and the paths. */
void names_done(struct sonde_symbolizer *symbolizer);

/* Pin held. may_open: may open symbol files; needs normal context and the mutex. False: no
 * memory. */
bool names_find(struct sonde_symbolizer *symbolizer, const struct sonde__capture_pin *pin,
                uint64_t lookup_pc, bool may_open, struct names_answer *ret_answer);

/* Find the calls at an address, inlined ones included, in symbolizer->answer. Pin and mutex
 * held. */
void names_calls(struct sonde_symbolizer *symbolizer, const struct sonde__capture_pin *pin,
                 uint64_t lookup_pc, const struct names_answer *names);

/* Write a stack's lines, each with a newline. is_handler: use only prepared symbol files and do not
 * demangle; else needs the mutex, after names_update(). each (may be null) is called after each
 * line and returns false to stop. False: no memory. */
bool names_put_stack(struct sonde_symbolizer *symbolizer, enum sonde_style style,
                     const struct sonde_stack *stack, bool is_handler, struct sonde__text *out,
                     bool (*each)(void *ctx, struct sonde__text *out), void *ctx);

/* The same as a text for sonde__mem_free(). Takes the mutex. Null: no memory. */
char *names_stack_text(struct sonde_symbolizer *symbolizer, enum sonde_style style,
                       const struct sonde_stack *stack, size_t *ret_length);

/* Find the `count` lines of a text; their newlines become NULs. */
uint32_t names_count_lines(const char *text, size_t length);
void names_split_lines(char *text, const char **ret_lines, uint32_t count);

void names_strings_destroy(struct names_strings *strings);

#endif
