// SPDX-License-Identifier: Apache-2.0
#include "audit_when_parser.h"

#include <string.h>

bool audit_when_fail(struct audit_when_parser *p, const char *at, const char *expected)
{
    if (p->expected == NULL) {
        p->expected = expected;
        p->error_at = at;
    }
    return false;
}

void audit_when_skip_blanks(struct audit_when_parser *p)
{
    p->at += strspn(p->at, " \t\n");
}

bool audit_when_take(struct audit_when_parser *p, const char *token)
{
    audit_when_skip_blanks(p);
    size_t size = strlen(token);
    if (strncmp(p->at, token, size) != 0) {
        return false;
    }
    p->at += size;
    return true;
}

bool audit_when_add(struct audit_when_parser *p, struct audit_when_branch branch,
                    uint16_t *ret_index)
{
    if (p->count == AUDIT_WHEN_TREE_MAX) {
        return audit_when_fail(p, p->at, "expected a shorter condition (at most 200 tests)");
    }
    p->tree[p->count] = branch;
    *ret_index = p->count++;
    return true;
}

bool audit_when_negate(struct audit_when_parser *p, bool is_not, uint16_t *ret_index)
{
    return !is_not ||
           audit_when_add(p, (struct audit_when_branch){.kind = AUDIT_WHEN_NOT, .left = *ret_index},
                          ret_index);
}
