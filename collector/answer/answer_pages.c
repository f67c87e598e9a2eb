// SPDX-License-Identifier: Apache-2.0
/* Pages for people: plain HTML, no script. All text from reports is escaped. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "answers.h"
#include "collector.h"

struct page {
    FILE *out;
    char *body;
    size_t size;
    const char *project; /* its name */
};

static void put_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

static void put_cell(FILE *out, const char *text)
{
    fputs("<td>", out);
    put_text(out, text);
    fputs("</td>", out);
}

static void put_time(FILE *out, uint64_t ns)
{
    char text[32];
    struct tm parts;
    time_t seconds = (time_t)(ns / 1000000000u);
    gmtime_r(&seconds, &parts);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
    put_cell(out, text);
}

static bool begin(struct page *page, const char *title)
{
    page->body = NULL;
    page->out = open_memstream(&page->body, &page->size);
    if (page->out == NULL) {
        return false;
    }
    fputs("<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width\"><title>",
          page->out);
    put_text(page->out, title);
    fputs(" - sonde</title><style>"
          "body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:80em;padding:0 1em}"
          "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3em .6em;"
          "border-bottom:1px solid #ccc;vertical-align:top}.n{text-align:right}"
          "pre{background:#f4f4f4;padding:.6em;overflow:auto}</style><h1>",
          page->out);
    put_text(page->out, title);
    fputs("</h1>\n", page->out);
    return true;
}

static enum http_when end(struct page *page, struct http_request *request, enum store_status status)
{
    fputs("</html>\n", page->out);
    fclose(page->out);
    if (status != STORE_OK) {
        free(page->body);
        return answer_failed(request, status);
    }
    http_add_header(request, "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'");
    return http_give(request, 200, "text/html; charset=utf-8", page->body, page->size);
}

/* --- projects --- */

struct listing {
    FILE *out;
    uint32_t only;
};

static void put_project(void *ctx, const struct store_project *project)
{
    const struct listing *listing = ctx;
    if (listing->only == 0 || listing->only == project->number) {
        fprintf(listing->out, "<li><a href=\"/projects/%s\">%s</a>\n", project->name,
                project->name);
    }
}

enum http_when answer_home_page(struct http_request *request)
{
    struct page page;
    if (!begin(&page, "Projects")) {
        return http_refuse(request, 503, "no memory");
    }
    struct listing listing = {page.out, request->key.project};
    fputs("<ul>\n", page.out);
    enum store_status status = store_projects(request->collector->store, put_project, &listing);
    fputs("</ul>\n", page.out);
    return end(&page, request, status);
}

/* --- groups --- */

static void put_row(void *ctx, const struct store_group *group)
{
    struct page *page = ctx;
    FILE *out = page->out;
    fputs("<tr>", out);
    put_cell(out, answer_kind_text(group->kind));
    fprintf(out, "<td><a href=\"/projects/%s/groups/%" PRId64 "\">", page->project, group->number);
    put_text(out, group->title[0] != '\0' ? group->title : "(without a name)");
    fputs("</a><br><small>", out);
    put_text(out, group->summary);
    fprintf(out, "</small></td><td class=\"n\">%" PRIu64 "</td>", group->count);
    fprintf(out, "<td class=\"n\">%s</td>", sonde__report_duration(group->total_ns).text);
    fprintf(out, "<td class=\"n\">%" PRIu64 "</td>", group->devices);
    put_time(out, group->first_ns);
    put_time(out, group->last_ns);
    fputs("</tr>\n", out);
}

enum http_when answer_groups_page(struct http_request *request)
{
    struct page page;
    enum store_order order;
    uint32_t kind;
    if (!answer_order(request, &order) || !answer_kind(request, &kind)) {
        return HTTP_NOW;
    }
    if (!begin(&page, request->parts[0])) {
        return http_refuse(request, 503, "no memory");
    }
    page.project = request->parts[0];
    fputs("<p>by <a href=\"?sort=impact\">impact</a>, <a href=\"?sort=last\">last seen</a>, "
          "<a href=\"?sort=first\">first seen</a>, <a href=\"?sort=count\">count</a></p>\n"
          "<table><tr><th>kind<th>cause<th class=\"n\">count<th class=\"n\">time lost"
          "<th class=\"n\">machines<th>first<th>last</tr>\n",
          page.out);
    enum store_status status =
        store_groups(request->collector->store, request->project, kind, order, 200, put_row, &page);
    fputs("</table>\n", page.out);
    return end(&page, request, status);
}

/* --- one group --- */

static void put_group(void *ctx, const struct store_group *group)
{
    struct page *page = ctx;
    FILE *out = page->out;
    fputs("<p>", out);
    put_text(out, group->summary);
    fprintf(out, "</p><p>%" PRIu64 " times, %s in all, the longest %s, on %" PRIu64 " machine%s",
            group->count, sonde__report_duration(group->total_ns).text,
            sonde__report_duration(group->longest_ns).text, group->devices,
            group->devices == 1 ? "" : "s");
    fputs("</p><h2>Why grouped</h2><pre>", out);
    put_text(out, group->why[0] != '\0' ? group->why : group->title);
    fprintf(out, "</pre><p>cause %s</p>", group->group);
}

static void put_sum(void *ctx, const struct store_sum *sum)
{
    FILE *out = ctx;
    fputs("<tr>", out);
    put_time(out, sum->hour * 3600u * 1000000000u);
    put_cell(out, sum->build);
    fprintf(out, "<td class=\"n\">%" PRIu64 "</td><td class=\"n\">%s</td></tr>\n", sum->count,
            sonde__report_duration(sum->total_ns).text);
}

static void put_report(void *ctx, const struct store_row *row)
{
    struct page *page = ctx;
    char id[IDS_REPORT_TEXT];
    ids_report_text(&row->id, id);
    fprintf(page->out, "<tr><td><a href=\"/projects/%s/reports/%s\">%s</a></td>", page->project, id,
            id);
    put_time(page->out, row->received_ns);
    put_cell(page->out, row->program);
    put_cell(page->out, row->build);
    fputs("</tr>\n", page->out);
}

enum http_when answer_group_page(struct http_request *request)
{
    struct page page;
    struct store *store = request->collector->store;
    int64_t number = strtoll(request->parts[1], NULL, 10);
    if (!begin(&page, request->parts[0])) {
        return http_refuse(request, 503, "no memory");
    }
    page.project = request->parts[0];
    enum store_status status = store_group(store, request->project, number, put_group, &page);
    if (status == STORE_OK) {
        fputs("<h2>By hour and build</h2><table>", page.out);
        status = store_sums(store, number, put_sum, page.out);
        fputs("</table>\n<h2>Reports</h2><table>", page.out);
    }
    if (status == STORE_OK) {
        status = store_reports(store, request->project, number, false, 50, put_report, &page);
        fputs("</table>\n", page.out);
    }
    return end(&page, request, status);
}
