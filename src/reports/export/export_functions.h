// SPDX-License-Identifier: Apache-2.0
/* The functions of a report, each once, as readers merge them; and stacks as lists of places in
 * them.
 *
 * A function is known by image and name, without a name by image and start, as in the analyses of a
 * report (report_trie.h): so a reader's sums are those of `sonde show`. An inlined call is the same
 * function as the call that is not inlined. A tail call is one of its own, because it is inferred.
 * What is no function of the program ("(not sampled)") has a name in parentheses. */
#ifndef SONDE_EXPORT_FUNCTIONS_H
#define SONDE_EXPORT_FUNCTIONS_H

#include "mem_table.h"
#include "report_model.h"
#include "report_out.h"

/* Numbers of the functions that every table begins with. */
enum sonde__export_fixed {
    SONDE__EXPORT_NOT_SAMPLED,
    SONDE__EXPORT_NO_STACK,
    SONDE__EXPORT_MORE_FRAMES, /* outside of the longest stacks that are shown */
    SONDE__EXPORT_FIXED,
};

enum sonde__export_function_kind {
    SONDE__EXPORT_FRAME,   /* of `frame` */
    SONDE__EXPORT_INLINED, /* known only by inlined calls, in `frame` */
    SONDE__EXPORT_TAIL,    /* of `frame`, a tail call */
    SONDE__EXPORT_NAMED,   /* a recorded function, or a thread: `name` alone */
    SONDE__EXPORT_LITERAL,
};

struct sonde__export_function {
    uint64_t key;
    enum sonde__export_function_kind kind;
    uint32_t frame; /* id of the first frame of it */
    uint32_t name;  /* string id; 0: without a name */
    uint32_t image; /* id; 0: none, or not known */
    uint32_t file;  /* string id; 0: not known */
    uint32_t line;  /* where all its frames are; 0: not known, or several */
    bool several_lines;
};

struct sonde__export_functions {
    const struct sonde__report *report;
    bool raw_names;
    struct sonde__export_function *list;
    uint32_t count;
    uint32_t named; /* the first that is known by a name alone; all later ones are, too */
    size_t capacity;
    struct sonde__mem_table table;
    uint32_t *of_frame; /* by frame id */
    /* by frame id, and one more: where its inlined calls begin in the next */
    uint32_t *first_inlined;
    uint32_t *of_inlined;
};

/* Returns OK | MEMORY; done() frees in both cases. */
SONDE_NODISCARD enum sonde_status
sonde__export_functions_make(struct sonde__export_functions *functions,
                             const struct sonde__report *report, bool raw_names);
void sonde__export_functions_done(struct sonde__export_functions *functions);

/* The function that is known by a name alone (a string id), made if it is not there; false: out of
 * memory. */
bool sonde__export_function_named(struct sonde__export_functions *functions, uint32_t name,
                                  uint32_t *ret_function);
/* The same, that must be there. */
uint32_t sonde__export_function_find(const struct sonde__export_functions *functions,
                                     uint32_t name);
/* Has it a place in the program? Others are a name only. */
bool sonde__export_has_frame(const struct sonde__export_function *function);

/* The name of function number `function` for people: printed. */
void sonde__export_put_name(struct sonde__report_out *out,
                            const struct sonde__export_functions *functions, uint32_t function);

/* One element of a stack. */
struct sonde__export_place {
    uint32_t function;
    uint32_t frame;   /* id; 0: the function is no frame's */
    uint32_t inlined; /* of the frame's inlined calls, + 1; 0: the frame itself */
};

/* Elements of one stack that are shown; of a longer one the outermost are one element. */
#define SONDE__EXPORT_PLACES_MAX 16384u

struct sonde__export_path {
    struct sonde__export_place *places; /* innermost first; SONDE__EXPORT_PLACES_MAX + 2 */
    uint32_t count;
    bool is_cut;
};

SONDE_NODISCARD enum sonde_status sonde__export_path_make(struct sonde__export_path *path);
void sonde__export_path_done(struct sonde__export_path *path);
/* The stack (a node id) with the function `leaf` - 1 inside of all frames (0: none), and `root` - 1
 * outside. Never empty. */
void sonde__export_path_read(struct sonde__export_path *path,
                             const struct sonde__export_functions *functions, uint32_t stack,
                             uint32_t leaf, uint32_t root);

#endif
