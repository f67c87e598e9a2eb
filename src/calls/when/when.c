// SPDX-License-Identifier: Apache-2.0
#include "when.h"

#include <fcntl.h>

#include "base_glob.h"
#include "when_address.h"
#include "when_text.h"

/* What a test finds. */
enum truth {
    FALSE = SONDE__WHEN_NO,
    TRUE = SONDE__WHEN_YES,
    UNREAD = SONDE__WHEN_UNREAD,
    NOTHING, /* neither it nor its contrary: there is nothing to test */
};

static bool is_target(const struct sonde__when *when, uint32_t from, uint32_t to)
{
    return to == SONDE__WHEN_ACCEPT || to == SONDE__WHEN_REJECT ||
           (to > from && to < when->node_count);
}

static bool check_node(const struct sonde__when *when, uint32_t index)
{
    const struct sonde__when_node *node = &when->nodes[index];
    return node->test < SONDE__WHEN_TESTS && node->argument < SONDE__WHEN_ARGUMENTS &&
           is_target(when, index, node->yes) && is_target(when, index, node->no) &&
           (node->other < SONDE__WHEN_ARGUMENTS || node->other == SONDE__WHEN_NONE) &&
           (node->test < SONDE__WHEN_GLOB || node->value < SONDE__WHEN_TEXT) &&
           (node->test != SONDE__WHEN_NET ||
            node->value <= SONDE__WHEN_TEXT - SONDE__WHEN_NET_BYTES);
}

static bool check_entry(const struct sonde__when *when, uint32_t index, uint32_t labels)
{
    const struct sonde__when_entry *entry = &when->entries[index];
    return entry->label + (entry->limit != 0 ? 1u : 0u) < labels &&
           entry->limit <= when->limit_count && entry->phase <= SONDE__WHEN_TEXT &&
           entry->keep_count <= SONDE__WHEN_KEEPS_EACH &&
           (uint32_t)entry->keep + entry->keep_count <= when->keep_count &&
           (entry->node < when->node_count || entry->node == SONDE__WHEN_ACCEPT);
}

static bool check_keep(const struct sonde__when_node *keep)
{
    return keep->test < SONDE__WHEN_TESTS && keep->argument < SONDE__WHEN_ARGUMENTS &&
           (keep->other < SONDE__WHEN_ARGUMENTS || keep->other == SONDE__WHEN_NONE);
}

bool sonde__when_check(const struct sonde__when *when, uint32_t labels)
{
    bool is_good =
        when->entry_count <= SONDE__WHEN_ENTRIES && when->node_count <= SONDE__WHEN_NODES &&
        when->limit_count <= SONDE__WHEN_LIMITS && when->keep_count <= SONDE__WHEN_KEEPS &&
        when->text[SONDE__WHEN_TEXT - 1] == '\0';
    for (uint32_t i = 0; is_good && i < SONDE__WHEN_FUNCTIONS; i++) {
        is_good = when->first[i] <= when->first[i + 1] && when->first[i + 1] <= when->entry_count;
    }
    for (uint32_t i = 0; is_good && i < when->entry_count; i++) {
        is_good = check_entry(when, i, labels);
    }
    for (uint32_t i = 0; is_good && i < when->node_count; i++) {
        is_good = check_node(when, i);
    }
    for (uint32_t i = 0; is_good && i < when->keep_count; i++) {
        is_good = check_keep(&when->keeps[i]);
    }
    for (uint32_t i = 0; is_good && i < when->limit_count; i++) {
        const struct sonde__when_limit *limit = &when->limits[i];
        is_good = limit->count > 0 && limit->count <= SONDE__WHEN_LIMIT_CALLS &&
                  limit->first <= SONDE__WHEN_TIMES - limit->count;
    }
    return is_good;
}

static bool is_less(const struct sonde__when_node *node, uint64_t argument)
{
    int64_t value = node->mask > UINT32_MAX ? (int64_t)argument : (int32_t)(uint32_t)argument;
    return value < (int64_t)node->value;
}

static enum truth truth_of(bool holds)
{
    return holds ? TRUE : FALSE;
}

/* The text or path that the last test of one read: the next one is mostly of the same. */
struct subject {
    uint8_t test, argument, other; /* of the node; TESTS: nothing was read */
    enum truth state;              /* FALSE: there is none */
    char text[2 * SONDE__WHEN_STRING];
};

static __attribute__((noinline)) void read_subject(struct subject *subject,
                                                   const struct sonde__when_node *node,
                                                   const uint64_t *arguments)
{
    uint64_t address = arguments[node->argument];
    int32_t folder = node->other != SONDE__WHEN_NONE ? (int32_t)arguments[node->other] : AT_FDCWD;
    subject->test = node->test;
    subject->argument = node->argument;
    subject->other = node->other;
    subject->state =
        node->test == SONDE__WHEN_GLOB
            ? (enum truth)sonde__when_text(address, subject->text)
            : (enum truth)sonde__when_path(address, folder, subject->text, sizeof subject->text);
}

static enum truth matches(const struct sonde__when *when, const struct sonde__when_node *node,
                          const uint64_t *arguments, struct subject *subject)
{
    if (subject->test != node->test || subject->argument != node->argument ||
        subject->other != node->other) {
        read_subject(subject, node, arguments);
    }
    return subject->state != TRUE
               ? subject->state
               : truth_of(sonde__base_glob(when->text + node->value, subject->text,
                                           node->test == SONDE__WHEN_PATH));
}

static bool compare(const struct sonde__when_node *node, uint64_t number)
{
    return node->test == SONDE__WHEN_EQUAL   ? (number & node->mask) == node->value
           : node->test == SONDE__WHEN_BELOW ? (number & node->mask) < node->value
                                             : is_less(node, number);
}

static __attribute__((noinline)) enum truth test_address(const struct sonde__when *when,
                                                         const struct sonde__when_node *node,
                                                         const uint64_t *arguments)
{
    struct sonde__when_address address;
    uint64_t size = node->other != SONDE__WHEN_NONE ? arguments[node->other] : 0;
    bool is_message = (node->flags & SONDE__WHEN_MESSAGE) != 0;
    switch (sonde__when_address(arguments[node->argument], size, is_message, &address)) {
    case SONDE__WHEN_NO_ADDRESS:
        return NOTHING;
    case SONDE__WHEN_UNREADABLE:
        return UNREAD;
    default:
        break;
    }
    if (node->test == SONDE__WHEN_NET) {
        return truth_of(sonde__when_in_net(&address, (const uint8_t *)when->text + node->value));
    }
    if ((node->flags & SONDE__WHEN_FAMILY) == 0 && !address.has_ip) {
        return NOTHING; /* no port */
    }
    return truth_of(
        compare(node, (node->flags & SONDE__WHEN_FAMILY) != 0 ? address.family : address.port));
}

/* Of an argument that is a number itself. */
static bool is_of_number(const struct sonde__when_node *node)
{
    return node->test <= SONDE__WHEN_LESS &&
           (node->flags & (SONDE__WHEN_FAMILY | SONDE__WHEN_PORT)) == 0;
}

static enum truth test(const struct sonde__when *when, const struct sonde__when_node *node,
                       const uint64_t *arguments, struct subject *subject)
{
    if (is_of_number(node)) {
        return truth_of(compare(node, arguments[node->argument]));
    }
    if (node->test == SONDE__WHEN_GLOB || node->test == SONDE__WHEN_PATH) {
        return matches(when, node, arguments, subject);
    }
    return test_address(when, node, arguments);
}

/* What is unknown goes on as a part that does not hold, and so is never a reason to accept. Not
 * inlined: numbers would pay for the frame with the text. */
static __attribute__((noinline)) enum sonde__when_result
holds(const struct sonde__when *when, uint32_t node, const uint64_t *arguments)
{
    struct subject subject;
    bool is_unread = false;
    subject.test = SONDE__WHEN_TESTS;
    while (node < SONDE__WHEN_REJECT) {
        const struct sonde__when_node *n = &when->nodes[node];
        enum truth truth = test(when, n, arguments, &subject);
        is_unread |= truth == UNREAD;
        bool goes_yes = truth < UNREAD ? truth == TRUE : (n->flags & SONDE__WHEN_NEGATED) != 0;
        node = goes_yes ? n->yes : n->no;
    }
    return node == SONDE__WHEN_ACCEPT ? SONDE__WHEN_YES
           : is_unread                ? SONDE__WHEN_UNREAD
                                      : SONDE__WHEN_NO;
}

/* Numbers come first in most conditions, and decide most calls. */
enum sonde__when_result sonde__when_holds(const struct sonde__when *when, uint32_t node,
                                          const uint64_t arguments[SONDE__WHEN_ARGUMENTS])
{
    while (node < SONDE__WHEN_REJECT) {
        const struct sonde__when_node *n = &when->nodes[node];
        if (!is_of_number(n)) {
            return holds(when, node, arguments);
        }
        node = compare(n, arguments[n->argument]) ? n->yes : n->no;
    }
    return node == SONDE__WHEN_ACCEPT ? SONDE__WHEN_YES : SONDE__WHEN_NO;
}
