// SPDX-License-Identifier: Apache-2.0
/* --timeout applies to the first program only: a program that starts others sets its own limits for
 * them. */
#include "watch_follow.h"

#include <stdarg.h>
#include <stdio.h>

#include "entry_equal.h"
#include "report_model.h"

const char *const sonde__watch_sampler_names[] = {"auto", "perf", "ptrace", "signal", "none", NULL};

struct words {
    struct sonde__probe_follow *follow;
    size_t used;
    bool fits;
};

static void add(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct words *w, const char *format, ...)
{
    size_t room = sizeof w->follow->text - w->used;
    va_list list;
    va_start(list, format);
    int n = vsnprintf(w->follow->text + w->used, room, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= room || w->follow->words == SONDE__PROBE_FOLLOW_WORDS) {
        w->fits = false;
        return;
    }
    w->used += (size_t)n + 1;
    w->follow->words += w->fits;
}

/* All tags go into one word, because the number of words is limited. */
static void add_tags(struct words *w, const struct sonde__watch_options *o)
{
    char text[SONDE__WATCH_TAGS_BYTES + 1] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < o->tag_count && used < sizeof text; i++) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s",
                             i == 0 ? "" : SONDE__WATCH_TAG_END, o->tags[i].key, o->tags[i].value);
    }
    if (o->tag_count != 0) {
        add(w, "--tags=%s", text);
    }
}

bool sonde__watch_fill_follow(const struct sonde__watch_options *o, int32_t supervisor,
                              struct sonde__probe_follow *follow)
{
    struct words w = {follow, 0, o->self != NULL};
    follow->words = 0;
    add(&w, "%s", o->self != NULL ? o->self : "");
    add(&w, "run");
    if (o->follow) {
        add(&w, "--follow");
    }
    add(&w, "--stall=%lluns", (unsigned long long)o->threshold_ns);
    add(&w, "--color=%s", o->color ? "always" : "never");
    if (o->sampler != SONDE__WATCH_SAMPLER_AUTO) {
        add(&w, "--sampler=%s", sonde__watch_sampler_names[o->sampler]);
    }
    if (o->launch_ns != 0) {
        add(&w, "--launch=%lluns", (unsigned long long)o->launch_ns);
    }
    if (o->fps != 0) {
        add(&w, "--fps=%u", (unsigned)o->fps);
    }
    if (o->equal_max != SONDE__ENTRY_EQUAL_DEFAULT) {
        add(&w, "--equal=%u", (unsigned)o->equal_max);
    }
    if (o->verbose) {
        add(&w, "--verbose");
    }
    if (o->quiet) {
        add(&w, "--quiet");
    }
    if (o->build != NULL) {
        add(&w, "--build=%s", o->build);
    }
    if (o->device != NULL) {
        add(&w, "--device=%s", o->device);
    }
    add_tags(&w, o);
    if (o->scrub != NULL) {
        add(&w, "--scrub-rules=%s", o->scrub);
    }
    if (o->report_base != NULL) {
        add(&w, o->report_json ? "--json=%s" : "--report=%s", o->report_base);
    }
    if (o->spool != NULL) {
        add(&w, "--spool=%s", o->spool);
    }
    add(&w, "--followed=%d", (int)(o->root != 0 ? o->root : supervisor));
    add(&w, "--");
    return w.fits;
}

bool sonde__watch_fill_join(const struct sonde__watch_options *o, int32_t supervisor,
                            int32_t page_fd, struct sonde__probe_follow *follow)
{
    struct words w = {follow, 0, o->self != NULL};
    follow->words = 0;
    add(&w, "%s", o->self != NULL ? o->self : "");
    add(&w, "run");
    add(&w, "--join=%d:%d", (int)supervisor, (int)page_fd);
    add(&w, "--");
    return w.fits;
}

bool sonde__watch_describe_missed(const struct sonde__probe_follow *follow, char *ret_text,
                                  size_t capacity)
{
    static const struct {
        uint32_t reason;
        const char *text;
    } known[] = {
        {SONDE__PROBE_TOO_LONG, "too many arguments"},
        {SONDE__PROBE_FOR_LOADER, "variables for the loader"},
        {SONDE__PROBE_CONFINED, "a seccomp filter"},
        {SONDE__PROBE_NO_SONDE, "sonde out of reach"},
        {SONDE__PROBE_BY_FILE, "executed by descriptor or through /proc"},
        {SONDE__PROBE_ELSEWHERE, "a relative path with file actions of posix_spawn()"},
        {SONDE__PROBE_TRACED, "a debugger or strace around it"},
    };
    uint32_t missed = atomic_load(&follow->missed);
    uint32_t reasons = atomic_load(&follow->reasons);
    const char *before = ": ";
    int n = snprintf(ret_text, capacity, "%u program%s started without being followed",
                     (unsigned)missed, missed == 1 ? " was" : "s were");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if ((reasons & known[i].reason) != 0 && n >= 0 && (size_t)n < capacity) {
            n += snprintf(ret_text + n, capacity - (size_t)n, "%s%s", before, known[i].text);
            before = ", ";
        }
    }
    return missed > 0;
}

bool sonde__watch_awaits_report(const struct sonde__watch_options *options)
{
    return options->report_fd >= 0 && options->root == 0;
}
