// SPDX-License-Identifier: Apache-2.0
#include "when.h"

#include "base_glob.h"
#include "os.h"

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
           (node->test != SONDE__WHEN_GLOB || node->value < SONDE__WHEN_TEXT);
}

bool sonde__when_check(const struct sonde__when *when, uint32_t labels)
{
    bool is_good = when->entry_count <= SONDE__WHEN_ENTRIES &&
                   when->node_count <= SONDE__WHEN_NODES &&
                   when->text[SONDE__WHEN_TEXT - 1] == '\0';
    for (uint32_t i = 0; is_good && i < SONDE__WHEN_FUNCTIONS; i++) {
        is_good = when->first[i] <= when->first[i + 1] && when->first[i + 1] <= when->entry_count;
    }
    for (uint32_t i = 0; is_good && i < when->entry_count; i++) {
        const struct sonde__when_entry *entry = &when->entries[i];
        is_good = entry->label < labels &&
                  (entry->node < when->node_count || entry->node == SONDE__WHEN_ACCEPT);
    }
    for (uint32_t i = 0; is_good && i < when->node_count; i++) {
        is_good = check_node(when, i);
    }
    return is_good;
}

static bool is_less(const struct sonde__when_node *node, uint64_t argument)
{
    int64_t value = node->mask > UINT32_MAX ? (int64_t)argument : (int32_t)(uint32_t)argument;
    return value < (int64_t)node->value;
}

/* Null is no text. */
static enum sonde__when_result matches(const struct sonde__when *when,
                                       const struct sonde__when_node *node, uint64_t address)
{
    char text[SONDE__WHEN_STRING];
    if (address == 0) {
        return SONDE__WHEN_NO;
    }
    size_t size = sonde__os_read(address, text, sizeof text), end = 0;
    while (end < size && text[end] != '\0') {
        end++;
    }
    if (end == size) {
        return SONDE__WHEN_UNREAD;
    }
    return sonde__base_glob(when->text + node->value, text, false) ? SONDE__WHEN_YES
                                                                   : SONDE__WHEN_NO;
}

static enum sonde__when_result test(const struct sonde__when *when,
                                    const struct sonde__when_node *node, uint64_t argument)
{
    switch (node->test) {
    case SONDE__WHEN_EQUAL:
        return (argument & node->mask) == node->value ? SONDE__WHEN_YES : SONDE__WHEN_NO;
    case SONDE__WHEN_BELOW:
        return (argument & node->mask) < node->value ? SONDE__WHEN_YES : SONDE__WHEN_NO;
    case SONDE__WHEN_LESS:
        return is_less(node, argument) ? SONDE__WHEN_YES : SONDE__WHEN_NO;
    default:
        return matches(when, node, argument);
    }
}

enum sonde__when_result sonde__when_holds(const struct sonde__when *when, uint32_t node,
                                          const uint64_t arguments[SONDE__WHEN_ARGUMENTS])
{
    bool is_unread = false;
    while (node < SONDE__WHEN_REJECT) {
        const struct sonde__when_node *n = &when->nodes[node];
        enum sonde__when_result result = test(when, n, arguments[n->argument]);
        is_unread |= result == SONDE__WHEN_UNREAD;
        node = result == SONDE__WHEN_YES ? n->yes : n->no;
    }
    return node == SONDE__WHEN_ACCEPT ? SONDE__WHEN_YES
           : is_unread                ? SONDE__WHEN_UNREAD
                                      : SONDE__WHEN_NO;
}
