// SPDX-License-Identifier: Apache-2.0
#include "state.h"

#include <stdio.h>
#include <string.h>

/* --- versions --- */

enum { VERSION_TEXT = 256 }; /* of longer ones the begin is compared */

struct version {
    const char *numbers, *rest; /* rest: the text after the numbers */
};

/* Numbers with dots between them, then the end, "-…" (before the release) or "+…". */
static bool parse_version(const char *text, struct version *ret_version)
{
    const char *at = text + (*text == 'v' || *text == 'V');
    ret_version->numbers = at;
    for (;;) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 18) {
            return false;
        }
        at += digits;
        if (*at != '.') {
            break;
        }
        at++;
    }
    ret_version->rest = at;
    return *at == '\0' || *at == '-' || *at == '+';
}

/* The next number, or 0 after the last. */
static uint64_t next_number(const struct version *version, const char **at)
{
    uint64_t number = 0;
    for (; *at < version->rest && **at != '.'; (*at)++) {
        number = 10 * number + (uint64_t)(**at - '0');
    }
    *at += *at < version->rest;
    return number;
}

/* The part behind "app@", as Sentry's SDKs name a release, if both are of one app. */
static void skip_app(const char **one, const char **other)
{
    size_t size = strcspn(*one, "@");
    if ((*one)[size] == '@' && strncmp(*one, *other, size + 1) == 0) {
        *one += size + 1;
        *other += size + 1;
    }
}

/* Of one version, by the numbers behind "+". False: they have others there, which have no order. */
static bool compare_builds(const struct version *a, const struct version *b, int *ret_order)
{
    static const char numbers[] = "0123456789.";
    const char *one = strchr(a->rest, '+'), *other = strchr(b->rest, '+');
    if (one == NULL || other == NULL || strcmp(one, other) == 0) {
        return true;
    }
    *ret_order = strverscmp(one + 1, other + 1);
    return one[1 + strspn(one + 1, numbers)] == '\0' &&
           other[1 + strspn(other + 1, numbers)] == '\0';
}

/* By what is behind "-", up to a "+". */
static int compare_before(const char *one, const char *other)
{
    char a[VERSION_TEXT], b[VERSION_TEXT];
    snprintf(a, sizeof a, "%.*s", (int)strcspn(one, "+"), one);
    snprintf(b, sizeof b, "%.*s", (int)strcspn(other, "+"), other);
    return strverscmp(a, b);
}

bool state_compare_versions(const char *one, const char *other, int *ret_order)
{
    struct version a, b;
    skip_app(&one, &other);
    if (!parse_version(one, &a) || !parse_version(other, &b)) {
        return false;
    }
    for (const char *x = a.numbers, *y = b.numbers; x < a.rest || y < b.rest;) {
        uint64_t i = next_number(&a, &x), k = next_number(&b, &y);
        if (i != k) {
            *ret_order = i < k ? -1 : 1;
            return true;
        }
    }
    bool is_before_a = *a.rest == '-', is_before_b = *b.rest == '-';
    *ret_order = is_before_a && is_before_b ? compare_before(a.rest, b.rest)
                                            : (int)is_before_b - (int)is_before_a;
    return *ret_order != 0 || compare_builds(&a, &b, ret_order);
}

/* --- states --- */

/* Is the event's build the mark's, or a later one? */
static bool is_in_build(const struct state_mark *mark, const struct state_event *event)
{
    int order;
    if (strcmp(event->build, mark->build) == 0) {
        return true;
    }
    if (state_compare_versions(event->build, mark->build, &order)) {
        return order >= 0;
    }
    uint64_t from_ns = event->mark_first_ns != 0 ? event->mark_first_ns : mark->since_ns;
    return event->build[0] != '\0' && event->build_first_ns > from_ns;
}

enum state state_after(const struct state_mark *mark, const struct state_event *event)
{
    bool is_back = false;
    switch (mark->state) {
    case STATE_RESOLVED:
        is_back = event->time_ns > mark->since_ns;
        break;
    case STATE_RESOLVED_IN:
        is_back = is_in_build(mark, event);
        break;
    case STATE_RESOLVED_NEXT:
        is_back = event->build[0] != '\0' && event->build_first_ns > mark->since_ns;
        break;
    case STATE_IGNORED:
        return (mark->until_ns != 0 && event->received_ns >= mark->until_ns) ||
                       (mark->until_count != 0 && event->count >= mark->until_count)
                   ? STATE_OPEN
                   : STATE_IGNORED;
    case STATE_OPEN:
    case STATE_REGRESSED:
        break;
    }
    return is_back ? STATE_REGRESSED : mark->state;
}
