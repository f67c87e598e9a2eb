// SPDX-License-Identifier: Apache-2.0
/* The text becomes a tree, then nodes from its last test back to the first one: so all jumps are to
 * nodes that exist, and they are laid out in reverse, forward (when.h). */
#include "audit_when.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "audit_words.h"
#include "base_path.h"
#include "host_self.h"

enum { TREE_MAX = 200, DEPTH_MAX = 32, PATTERN_MAX = 1000 };

enum kind { AND, OR, NOT, TEST };

struct branch {
    enum kind kind;
    uint16_t left, right; /* in the tree */
    struct sonde__when_node test;
};

struct parser {
    const char *text, *at;
    const char *function;
    uint32_t argument;
    struct sonde__audit_when *to;
    struct branch tree[TREE_MAX];
    uint16_t count;
    unsigned depth;
    const char *expected; /* the first error */
    const char *error_at;
};

static bool fail(struct parser *p, const char *at, const char *expected)
{
    if (p->expected == NULL) {
        p->expected = expected;
        p->error_at = at;
    }
    return false;
}

static void skip_blanks(struct parser *p)
{
    p->at += strspn(p->at, " \t\n");
}

/* Take these characters, if they come next. */
static bool take(struct parser *p, const char *token)
{
    skip_blanks(p);
    size_t size = strlen(token);
    if (strncmp(p->at, token, size) != 0) {
        return false;
    }
    p->at += size;
    return true;
}

static bool add(struct parser *p, struct branch branch, uint16_t *ret_index)
{
    if (p->count == TREE_MAX) {
        return fail(p, p->at, "expected a shorter condition (at most 200 tests)");
    }
    p->tree[p->count] = branch;
    *ret_index = p->count++;
    return true;
}

static size_t word_size(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789";
    return text[0] >= '0' && text[0] <= '9' ? 0 : strspn(text, letters);
}

static bool read_atom(struct parser *p, uint64_t *ret_value)
{
    skip_blanks(p);
    size_t size = word_size(p->at);
    if (size > 0 && sonde__audit_constant(p->at, size, ret_value)) {
        p->at += size;
        return true;
    }
    bool is_negative = p->at[0] == '-';
    const char *digits = p->at + is_negative;
    char *end;
    if (*digits < '0' || *digits > '9') {
        return fail(p, p->at, "expected a number, or a constant that is known (O_RDONLY, AF_INET)");
    }
    errno = 0;
    uint64_t value = strtoull(digits, &end, 0);
    if (errno == ERANGE || (is_negative && value > (uint64_t)INT64_MAX + 1)) {
        return fail(p, p->at, "expected a number of at most 64 bits");
    }
    if (word_size(end) != 0 || (*end >= '0' && *end <= '9')) {
        return fail(p, p->at, "expected a number");
    }
    *ret_value = is_negative ? 0 - value : value;
    p->at = end;
    return true;
}

/* "O_WRONLY | O_CREAT", not "||" */
static bool read_value(struct parser *p, uint64_t *ret_value)
{
    uint64_t value = 0, atom = 0;
    do {
        if (!read_atom(p, &atom)) {
            return false;
        }
        value |= atom;
        skip_blanks(p);
    } while (p->at[0] == '|' && p->at[1] != '|' && take(p, "|"));
    *ret_value = value;
    return true;
}

static bool negate(struct parser *p, bool is_not, uint16_t *ret_index)
{
    return !is_not || add(p, (struct branch){.kind = NOT, .left = *ret_index}, ret_index);
}

static bool add_test(struct parser *p, struct sonde__when_node test, uint16_t *ret_index)
{
    return add(
        p,
        (struct branch) {
            .kind = TEST
            , .test = test
        },
        ret_index);
}

static bool add_equal(struct parser *p, struct sonde__when_node test, uint64_t value,
                      uint16_t *ret_index)
{
    test.test = SONDE__WHEN_EQUAL;
    test.value = value & (test.mask > UINT32_MAX ? UINT64_MAX : UINT32_MAX);
    return add_test(p, test, ret_index);
}

/* <, or <= as < of the next number. */
static bool add_less(struct parser *p, struct sonde__when_node test, bool is_masked, bool or_equal,
                     uint16_t *ret_index)
{
    skip_blanks(p);
    const char *at = p->at;
    uint64_t value;
    if (!read_value(p, &value)) {
        return false;
    }
    if (or_equal && value == (is_masked ? UINT64_MAX : INT64_MAX)) {
        return fail(p, at, "expected a smaller number");
    }
    test.test = is_masked ? SONDE__WHEN_BELOW : SONDE__WHEN_LESS;
    test.value = value + or_equal;
    return add_test(p, test, ret_index);
}

/* "(1, 2)": one of the tests must hold. */
static bool parse_list(struct parser *p, struct sonde__when_node test,
                       bool (*parse_one)(struct parser *p, struct sonde__when_node test,
                                         uint16_t *ret_index),
                       uint16_t *ret_index)
{
    uint16_t one = 0, all = UINT16_MAX;
    if (!take(p, "(")) {
        return fail(p, p->at, "expected (");
    }
    do {
        if (!parse_one(p, test, &one) ||
            (all != UINT16_MAX &&
             !add(p, (struct branch){.kind = OR, .left = all, .right = one}, &one))) {
            return false;
        }
        all = one;
    } while (take(p, ","));
    *ret_index = all;
    return take(p, ")") || fail(p, p->at, "expected a comma or )");
}

static bool parse_equal(struct parser *p, struct sonde__when_node test, uint16_t *ret_index)
{
    uint64_t value;
    return read_value(p, &value) && add_equal(p, test, value, ret_index);
}

/* Keep bytes for the evaluation; a NUL follows them. */
static bool keep_bytes(struct sonde__audit_when *to, const void *bytes, size_t size,
                       uint64_t *ret_at)
{
    uint32_t used = to->text_used;
    if (used + size + 1 > SONDE__WHEN_TEXT) {
        return false;
    }
    memcpy(to->when->text + used, bytes, size);
    to->when->text[used + size] = '\0';
    *ret_at = used;
    to->text_used += (uint32_t)size + 1;
    return true;
}

static bool keep(struct parser *p, const void *bytes, size_t size, uint64_t *ret_at)
{
    return keep_bytes(p->to, bytes, size, ret_at) ||
           fail(p, p->at, "expected fewer patterns: there is no room for more");
}

bool sonde__audit_when_text(struct sonde__audit_when *to, const char *text, uint64_t *ret_at)
{
    return keep_bytes(to, text, strlen(text), ret_at);
}

/* Of a path that is absolute: has a pattern parts that such a path never has? */
static bool has_odd_parts(const char *pattern)
{
    size_t size = strlen(pattern);
    return strstr(pattern, "//") != NULL || strstr(pattern, "/./") != NULL ||
           strstr(pattern, "/../") != NULL || (size > 1 && pattern[size - 1] == '/') ||
           (size > 2 && strcmp(pattern + size - 3, "/..") == 0) ||
           (size > 1 && strcmp(pattern + size - 2, "/.") == 0);
}

static bool check_path(struct parser *p, char *pattern, size_t capacity)
{
    if (pattern[0] == '~' && pattern[1] == '/') {
        const char *home = sonde__host_environment("HOME");
        char rest[PATTERN_MAX + 1];
        size_t size = 0;
        memcpy(rest, pattern + 1, strlen(pattern + 1) + 1);
        if (home == NULL || home[0] != '/' ||
            !sonde__base_path_add(pattern, &size, capacity, home) ||
            size + strlen(rest) >= capacity) {
            return fail(p, p->at, "expected the variable HOME to be a folder, for ~/");
        }
        memcpy(pattern + (size > 1 ? size : 0), rest, strlen(rest) + 1);
    }
    if (pattern[0] != '/' && strncmp(pattern, "**", 2) != 0) {
        return fail(p, p->at, "expected a path's pattern, which begins with /, ~/ or **");
    }
    return !has_odd_parts(pattern) ||
           fail(p, p->at, "expected a path's pattern without //, /./, /../ and a / at its end");
}

static bool parse_pattern(struct parser *p, struct sonde__when_node test, uint16_t *ret_index)
{
    char pattern[2 * PATTERN_MAX];
    skip_blanks(p);
    size_t size = strcspn(p->at, " \t\n)");
    if (size == 0 || size > PATTERN_MAX) {
        return fail(p, p->at, "expected a pattern of at most 1000 characters");
    }
    memcpy(pattern, p->at, size);
    pattern[size] = '\0';
    if ((test.test == SONDE__WHEN_PATH && !check_path(p, pattern, sizeof pattern)) ||
        !keep(p, pattern, strlen(pattern), &test.value)) {
        return false;
    }
    p->at += size;
    return add_test(p, test, ret_index);
}

/* A word of a text or path, and what follows it. */
static bool parse_text(struct parser *p, struct sonde__when_node test, uint16_t *ret_index)
{
    bool is_not = take(p, "!~");
    if (!is_not && !take(p, "~")) {
        return fail(p, p->at, "expected ~ or !~ and a pattern");
    }
    return parse_pattern(p, test, ret_index) && negate(p, is_not, ret_index);
}

/* Are all bits behind the first `bits` 0? */
static bool is_net(const uint8_t *bytes, unsigned bits)
{
    for (unsigned i = bits; i < 128; i++) {
        if ((bytes[i / 8] >> (7 - i % 8) & 1) != 0) {
            return false;
        }
    }
    return true;
}

/* "192.0.2.0/24", "::1" */
static bool parse_net(struct parser *p, struct sonde__when_node test, uint16_t *ret_index)
{
    static const char wrong[] =
        "expected an address or a network: 192.0.2.1, 192.0.2.0/24, 2001:db8::/32";
    uint8_t net[SONDE__WHEN_NET_BYTES] = {[11] = 0xff, [12] = 0xff};
    char text[64];
    skip_blanks(p);
    size_t size = strspn(p->at, "0123456789abcdefABCDEF.:"), slash = size;
    unsigned long bits;
    char *end = NULL;
    if (size == 0 || size >= sizeof text) {
        return fail(p, p->at, wrong);
    }
    memcpy(text, p->at, size);
    text[size] = '\0';
    bool is_ip4 = inet_pton(AF_INET, text, net + 13) == 1;
    if (!is_ip4 && inet_pton(AF_INET6, text, net + 1) != 1) {
        return fail(p, p->at, wrong);
    }
    unsigned most = is_ip4 ? 32 : 128;
    bits = most;
    if (p->at[slash] == '/') {
        const char *digits = p->at + slash + 1;
        bits = *digits >= '0' && *digits <= '9' ? strtoul(digits, &end, 10) : most + 1;
        size = end != NULL ? (size_t)(end - p->at) : size;
    }
    if (bits > most) {
        return fail(p, p->at + slash + 1,
                    is_ip4 ? "expected 0 to 32 bits" : "expected 0 to 128 bits");
    }
    bits += 128 - most;
    if (!is_net(net + 1, (unsigned)bits)) {
        return fail(p, p->at, "expected a network whose other bits are 0");
    }
    net[0] = (uint8_t)bits;
    test.test = SONDE__WHEN_NET;
    if (!keep(p, net, sizeof net, &test.value)) {
        return false;
    }
    p->at += size;
    return add_test(p, test, ret_index);
}

/* What follows an address' word. */
static bool parse_address(struct parser *p, struct sonde__when_node test, uint16_t *ret_index)
{
    bool is_not = take(p, "!=");
    if (is_not || take(p, "==")) {
        return parse_net(p, test, ret_index) && negate(p, is_not, ret_index);
    }
    if (take(p, "in")) {
        return parse_list(p, test, parse_net, ret_index);
    }
    return fail(p, p->at, "expected ==, != or in, and addresses");
}

/* What follows a number's word. */
static bool parse_comparison(struct parser *p, struct sonde__when_node test, bool is_masked,
                             uint16_t *ret_index)
{
    uint64_t value;
    bool is_not = false;
    if (take(p, "==") || (is_not = take(p, "!="))) {
        return read_value(p, &value) && add_equal(p, test, value, ret_index) &&
               negate(p, is_not, ret_index);
    }
    if (take(p, "<=") || (is_not = take(p, ">"))) {
        bool or_equal = !is_not || !take(p, "=");
        return add_less(p, test, is_masked, or_equal, ret_index) && negate(p, is_not, ret_index);
    }
    if (take(p, "<")) {
        return add_less(p, test, is_masked, false, ret_index);
    }
    if (take(p, "in")) {
        return parse_list(p, test, parse_equal, ret_index);
    }
    return add_equal(p, test, 0, ret_index) && negate(p, true, ret_index);
}

static struct sonde__when_node node_of(const struct sonde__audit_argument *argument)
{
    unsigned flags = argument->type == SONDE__AUDIT_FAMILY ? SONDE__WHEN_FAMILY
                     : argument->type == SONDE__AUDIT_PORT ? SONDE__WHEN_PORT
                                                           : 0;
    return (struct sonde__when_node){
        .test = argument->type == SONDE__AUDIT_PATH ? SONDE__WHEN_PATH : SONDE__WHEN_GLOB,
        .argument = (uint8_t)argument->index,
        .flags = (uint8_t)(flags | (argument->is_message ? SONDE__WHEN_MESSAGE : 0)),
        .other = (uint8_t)argument->other,
        .mask = argument->type == SONDE__AUDIT_LONG ? UINT64_MAX : UINT32_MAX};
}

bool sonde__audit_when_keep(const char *function, uint32_t argument, const char *word,
                            struct sonde__when_node *ret_keep)
{
    struct sonde__audit_argument known;
    if (!sonde__audit_word(function, argument, word, strlen(word), &known)) {
        return false;
    }
    *ret_keep = node_of(&known);
    if (known.type == SONDE__AUDIT_ADDRESS) {
        ret_keep->test = SONDE__WHEN_NET;
    } else if (known.type != SONDE__AUDIT_TEXT && known.type != SONDE__AUDIT_PATH) {
        ret_keep->test = SONDE__WHEN_EQUAL;
    }
    return true;
}

static bool parse_test(struct parser *p, uint16_t *ret_index)
{
    struct sonde__audit_argument argument;
    skip_blanks(p);
    const char *word = p->at;
    size_t size = word_size(word);
    if (size == 0) {
        return fail(p, word, "expected the name of an argument (arg1 to arg6, flags), ! or (");
    }
    if (!sonde__audit_word(p->function, p->argument, word, size, &argument)) {
        return fail(p, word,
                    "expected an argument that is known of this function (or arg1 to arg6, "
                    "arg1.long, arg1.text, arg1.path; arg after NAME:N)");
    }
    p->at += size;
    struct sonde__when_node test = node_of(&argument);
    if (argument.type == SONDE__AUDIT_TEXT || argument.type == SONDE__AUDIT_PATH) {
        return parse_text(p, test, ret_index);
    }
    if (argument.type == SONDE__AUDIT_ADDRESS) {
        return parse_address(p, test, ret_index);
    }
    skip_blanks(p);
    bool is_masked = p->at[0] == '&' && p->at[1] != '&' && take(p, "&");
    uint64_t mask = UINT64_MAX;
    if (is_masked && !read_value(p, &mask)) {
        return false;
    }
    test.mask &= mask;
    return parse_comparison(p, test, is_masked, ret_index);
}

static bool parse_condition(struct parser *p, uint16_t *ret_index);

static bool parse_term(struct parser *p, uint16_t *ret_index)
{
    bool is_good;
    if (p->depth == DEPTH_MAX) {
        return fail(p, p->at, "expected fewer parentheses");
    }
    p->depth++;
    if (take(p, "!")) {
        is_good = parse_term(p, ret_index) && negate(p, true, ret_index);
    } else if (take(p, "(")) {
        is_good = parse_condition(p, ret_index) &&
                  (take(p, ")") || fail(p, p->at, "expected && or || or )"));
    } else {
        is_good = parse_test(p, ret_index);
    }
    p->depth--;
    return is_good;
}

static bool parse_and(struct parser *p, uint16_t *ret_index)
{
    uint16_t left = 0, right;
    if (!parse_term(p, &left)) {
        return false;
    }
    while (take(p, "&&")) {
        if (!parse_term(p, &right) ||
            !add(p, (struct branch){.kind = AND, .left = left, .right = right}, &left)) {
            return false;
        }
    }
    *ret_index = left;
    return true;
}

static bool parse_condition(struct parser *p, uint16_t *ret_index)
{
    uint16_t left = 0, right;
    if (!parse_and(p, &left)) {
        return false;
    }
    while (take(p, "||")) {
        if (!parse_and(p, &right) ||
            !add(p, (struct branch){.kind = OR, .left = left, .right = right}, &left)) {
            return false;
        }
    }
    *ret_index = left;
    return true;
}

struct layout {
    struct sonde__when_node nodes[TREE_MAX];
    uint16_t next; /* the first of those that there are */
    bool is_negated;
};

/* Nodes of a part of the tree, in front of those that there are. Places are counted from the end,
 * so that nothing moves. */
static uint16_t lay_out(const struct parser *p, uint16_t index, uint16_t yes, uint16_t no,
                        struct layout *out)
{
    const struct branch *b = &p->tree[index];
    uint16_t right, left;
    switch (b->kind) {
    case NOT:
        out->is_negated = !out->is_negated;
        left = lay_out(p, b->left, no, yes, out);
        out->is_negated = !out->is_negated;
        return left;
    case AND:
        right = lay_out(p, b->right, yes, no, out);
        return lay_out(p, b->left, right, no, out);
    case OR:
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
static bool put_nodes(struct parser *p, uint16_t root, uint16_t *ret_node)
{
    struct layout out = {.next = TREE_MAX};
    struct sonde__when *when = p->to->when;
    (void)lay_out(p, root, SONDE__WHEN_ACCEPT, SONDE__WHEN_REJECT, &out);
    uint16_t next = out.next;
    if (when->node_count + TREE_MAX - next > SONDE__WHEN_NODES) {
        return fail(p, p->text, "expected fewer conditions: there is no room for more");
    }
    *ret_node = (uint16_t)when->node_count;
    for (uint32_t i = next; i < TREE_MAX; i++) {
        struct sonde__when_node *node = &when->nodes[when->node_count++];
        *node = out.nodes[i];
        node->yes = (uint16_t)(node->yes < TREE_MAX ? node->yes - next + *ret_node : node->yes);
        node->no = (uint16_t)(node->no < TREE_MAX ? node->no - next + *ret_node : node->no);
    }
    return true;
}

const char *sonde__audit_when_compile(struct sonde__audit_when *to, const char *text,
                                      const char *function, uint32_t argument, uint16_t *ret_node,
                                      size_t *ret_at)
{
    struct parser p = {
        .text = text, .at = text, .function = function, .argument = argument, .to = to};
    uint16_t root;
    if (parse_condition(&p, &root)) {
        skip_blanks(&p);
        if (*p.at != '\0') {
            (void)fail(&p, p.at, "expected && or ||, or the end of the condition");
        } else {
            (void)put_nodes(&p, root, ret_node);
        }
    }
    *ret_at = p.expected != NULL ? (size_t)(p.error_at - text) : 0;
    return p.expected;
}
