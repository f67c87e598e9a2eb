// SPDX-License-Identifier: Apache-2.0
/* The text becomes a tree, then nodes from its last test back to the first one: so all jumps are to
 * nodes that exist, and they are laid out in reverse, forward (when.h). */
#include <string.h>

#include "audit_when_compare.h"

enum { DEPTH_MAX = 32 };

static bool parse_condition(struct audit_when_parser *p, uint16_t *ret_index);

static bool parse_term(struct audit_when_parser *p, uint16_t *ret_index)
{
    bool is_good;
    if (p->depth == DEPTH_MAX) {
        return audit_when_fail(p, p->at, "expected fewer parentheses");
    }
    p->depth++;
    if (audit_when_take(p, "!")) {
        is_good = parse_term(p, ret_index) && audit_when_negate(p, true, ret_index);
    } else if (audit_when_take(p, "(")) {
        is_good = parse_condition(p, ret_index) &&
                  (audit_when_take(p, ")") || audit_when_fail(p, p->at, "expected && or || or )"));
    } else {
        is_good = audit_when_parse_test(p, ret_index);
    }
    p->depth--;
    return is_good;
}

/* Operands joined by an operator, from the left. */
static bool parse_joined(struct audit_when_parser *p, const char *operator,
                         enum audit_when_kind kind,
                         bool (*parse_one)(struct audit_when_parser *p, uint16_t *ret_index),
                         uint16_t *ret_index)
{
    uint16_t left = 0, right = 0;
    if (!parse_one(p, &left)) {
        return false;
    }
    while (audit_when_take(p, operator)) {
        if (!parse_one(p, &right) ||
            !audit_when_add(
                p, (struct audit_when_branch){.kind = kind, .left = left, .right = right}, &left)) {
            return false;
        }
    }
    *ret_index = left;
    return true;
}

static bool parse_and(struct audit_when_parser *p, uint16_t *ret_index)
{
    return parse_joined(p, "&&", AUDIT_WHEN_AND, parse_term, ret_index);
}

static bool parse_condition(struct audit_when_parser *p, uint16_t *ret_index)
{
    return parse_joined(p, "||", AUDIT_WHEN_OR, parse_and, ret_index);
}

struct layout {
    struct sonde__when_node nodes[AUDIT_WHEN_TREE_MAX];
    uint16_t next; /* the first of those that there are */
    bool is_negated;
};

/* Nodes of a part of the tree, in front of those that there are. Places are counted from the end,
 * so that nothing moves. */
static uint16_t lay_out(const struct audit_when_parser *p, uint16_t index, uint16_t yes,
                        uint16_t no, struct layout *out)
{
    const struct audit_when_branch *b = &p->tree[index];
    uint16_t right, left;
    switch (b->kind) {
    case AUDIT_WHEN_NOT:
        out->is_negated = !out->is_negated;
        left = lay_out(p, b->left, no, yes, out);
        out->is_negated = !out->is_negated;
        return left;
    case AUDIT_WHEN_AND:
        right = lay_out(p, b->right, yes, no, out);
        return lay_out(p, b->left, right, no, out);
    case AUDIT_WHEN_OR:
        right = lay_out(p, b->right, yes, no, out);
        return lay_out(p, b->left, yes, right, out);
    default:
        out->next--;
        out->nodes[out->next] = b->test;
        out->nodes[out->next].yes = yes;
        out->nodes[out->next].no = no;
        out->nodes[out->next].flags |= out->is_negated ? SONDE__WHEN_NEGATED : 0;
        return out->next;
    }
}

/* Append the nodes of the tree; jumps are moved to where they come to lie. */
static bool put_nodes(struct audit_when_parser *p, uint16_t root, uint16_t *ret_node)
{
    struct layout out = {.next = AUDIT_WHEN_TREE_MAX};
    struct sonde__when *when = p->to->when;
    (void)lay_out(p, root, SONDE__WHEN_ACCEPT, SONDE__WHEN_REJECT, &out);
    uint16_t next = out.next;
    if (when->node_count + AUDIT_WHEN_TREE_MAX - next > SONDE__WHEN_NODES) {
        return audit_when_fail(p, p->text, "expected fewer conditions: there is no room for more");
    }
    *ret_node = (uint16_t)when->node_count;
    for (uint32_t i = next; i < AUDIT_WHEN_TREE_MAX; i++) {
        struct sonde__when_node *node = &when->nodes[when->node_count++];
        *node = out.nodes[i];
        node->yes =
            (uint16_t)(node->yes < AUDIT_WHEN_TREE_MAX ? node->yes - next + *ret_node : node->yes);
        node->no =
            (uint16_t)(node->no < AUDIT_WHEN_TREE_MAX ? node->no - next + *ret_node : node->no);
    }
    return true;
}

const char *sonde__audit_when_compile(struct sonde__audit_when *to, const char *text,
                                      const char *function, uint32_t argument, uint16_t *ret_node,
                                      size_t *ret_at)
{
    struct audit_when_parser p = {
        .text = text, .at = text, .function = function, .argument = argument, .to = to};
    uint16_t root;
    if (parse_condition(&p, &root)) {
        audit_when_skip_blanks(&p);
        if (*p.at != '\0') {
            (void)audit_when_fail(&p, p.at, "expected && or ||, or the end of the condition");
        } else {
            (void)put_nodes(&p, root, ret_node);
        }
    }
    *ret_at = p.expected != NULL ? (size_t)(p.error_at - text) : 0;
    return p.expected;
}
