// SPDX-License-Identifier: Apache-2.0
#include "audit_from.h"

#include <string.h>

#include "audit_expand.h"
#include "base_glob.h"
#include "base_text.h"

static bool is_named(const struct sonde__report *report, uint32_t name, const char *glob)
{
    return name != 0 && sonde__audit_pattern_means(glob, sonde__report_text(report, name));
}

static bool is_in_module(const struct sonde__report *report, uint32_t image, const char *glob)
{
    const char *path = sonde__report_text(report, sonde__report_image(report, image)->path);
    bool is_path = strchr(glob, '/') != NULL;
    return image != 0 &&
           sonde__base_glob(glob, is_path ? path : sonde__base_file_name(path), is_path);
}

/* The function, or one inlined into it. */
static bool is_frame(const struct sonde__report *report, uint32_t id,
                     const struct sonde__audit_pattern *pattern)
{
    const struct sonde__report_frame *frame = sonde__report_frame(report, id);
    if (!pattern->is_symbol) {
        return is_in_module(report, frame->image, pattern->glob);
    }
    bool is_it = is_named(report, frame->name, pattern->glob);
    for (uint32_t i = 0; i < frame->inlined_count && !is_it; i++) {
        is_it = is_named(report, frame->inlined[i].name, pattern->glob);
    }
    return is_it;
}

static bool is_node(const struct sonde__report *report, uint32_t id,
                    const struct sonde__audit_pattern *pattern)
{
    const struct sonde__report_node *node = sonde__report_node(report, id);
    bool is_it = is_frame(report, node->frame, pattern);
    for (uint32_t i = 0; i < node->tail_call_count && !is_it; i++) {
        is_it = is_frame(report, node->tail_calls[i], pattern);
    }
    return is_it;
}

static bool has_frame(const struct sonde__report *report, uint32_t stack,
                      const struct sonde__audit_pattern *pattern)
{
    while (stack != 0 && !is_node(report, stack, pattern)) {
        stack = sonde__report_node(report, stack)->parent;
    }
    return stack != 0;
}

bool sonde__audit_is_from(const struct sonde__report *report, uint32_t stack,
                          const struct sonde__audit_patterns *from)
{
    bool is_asked = false, is_found = false;
    for (size_t i = 0; stack != 0 && i < from->count; i++) {
        const struct sonde__audit_pattern *pattern = &from->items[i];
        bool is_it = (is_found && !pattern->is_not) || has_frame(report, stack, pattern);
        if (pattern->is_not && is_it) {
            return false;
        }
        is_asked |= !pattern->is_not;
        is_found |= !pattern->is_not && is_it;
    }
    return is_found || !is_asked;
}

/* Does one of its patterns match, and none of those with "!"? */
static bool is_of_sdk(const struct sonde__report *report, uint32_t node,
                      const struct sonde__audit_patterns *match)
{
    bool is_it = false;
    for (size_t i = 0; i < match->count; i++) {
        if (is_node(report, node, &match->items[i])) {
            if (match->items[i].is_not) {
                return false;
            }
            is_it = true;
        }
    }
    return is_it;
}

const char *sonde__audit_sdk_of(const struct sonde__report *report, uint32_t stack,
                                const struct sonde__audit_sdk *sdks, size_t count)
{
    for (; stack != 0 && count != 0; stack = sonde__report_node(report, stack)->parent) {
        for (size_t i = 0; i < count; i++) {
            if (is_of_sdk(report, stack, &sdks[i].match)) {
                return sdks[i].name;
            }
        }
    }
    return NULL;
}
