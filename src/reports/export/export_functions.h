// SPDX-License-Identifier: Apache-2.0
/* The distinct functions of a report, as readers merge them, and stacks as lists of places in them.
 *
 * Functions are compared by image and name, or without a name by image and start, as in the
 * analyses of a report (report_trie.h), so a reader's sums are those of `sonde show`. A function is
 * the same whether inlined or not. Tail calls are separate functions, because they are inferred.
 * Names in parentheses ("(not sampled)") are no functions of the program. */
#ifndef SONDE_EXPORT_FUNCTIONS_H
#define SONDE_EXPORT_FUNCTIONS_H

#include "mem_table.h"
#include "report_model.h"
#include "report_out.h"

/* Functions that every table begins with. */
enum sonde__export_fixed {
    SONDE__EXPORT_NOT_SAMPLED,
    SONDE__EXPORT_NO_STACK,
    SONDE__EXPORT_MORE_FRAMES, /* frames outside the longest stacks that are shown */
    SONDE__EXPORT_FIXED,
};

enum sonde__export_function_kind {
    SONDE__EXPORT_FRAME,   /* the function of `frame` */
    SONDE__EXPORT_INLINED, /* known only from inlined calls, in `frame` */
    SONDE__EXPORT_TAIL,    /* the function of `frame`, left by a tail call */
    SONDE__EXPORT_NAMED,   /* a recorded function or a thread, with only a `name` */
    SONDE__EXPORT_LITERAL,
};

struct sonde__export_function {
    uint64_t key;
    enum sonde__export_function_kind kind;
    uint32_t frame; /* id of its first frame */
    uint32_t name;  /* string id; 0: without a name */
    uint32_t image; /* id; 0: none, or not known */
    uint32_t file;  /* string id; 0: not known */
    uint32_t line;  /* the line of all its frames; 0: unknown, or several */
    bool several_lines;
};

struct sonde__export_functions {
    const struct sonde__report *report;
    bool raw_names;
    struct sonde__export_function *list;
    uint32_t count;
    uint32_t named; /* first function with only a name; all later ones are such, too */
    size_t capacity;
    struct sonde__mem_table table;
    uint32_t *of_frame; /* by frame id */
    /* by frame id, plus one: start of its inlined calls in the next array */
    uint32_t *first_inlined;
    uint32_t *of_inlined;
};

/* Returns OK | MEMORY; done() frees in both cases. */
SONDE_NODISCARD enum sonde_status
sonde__export_functions_make(struct sonde__export_functions *functions,
                             const struct sonde__report *report, bool raw_names);
void sonde__export_functions_done(struct sonde__export_functions *functions);

/* Find or add the function with only a name (a string id); false: no memory. */
bool sonde__export_function_named(struct sonde__export_functions *functions, uint32_t name,
                                  uint32_t *ret_function);
/* The same, for a function that exists. */
uint32_t sonde__export_function_find(const struct sonde__export_functions *functions,
                                     uint32_t name);
/* Does it have a place in the program? Others have only a name. */
bool sonde__export_has_frame(const struct sonde__export_function *function);

/* Print a function's name, demangled unless raw names are wanted. */
void sonde__export_put_name(struct sonde__report_out *out,
                            const struct sonde__export_functions *functions, uint32_t function);

/* One element of a stack. */
struct sonde__export_place {
    uint32_t function;
    uint32_t frame;   /* id; 0: no frame has the function */
    uint32_t inlined; /* index + 1 in the frame's inlined calls; 0: the frame itself */
};

/* Elements shown of one stack; the outermost ones of a longer stack become one element. */
#define SONDE__EXPORT_PLACES_MAX 16384u

struct sonde__export_path {
    struct sonde__export_place *places; /* innermost first; SONDE__EXPORT_PLACES_MAX + 2 */
    uint32_t count;
    bool is_cut;
};

SONDE_NODISCARD enum sonde_status sonde__export_path_make(struct sonde__export_path *path);
void sonde__export_path_done(struct sonde__export_path *path);
/* Read a stack (a node id). `leaf` - 1: a function to add inside all frames (leaf 0: none); `root`
 * - 1: one to add outside. The result is never empty. */
void sonde__export_path_read(struct sonde__export_path *path,
                             const struct sonde__export_functions *functions, uint32_t stack,
                             uint32_t leaf, uint32_t root);

#endif
