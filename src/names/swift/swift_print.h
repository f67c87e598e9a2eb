// SPDX-License-Identifier: Apache-2.0
/* The text of a decoded name. The time of printing is bounded by its steps: a graph of few nodes
 * can have a text of any length, or take long to print nothing. */
#ifndef SONDE_SWIFT_PRINT_H
#define SONDE_SWIFT_PRINT_H

#include "swift_node.h"

enum {
    SWIFT_DEPTH_MAX = 256, /* nodes in nodes; each takes about 300 bytes of stack */
    SWIFT_STEPS_MAX = 32768,
};

struct sonde__swift_out {
    struct sonde__swift *p;
    void (*put_known)(struct sonde__swift_out *out, swift_ref ref);
    char *text;
    size_t size, used;
    unsigned depth, steps;
    bool brief;
    bool failed;      /* a bound was reached: there is no text */
    bool specialized; /* "specialized" was printed */
};

/* False: no text. */
bool sonde__swift_print(struct sonde__swift *p, swift_ref ref, enum sonde__swift_style style,
                        char *text, size_t size);

void sonde__swift_put_bytes(struct sonde__swift_out *out, const char *text, size_t length);
void sonde__swift_put(struct sonde__swift_out *out, const char *text);
void sonde__swift_put_number(struct sonde__swift_out *out, uint32_t number);
/* The node's own text. */
void sonde__swift_put_text(struct sonde__swift_out *out, swift_ref ref);
void sonde__swift_put_node(struct sonde__swift_out *out, swift_ref ref);
void sonde__swift_put_children(struct sonde__swift_out *out, swift_ref ref, const char *separator);
/* In parentheses, if it is not simple. */
void sonde__swift_put_operand(struct sonde__swift_out *out, swift_ref ref);
/* A child as a node; nothing for none. */
void sonde__swift_put_child(struct sonde__swift_out *out, swift_ref ref, size_t index);

/* --- swift_print_entity.c --- */

/* as_prefix: in front of another name, which a type or several words would disturb: then nothing is
 * printed. Returns the context that is still to be printed behind the name; none: nothing left. */
swift_ref sonde__swift_put_entity(struct sonde__swift_out *out, swift_ref ref, bool as_prefix);

/* --- swift_print_type.c, swift_print_generic.c --- */

/* labels: of a declaration's parameters, or none. A declaration in brief style: only labels. */
void sonde__swift_put_function_type(struct sonde__swift_out *out, swift_ref labels, swift_ref type,
                                    bool declaration);
void sonde__swift_put_signature(struct sonde__swift_out *out, swift_ref ref);
void sonde__swift_put_parameter_name(struct sonde__swift_out *out, uint32_t depth, uint32_t index);
void sonde__swift_put_inverse(struct sonde__swift_out *out, swift_ref ref);
void sonde__swift_put_bound(struct sonde__swift_out *out, swift_ref ref);
void sonde__swift_put_generic_type(struct sonde__swift_out *out, swift_ref ref);

/* Nodes that have no format. False: not a type. */
bool sonde__swift_put_type(struct sonde__swift_out *out, swift_ref ref);

#endif
