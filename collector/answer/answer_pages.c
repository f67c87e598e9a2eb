// SPDX-License-Identifier: Apache-2.0
/* Pages for people: plain HTML, no script. All text from reports is escaped. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "collector.h"
#include "page.h"

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
    if (!page_begin(&page, "Projects")) {
        return http_refuse(request, 503, "no memory");
    }
    struct listing listing = {page.out, request->key.project};
    fputs("<ul>\n", page.out);
    enum store_status status = store_projects(request->collector->store, put_project, &listing);
    fputs("</ul>\n", page.out);
    return page_end(&page, request, status);
}

/* --- groups --- */

enum { BUILDS_MAX = 20, UNREAD_MAX = 20 };

static void put_row(void *ctx, const struct store_group *group)
{
    struct page *page = ctx;
    FILE *out = page->out;
    fputs("<tr>", out);
    page_cell(out, answer_kind_text(group->kind));
    page_cell(out, answer_state_text(group->mark.state));
    fprintf(out, "<td><a href=\"/projects/%s/groups/%" PRId64 "\">", page->project, group->number);
    page_text(out, group->title[0] != '\0' ? group->title : "(without a name)");
    fputs("</a><br><small>", out);
    page_text(out, group->summary);
    fprintf(out, "</small></td><td class=\"n\">%" PRIu64 "</td>", group->count);
    fprintf(out, "<td class=\"n\">%s</td>", sonde__report_duration(group->total_ns).text);
    fprintf(out, "<td class=\"n\">%" PRIu64 "</td>", group->devices);
    page_time(out, group->first_ns);
    page_time(out, group->last_ns);
    fputs("</tr>\n", out);
}

/* A name as part of a path (RFC 3986, 2.1). */
static void put_part(FILE *out, const char *name)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *name != '\0'; name++) {
        fprintf(out, strchr(plain, *name) != NULL ? "%c" : "%%%02X", (unsigned char)*name);
    }
}

/* Only what a path can name (http_route.c). */
static void put_build(void *ctx, const struct store_build *build)
{
    const struct page *page = ctx;
    if (build->name[0] == '\0' || strchr(build->name, '/') != NULL ||
        strlen(build->name) >= HTTP_PART_TEXT) {
        return;
    }
    fprintf(page->out, " <a href=\"/projects/%s/builds/", page->project);
    put_part(page->out, build->name);
    fputs("\">", page->out);
    page_text(page->out, build->name);
    fputs("</a>", page->out);
}

static void put_filter(void *ctx, const struct store_sift *sift)
{
    const struct page *page = ctx;
    char text[SIFT_TEXT];
    sift_text(&sift->sift, text);
    fputs("<br>filter ", page->out);
    page_text(page->out, text);
    fprintf(page->out, " dropped %" PRIu64 " events of %" PRIu64 " reports, %s\n", sift->events,
            sift->reports, sonde__report_duration(sift->total_ns).text);
}

/* --- what was kept aside --- */

struct unread {
    struct page *page;
    unsigned count;
};

static void put_unread(void *ctx, const struct store_row *row)
{
    struct unread *unread = ctx;
    FILE *out = unread->page->out;
    char id[IDS_REPORT_TEXT];
    if (unread->count++ == 0) {
        fprintf(out,
                "<h2>Reports that could not be read</h2>\n<p>The newest %d, with the reason"
                "</p>\n<table>",
                UNREAD_MAX);
    }
    ids_report_text(&row->id, id);
    fprintf(out, "<tr><td><a href=\"/projects/%s/reports/%s\">%s</a></td>", unread->page->project,
            id, id);
    page_time(out, row->received_ns);
    page_cell(out, row->note);
    fputs("</tr>\n", out);
}

static enum store_status put_all_unread(struct http_request *request, struct page *page)
{
    struct unread unread = {.page = page};
    enum store_status status = store_reports(request->collector->store, request->project, 0, true,
                                             UNREAD_MAX, put_unread, &unread);
    fputs(unread.count != 0 ? "</table>\n" : "", page->out);
    return status;
}

enum http_when answer_groups_page(struct http_request *request)
{
    struct page page;
    struct store_filter filter;
    if (!answer_filter(request, &filter)) {
        return HTTP_NOW;
    }
    filter.limit = 200;
    if (!page_begin(&page, request->parts[0])) {
        return http_refuse(request, 503, "no memory");
    }
    page.project = request->parts[0];
    fputs("<p>by <a href=\"?sort=impact\">impact</a>, <a href=\"?sort=last\">last seen</a>, "
          "<a href=\"?sort=first\">first seen</a>, <a href=\"?sort=count\">count</a>; "
          "<a href=\"?\">all</a>, <a href=\"?state=unresolved\">unresolved</a>, "
          "<a href=\"?state=regressed\">regressed</a>, <a href=\"?state=resolved\">resolved</a>, "
          "<a href=\"?state=ignored\">ignored</a></p>\n<p>calls of build",
          page.out);
    enum store_status status =
        store_builds(request->collector->store, request->project, BUILDS_MAX, put_build, &page);
    if (status == STORE_OK) {
        status = store_sifts(request->collector->store, request->project, put_filter, &page);
    }
    fputs(
        "</p>\n<table><tr><th>kind<th>state<th>cause<th class=\"n\">count<th class=\"n\">time lost"
        "<th class=\"n\">machines<th>first<th>last</tr>\n",
        page.out);
    if (status == STORE_OK) {
        status = store_groups(request->collector->store, request->project, &filter, put_row, &page);
    }
    fputs("</table>\n", page.out);
    if (status == STORE_OK) {
        status = put_all_unread(request, &page);
    }
    return page_end(&page, request, status);
}
