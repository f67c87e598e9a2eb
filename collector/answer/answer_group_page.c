// SPDX-License-Identifier: Apache-2.0
/* The page of one group. */
#include <inttypes.h>

#include "collector.h"
#include "export.h"
#include "page.h"

enum { DAYS = 28, BUILDS_MAX = 50, HOURS_MAX = 100, REPORTS_MAX = 50 };

#define HOUR_NS ((uint64_t)3600 * 1000000000u)

struct showing {
    struct page *page;
    int64_t number; /* of the group that is shown; 0: none yet */
    int64_t next;   /* the group that goes on in its place */
    uint32_t kind;
    bool is_joint;
};

/* --- the group --- */

static void put_times_lost(FILE *out, const struct store_group *group)
{
    fprintf(out, "<p>%" PRIu64 " times, ", group->count);
    if (group->kind == DIGEST_STALL) {
        fprintf(out, "%s in all, ", sonde__report_duration(group->total_ns).text);
        fprintf(out, "the longest %s, ", sonde__report_duration(group->longest_ns).text);
    }
    fprintf(out, "on %" PRIu64 " machine%s</p>\n<table><tr><td>first", group->devices,
            group->devices == 1 ? "" : "s");
    page_time(out, group->first_ns);
    page_cell(out, group->first_build);
    fputs("<tr><td>last", out);
    page_time(out, group->last_ns);
    page_cell(out, group->last_build);
    fputs("</table>\n", out);
}

static void put_state(FILE *out, const struct store_group *group)
{
    const struct state_mark *mark = &group->mark;
    fprintf(out, "<p>%s", answer_state_text(mark->state));
    if (mark->state == STATE_RESOLVED_IN) {
        fputs(" in build ", out);
        page_text(out, mark->build);
    } else if (mark->state == STATE_RESOLVED_NEXT) {
        fputs(" in the next build", out);
    }
    if (mark->state == STATE_IGNORED && mark->until_count != 0) {
        fprintf(out, " until it was seen %" PRIu64 " times", mark->until_count);
    }
    if (mark->state == STATE_IGNORED && mark->until_ns != 0) {
        fputs(" until<table><tr>", out);
        page_time(out, mark->until_ns);
        fputs("</table>", out);
    }
    if (group->assignee[0] != '\0') {
        fputs(", assigned to ", out);
        page_text(out, group->assignee);
    }
    fputs("</p>\n", out);
}

static void put_forms(FILE *out, const char *project, int64_t group)
{
    fprintf(out,
            "<p><form method=\"post\"><button name=\"state\" value=\"resolved\">resolved</button> "
            "in build <input name=\"build\" size=\"12\"></form>"
            "<form method=\"post\"><button name=\"state\" value=\"ignored\">ignore</button> until "
            "<input type=\"datetime-local\" name=\"until\"> UTC, or count <input "
            "name=\"until_count\" size=\"6\"></form>"
            "<form method=\"post\"><button name=\"state\" value=\"open\">open</button></form>"
            "<form method=\"post\">assigned to <input name=\"assignee\" size=\"12\"> "
            "<button>assign</button></form>"
            "<form method=\"post\" action=\"/projects/%s/groups/%" PRId64 "/join\">same cause as "
            "group <input name=\"with\" size=\"6\"> <button>join</button></form></p>\n",
            project, group);
}

/* What has to be equal, by kind. */
static const char *rule_of(uint32_t kind)
{
    return kind == DIGEST_STALL
               ? "Stalls with this text are one group: what stalled, its thread, what it waited "
                 "for, and the program's own functions on the path with the most time."
           : kind == DIGEST_ERROR
               ? "Errors and crashes with this text are one group: what went wrong, and the "
                 "program's "
                 "own functions that lead to it."
               : "Calls with this key are one group: the function, the rule, and the program's own "
                 "functions that lead to it.";
}

static void put_group(void *ctx, const struct store_group *group)
{
    struct showing *showing = ctx;
    FILE *out = showing->page->out;
    if (group->is_joint && group->joined != 0) {
        showing->next = group->joined;
        return;
    }
    showing->number = group->number;
    showing->kind = group->kind;
    showing->is_joint = group->is_joint;
    fputs("<p>", out);
    page_text(out, group->summary);
    fputs("</p>", out);
    put_times_lost(out, group);
    put_state(out, group);
    put_forms(out, showing->page->project, group->number);
    fputs("<h2>Why grouped</h2>", out);
    if (group->joined != 0) {
        fprintf(out,
                "<p>It is one cause of <a href=\"/projects/%s/groups/%" PRId64 "\">group %" PRId64
                "</a>.</p>",
                showing->page->project, group->joined, group->joined);
    }
    if (group->is_joint) {
        fputs("<p>Joined by hand from these causes. Each has its own text.</p>", out);
        return;
    }
    fprintf(out, "<p>%s</p><pre>", rule_of(group->kind));
    page_text(out, group->why[0] != '\0' ? group->why : group->title);
    fprintf(out, "</pre><p>cause %s</p>", group->group);
}

static void put_cause(void *ctx, const struct store_group *group)
{
    const struct page *page = ctx;
    FILE *out = page->out;
    fprintf(out, "<p><a href=\"/projects/%s/groups/%" PRId64 "\">", page->project, group->number);
    page_text(out, group->title[0] != '\0' ? group->title : "(without a name)");
    fprintf(out,
            "</a>, %" PRIu64 " times <form method=\"post\" action=\"/projects/%s/groups/%" PRId64
            "/leave\"><button>another cause</button></form></p><pre>",
            group->count, page->project, group->number);
    page_text(out, group->why[0] != '\0' ? group->why : group->title);
    fputs("</pre>\n", out);
}

/* --- over time --- */

/* Bars of the last days; the newest comes first. */
struct bars {
    uint64_t newest_hour, most;
    uint64_t counts[DAYS];
};

static void take_bar(void *ctx, const struct store_sum *sum)
{
    struct bars *bars = ctx;
    bars->newest_hour = bars->newest_hour == 0 ? sum->hour : bars->newest_hour;
    uint64_t day = (bars->newest_hour - sum->hour) / 24;
    if (day < DAYS) {
        bars->counts[day] = sum->count;
        bars->most = sum->count > bars->most ? sum->count : bars->most;
    }
}

static enum store_status put_bars(struct store *store, int64_t group, FILE *out)
{
    struct bars bars = {0};
    enum store_status status = store_sums(store, group, STORE_BY_DAY, DAYS, take_bar, &bars);
    fprintf(out,
            "<h2>By day</h2><p>%d days up to the last one, at most %" PRIu64 " a day</p>"
            "<svg viewBox=\"0 0 %d 100\" preserveAspectRatio=\"none\">",
            DAYS, bars.most, DAYS * 10);
    for (unsigned i = 0; i < DAYS && bars.most != 0; i++) {
        uint64_t height = (bars.counts[i] * 100 + bars.most - 1) / bars.most;
        fprintf(out,
                "<rect x=\"%u\" y=\"%" PRIu64 "\" width=\"9\" height=\"%" PRIu64
                "\"><title>%" PRIu64 "</title></rect>",
                (DAYS - 1 - i) * 10, 100 - height, height, bars.counts[i]);
    }
    fputs("</svg>\n", out);
    return status;
}

static void put_counts(FILE *out, const struct store_sum *sum)
{
    fprintf(out, "<td class=\"n\">%" PRIu64 "</td><td class=\"n\">%s</td></tr>\n", sum->count,
            sonde__report_duration(sum->total_ns).text);
}

static void put_build(void *ctx, const struct store_sum *sum)
{
    FILE *out = ctx;
    fputs("<tr>", out);
    page_cell(out, sum->build);
    page_time(out, sum->hour * HOUR_NS);
    page_time(out, sum->last_hour * HOUR_NS);
    put_counts(out, sum);
}

static void put_hour(void *ctx, const struct store_sum *sum)
{
    FILE *out = ctx;
    fputs("<tr>", out);
    page_time(out, sum->hour * HOUR_NS);
    page_cell(out, sum->build);
    put_counts(out, sum);
}

static void put_tag(void *ctx, const struct store_tag *tag)
{
    FILE *out = ctx;
    fputs("<tr>", out);
    page_cell(out, tag->name);
    page_cell(out, tag->value);
    fprintf(out, "<td class=\"n\">%" PRIu64 "</td></tr>\n", tag->count);
}

static void put_report(void *ctx, const struct store_row *row)
{
    struct page *page = ctx;
    char id[IDS_REPORT_TEXT];
    ids_report_text(&row->id, id);
    fprintf(page->out, "<tr><td><a href=\"/projects/%s/reports/%s\">%s</a></td>", page->project, id,
            id);
    page_time(page->out, row->received_ns);
    page_cell(page->out, row->program);
    page_cell(page->out, row->build);
    fputs("</tr>\n", page->out);
}

static void put_exports(const struct page *page, int64_t group)
{
    fprintf(page->out, "<p>As one profile of the newest reports:");
    for (unsigned i = 0; sonde__export_words[i] != NULL; i++) {
        fprintf(page->out, " <a href=\"/projects/%s/groups/%" PRId64 "/export?format=%s\">%s</a>",
                page->project, group, sonde__export_words[i], sonde__export_words[i]);
    }
    fputs("</p>\n", page->out);
}

static enum store_status put_tables(struct http_request *request, const struct page *page,
                                    int64_t group)
{
    static const char *const counts = "<th class=\"n\">count<th class=\"n\">time lost</tr>\n";
    struct store *store = request->collector->store;
    FILE *out = page->out;
    enum store_status status = put_bars(store, group, out);
    if (status == STORE_OK) {
        fprintf(out, "<h2>By build</h2><table><tr><th>build<th>first<th>last%s", counts);
        status = store_sums(store, group, STORE_BY_BUILD, BUILDS_MAX, put_build, out);
    }
    if (status == STORE_OK) {
        fprintf(out, "</table>\n<h2>By hour and build</h2><table><tr><th>hour<th>build%s", counts);
        status = store_sums(store, group, STORE_BY_HOUR_AND_BUILD, HOURS_MAX, put_hour, out);
    }
    if (status == STORE_OK) {
        fputs("</table>\n<h2>Tags</h2><table>", out);
        status = store_tags(store, group, put_tag, out);
    }
    if (status == STORE_OK) {
        fputs("</table>\n<h2>Reports</h2><table>", out);
        status = store_reports(store, request->project, group, false, REPORTS_MAX, put_report,
                               (void *)(uintptr_t)page);
        fputs("</table>\n", out);
        put_exports(page, group);
    }
    return status;
}

enum http_when answer_group_page(struct http_request *request)
{
    struct page page;
    struct store *store = request->collector->store;
    if (!page_begin(&page, request->parts[0])) {
        return http_refuse(request, 503, "no memory");
    }
    page.project = request->parts[0];
    struct showing showing = {.page = &page, .next = answer_number(request->parts[1])};
    enum store_status status = STORE_OK;
    while (status == STORE_OK && showing.number == 0) {
        status = store_group(store, request->project, showing.next, put_group, &showing);
    }
    if (status == STORE_OK && showing.is_joint) {
        status = store_causes(store, showing.number, put_cause, &page);
    }
    if (status == STORE_OK) {
        status = put_tables(request, &page, showing.number);
    }
    return page_end(&page, request, status);
}
