// SPDX-License-Identifier: Apache-2.0
/* A comparison as text: the two sides, one line of numbers, then the differences, worst first.
 *
 *   old  hang.sonde  server, build 1.2
 *   new  now.sonde  server, build 1.3
 *
 *   1 new cause of stalls, 1 gone; 3 as before
 *
 *   new: 2 stalls, 1.40 s in all
 *     main blocked 700 ms in fsync (fd 7 /data/app.db) under save (session.c:88)
 *     fingerprint  1:… */
#include "base_text.h"
#include "diff_parts.h"
#include "report_analyse.h"
#include "report_summary.h"

static void put_side(struct sonde__report_out *out, const struct sonde__diff *diff, unsigned s)
{
    const struct sonde__diff_side *side = &diff->sides[s];
    for (uint32_t i = 0; i < side->count && !out->stopped; i++) {
        char buffer[SONDE__REPORT_BUILD_ID_TEXT];
        const char *build = sonde__report_build(side->reports[i], buffer);
        sonde__report_out_str(out, s == SONDE__DIFF_OLD ? "old  " : "new  ");
        sonde__report_out_text(out, side->names[i]);
        sonde__report_out_str(out, "  ");
        sonde__report_out_text(
            out, sonde__base_file_name(sonde__report_header(side->reports[i])->executable));
        sonde__report_out_str(out, build[0] != '\0' ? ", build " : "");
        sonde__report_out_text(out, build);
        sonde__report_out_str(out, "\n");
    }
}

/* "2 new, 1 worse; 3 as before"; false: no differences. */
static bool put_states(struct sonde__report_out *out, const uint32_t *states, const char *what,
                       const char *between)
{
    bool first = true;
    sonde__report_out_str(out, between);
    sonde__report_out_str(out, what);
    for (unsigned i = 0; i < SONDE__DIFF_STATES; i++) {
        if (states[i] != 0) {
            sonde__report_out_str(out, first ? ": " : ", ");
            sonde__report_out_dec(out, states[i]);
            sonde__report_out_str(out, " ");
            sonde__report_out_str(out, sonde__diff_words[i]);
            first = false;
        }
    }
    sonde__report_out_str(out, first ? ": none\n" : "\n");
    return !first;
}

static void put_amount(struct sonde__report_out *out, const struct sonde__diff_amount *amount,
                       const char *noun)
{
    sonde__report_out_dec(out, amount->count);
    sonde__report_out_str(out, " ");
    sonde__report_out_str(out, noun);
    sonde__report_out_str(out, sonde__base_plural(amount->count));
    if (amount->total_ns != 0) {
        sonde__report_out_str(out, ", ");
        sonde__report_out_duration(out, amount->total_ns);
        sonde__report_out_str(out, amount->count == 1 ? "" : " in all, the longest ");
        if (amount->count != 1) {
            sonde__report_out_duration(out, amount->longest_ns);
        }
    }
}

/* "worse: 2 stalls, 1.40 s in all, the longest 800 ms; before 1 stall, 500 ms" */
static void put_heading(struct sonde__report_out *out, enum sonde__diff_state state,
                        const struct sonde__diff_amount *amounts, const char *noun)
{
    bool bad = state == SONDE__DIFF_NEW || state == SONDE__DIFF_WORSE;
    bool in_old = amounts[0].count != 0, in_new = amounts[1].count != 0;
    sonde__report_out_str(out, "\n");
    sonde__report_out_color(out, bad ? SONDE__REPORT_RED : SONDE__REPORT_BOLD);
    sonde__report_out_str(out, sonde__diff_words[state]);
    sonde__report_out_color(out, SONDE__REPORT_PLAIN);
    sonde__report_out_str(out, ": ");
    if (in_new) {
        put_amount(out, &amounts[1], noun);
    }
    if (in_old) {
        sonde__report_out_str(out, in_new ? "; before " : "before ");
        put_amount(out, &amounts[0], noun);
    }
}

static void put_stall(struct sonde__report_out *out, const struct sonde__diff_stall *stall)
{
    struct sonde__report_analysis analysis;
    put_heading(out, stall->state, stall->amounts, "stall");
    sonde__report_out_str(out, "\n");
    const struct sonde__report_stall *longest =
        stall->report != NULL ? sonde__report_stall(stall->report, stall->index) : NULL;
    bool has_analysis =
        longest != NULL && sonde__report_analyse(stall->report, longest, &analysis) == SONDE_OK;
    if (has_analysis) {
        sonde__report_out_str(out, "  ");
        sonde__report_put_summary(out, stall->report, longest, &analysis);
        sonde__report_out_str(out, "\n");
    }
    sonde__report_out_str(out, "  fingerprint  ");
    sonde__report_out_text(out, stall->id[0] != '\0' ? stall->id : "not known");
    sonde__report_out_str(out, "\n");
    if (has_analysis && analysis.stack != 0 &&
        (stall->state == SONDE__DIFF_NEW || stall->state == SONDE__DIFF_WORSE ||
         stall->state == SONDE__DIFF_UNSURE)) {
        sonde__report_out_str(out, "  heaviest stack of the longest\n");
        sonde__report_put_stack(out, stall->report, analysis.stack, 4);
    }
    if (has_analysis) {
        sonde__report_analysis_done(&analysis);
    }
}

static void put_call(struct sonde__report_out *out, const struct sonde__diff_call *call)
{
    char id[SONDE__REPORT_CALL_KEY_TEXT];
    bool app_only = out->app_only;
    put_heading(out, call->state, call->amounts, "call");
    sonde__report_out_str(out, " of ");
    sonde__report_out_text(out, call->function);
    sonde__report_out_str(out, call->call->stack == 0 ? ", stacks not kept\n" : "\n");
    sonde__report_call_key_text(&call->key, id);
    sonde__report_out_print(out, "  fingerprint  %s\n", call->is_stable ? id : "not known");
    out->app_only = true;
    sonde__report_put_stack(out, call->report, call->call->stack, 4);
    out->app_only = app_only;
}

/* --top limits the calls of each state. */
static void put_calls(struct sonde__report_out *out, const struct sonde__diff *diff, uint32_t top)
{
    for (uint32_t i = 0, in_state = 0; i < diff->call_count && !out->stopped; i++) {
        const struct sonde__diff_call *call = &diff->calls[i];
        in_state = i > 0 && call->state == diff->calls[i - 1].state ? in_state + 1 : 0;
        if (call->state != SONDE__DIFF_SAME && in_state < top) {
            put_call(out, call);
        } else if (call->state != SONDE__DIFF_SAME && in_state == top) {
            sonde__report_out_str(out, "\nand ");
            sonde__report_out_dec(out, diff->call_states[call->state] - top);
            sonde__report_out_str(out, " more that are ");
            sonde__report_out_str(out, sonde__diff_words[call->state]);
            sonde__report_out_str(out, " (--top=all)\n");
        }
    }
}

void sonde__diff_text(const struct sonde__diff *diff, const struct sonde__report_view *view,
                      struct sonde__report_sink sink)
{
    struct sonde__report_out out;
    struct sonde__diff_notes notes;
    sonde__report_out_init(&out, sink, view->color);
    out.raw_names = view->raw_names;
    put_side(&out, diff, SONDE__DIFF_OLD);
    put_side(&out, diff, SONDE__DIFF_NEW_SIDE);
    sonde__diff_find_notes(diff, &notes);
    for (uint32_t i = 0; i < notes.count; i++) {
        sonde__report_out_str(&out, "note: ");
        sonde__report_out_text(&out, notes.list[i]);
        sonde__report_out_str(&out, "\n");
    }
    if (diff->has_stalls) {
        put_states(&out, diff->stall_states, "causes of stalls", "\n");
    }
    if (diff->has_calls) {
        put_states(&out, diff->call_states, "calls by function and stack",
                   diff->has_stalls ? "" : "\n");
    }
    for (uint32_t i = 0; i < diff->stall_count && !out.stopped; i++) {
        if (diff->stalls[i].state != SONDE__DIFF_SAME && diff->stalls[i].id[0] != '\0') {
            put_stall(&out, &diff->stalls[i]);
        }
    }
    put_calls(&out, diff, view->top != 0 ? view->top : SONDE__REPORT_TOP);
    sonde__report_out_flush(&out);
}
