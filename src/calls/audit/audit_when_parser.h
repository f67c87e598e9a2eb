// SPDX-License-Identifier: Apache-2.0
/* What the parser of conditions has read: a place in the text, and a tree of tests and operators.
 * Context: any thread. */
#ifndef SONDE_AUDIT_WHEN_PARSER_H
#define SONDE_AUDIT_WHEN_PARSER_H

#include "audit_when.h"

enum { AUDIT_WHEN_TREE_MAX = 200 };

enum audit_when_kind { AUDIT_WHEN_AND, AUDIT_WHEN_OR, AUDIT_WHEN_NOT, AUDIT_WHEN_TEST };

struct audit_when_branch {
    enum audit_when_kind kind;
    uint16_t left, right; /* in the tree */
    struct sonde__when_node test;
};

struct audit_when_parser {
    const char *text, *at;
    const char *function;
    uint32_t argument;
    struct sonde__audit_when *to;
    struct audit_when_branch tree[AUDIT_WHEN_TREE_MAX];
    uint16_t count;
    unsigned depth;
    const char *expected; /* the first error */
    const char *error_at;
};

/* Note the first error. Returns false. */
bool audit_when_fail(struct audit_when_parser *p, const char *at, const char *expected);
void audit_when_skip_blanks(struct audit_when_parser *p);
/* Skip blanks; take these characters, if they come next. */
bool audit_when_take(struct audit_when_parser *p, const char *token);
/* Add to the tree. False: it is full. */
bool audit_when_add(struct audit_when_parser *p, struct audit_when_branch branch,
                    uint16_t *ret_index);

/* Negate the branch at *ret_index, if is_not. */
bool audit_when_negate(struct audit_when_parser *p, bool is_not, uint16_t *ret_index);

#endif
