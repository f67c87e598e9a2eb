// SPDX-License-Identifier: Apache-2.0
/* The page of one build: its calls. */
#include <inttypes.h>
#include <string.h>

#include "answer_builds.h"
#include "collector.h"
#include "page.h"
#include "report_new.h"

enum { CALLS_MAX = 500 };

static void put_number(FILE *out, uint64_t number)
{
    fprintf(out, "<td class=\"n\">%" PRIu64 "</td>", number);
}

static void put_path(FILE *out, const char *path)
{
    fputs("<small>", out);
    for (; *path != '\0'; path += strcspn(path, "\n") + (strchr(path, '\n') != NULL)) {
        char function[DIGEST_PATH_TEXT];
        snprintf(function, sizeof function, "%.*s", (int)strcspn(path, "\n"), path);
        page_text(out, function);
        fputs(strchr(path, '\n') != NULL ? " &lt; " : "", out);
    }
    fputs("</small>", out);
}

static void put_call(void *ctx, const struct store_call *call, const struct store_call_sum *sum)
{
    const struct page *page = ctx;
    FILE *out = page->out;
    fputs("<tr>", out);
    page_cell(out, call->kind == DIGEST_FINDING ? sonde__report_severity_text(call->severity) : "");
    page_cell(out, call->rule);
    fprintf(out, "<td><a href=\"/projects/%s/groups/%" PRId64 "\">", page->project, call->group);
    page_text(out, call->api);
    fputs("</a><br>", out);
    put_path(out, call->path);
    fputs("</td>", out);
    page_cell(out, call->sdk);
    put_number(out, sum->count);
    put_number(out, sum->devices);
    put_number(out, sum->before);
    put_number(out, sum->given);
    put_number(out, sum->refused);
    put_number(out, sum->over);
    fputs("</tr>\n", out);
}

static void put_build(FILE *out, const struct answer_build *build)
{
    fprintf(out,
            "<p>%" PRIu64 " reports, %" PRIu64 " of them with recorded calls, on %" PRIu64
            " machine%s%s</p>\n<table><tr><td>first",
            build->reports, build->recorded, build->devices, build->devices == 1 ? "" : "s",
            build->is_baseline ? "; the baseline" : "");
    page_time(out, build->first_ns);
    fputs("<tr><td>last", out);
    page_time(out, build->last_ns);
    fputs("</table>\n<h2>Calls</h2><table><tr><th>severity<th>rule<th>function, called by<th>SDK"
          "<th class=\"n\">calls<th class=\"n\">machines<th class=\"n\">before consent"
          "<th class=\"n\">after consent<th class=\"n\">after refusal"
          "<th class=\"n\">over the limit</tr>\n",
          out);
}

enum http_when answer_build_page(struct http_request *request)
{
    struct page page;
    struct answer_build build = {0};
    const char *name = request->parts[1];
    if (!page_begin(&page, name)) {
        return http_refuse(request, 503, "no memory");
    }
    page.project = request->parts[0];
    enum store_status status = answer_find_build(request, name, &build);
    put_build(page.out, &build);
    if (status == STORE_OK) {
        status = store_calls(request->collector->store, request->project, name, CALLS_MAX, put_call,
                             &page);
    }
    fputs("</table>\n", page.out);
    return page_end(&page, request, status);
}
