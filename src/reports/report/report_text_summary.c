// SPDX-License-Identifier: Apache-2.0
/* Prints a summary. */
#include <inttypes.h>

#include "base_text.h"
#include "report_load.h"
#include "report_summary.h"
#include "report_view.h"
#include "report_walk.h"

/* At most a twentieth is missing, which is not worth mentioning. */
static bool is_nearly(uint64_t part, uint64_t whole)
{
    return part >= whole - whole / 20;
}

static void put_thread(struct sonde__report_out *out, const struct sonde__report *report,
                       const struct sonde__report_stall *stall)
{
    static const char *const kinds[] = {"", "at launch, ", "at exit, ", "in a scope, "};
    sonde__report_out_str(out,
                          stall->kind < sizeof kinds / sizeof *kinds ? kinds[stall->kind] : "");
    if (stall->main) {
        sonde__report_out_str(out, "main");
        return;
    }
    sonde__report_out_print(out, "thread %" PRId64, stall->tid);
    sonde__report_put_thread_name(out, report, stall->thread_name);
}

/* "1.20 s", or "0.90 s of 1.20 s" if more than a twentieth of the stall is missing. */
static void put_part(struct sonde__report_out *out, uint64_t part_ns, uint64_t whole_ns)
{
    bool is_all = is_nearly(part_ns, whole_ns);
    sonde__report_out_duration(out, is_all ? whole_ns : part_ns);
    if (!is_all) {
        sonde__report_out_print(out, " of %s", sonde__report_duration(whole_ns).text);
    }
}

static void put_call(struct sonde__report_out *out, const struct sonde__report *report,
                     const struct sonde__report_summary *s)
{
    if (s->several) {
        sonde__report_out_str(out, " in several calls");
    }
    if (s->syscall <= 0) {
        return;
    }
    if (s->call_ns < s->blocked_ns) {
        sonde__report_out_print(out, ", %s of it", sonde__report_duration(s->call_ns).text);
    }
    sonde__report_out_str(out, " in ");
    sonde__report_put_syscall(out, report, s->syscall);
    if (s->wait != NULL) {
        sonde__report_out_str(out, " (");
        sonde__report_put_resource(out, report, s->wait);
        sonde__report_out_str(out, ")");
    } else if (s->detail != 0) {
        sonde__report_out_print(out, " (%s)", sonde__report_text(report, s->detail));
    }
}

/* " under save_session (session.c:88)" */
static void put_where(struct sonde__report_out *out, const struct sonde__report *report,
                      const struct sonde__report_where *where)
{
    struct sonde__report_walk walk;
    struct sonde__report_step step;
    if (where->stack == 0) {
        return;
    }
    sonde__report_walk_begin(&walk, report, where->stack);
    for (uint32_t i = 0; i <= where->step; i++) {
        if (!sonde__report_walk_next(&walk, &step)) {
            return;
        }
    }
    struct sonde__report_shown shown = sonde__report_shown(&step);
    sonde__report_out_str(out, where->is_all ? " under " : ", mostly under ");
    if (step.kind == SONDE__REPORT_STEP_PHYSICAL) {
        sonde__report_put_function(out, report, step.frame);
    } else {
        sonde__report_put_name(out, report, shown.name);
    }
    if (*sonde__report_text(report, shown.file) != '\0') {
        sonde__report_out_print(out, " (%s",
                                sonde__base_file_name(sonde__report_text(report, shown.file)));
        if (where->has_line) {
            sonde__report_out_print(out, ":%u", shown.line);
        }
        sonde__report_out_str(out, ")");
    }
}

static void put_split(struct sonde__report_out *out, const struct sonde__report_summary *s)
{
    static const char *const before[] = {": ran ", ": waited for a processor ", ": blocked "};
    static const char *const after[] = {", ran ", ", waited for a processor ", ", blocked "};
    const uint64_t parts[] = {s->ran_ns, s->waited_ns, s->blocked_ns};
    bool first = true;
    for (unsigned i = 0; i < 3; i++) {
        if (parts[i] != 0) {
            sonde__report_out_print(out, "%s%s", first ? before[i] : after[i],
                                    sonde__report_duration(parts[i]).text);
            first = false;
        }
    }
}

void sonde__report_put_summary(struct sonde__report_out *out, const struct sonde__report *report,
                               const struct sonde__report_stall *stall,
                               const struct sonde__report_analysis *analysis)
{
    struct sonde__report_summary s;
    sonde__report_summarize(report, stall, analysis, &s);
    put_thread(out, report, stall);
    switch (s.verb) {
    case SONDE__REPORT_BLOCKED:
        sonde__report_out_str(out, s.disk ? " blocked uninterruptibly " : " blocked ");
        put_part(out, s.blocked_ns, s.whole_ns);
        put_call(out, report, &s);
        break;
    case SONDE__REPORT_RAN:
        sonde__report_out_str(out, " ran ");
        put_part(out, s.ran_ns, s.whole_ns);
        break;
    case SONDE__REPORT_WAITED:
        sonde__report_out_str(out, " waited ");
        put_part(out, s.waited_ns, s.whole_ns);
        sonde__report_out_str(out, " for a processor");
        break;
    default:
        sonde__report_out_print(out, " was away from its loop for %s",
                                sonde__report_duration(s.whole_ns).text);
        put_split(out, &s);
        break;
    }
    put_where(out, report, &s.where);
    if (s.unseen_ns != 0) {
        sonde__report_out_str(out, "; no sample covers ");
        put_part(out, s.unseen_ns, s.whole_ns);
    }
    sonde__report_out_str(out, sonde__report_is_congested(stall) ? "; processors were short" : "");
}

static bool write_text(void *ctx, const char *bytes, size_t size)
{
    sonde__base_text_bytes(ctx, bytes, size);
    return true;
}

void sonde__report_summary_text(const struct sonde__report *report,
                                const struct sonde__report_stall *stall,
                                const struct sonde__report_analysis *analysis, char *ret_text,
                                size_t capacity)
{
    struct sonde__report_out out;
    struct sonde__text text;
    sonde__base_text_init(&text, ret_text, capacity);
    sonde__report_out_init(&out, (struct sonde__report_sink){write_text, &text}, false);
    sonde__report_put_summary(&out, report, stall, analysis);
    sonde__report_out_flush(&out);
}
