// SPDX-License-Identifier: Apache-2.0
/* The page of one build: its calls, and what it declares of them. */
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

/* --- what is declared --- */

static void put_line(FILE *out, const struct declared_part *part,
                     const struct sonde__manifest_line *line)
{
    char reasons[512];
    declared_reasons(part, line->category, reasons, sizeof reasons);
    fputs("<tr>", out);
    page_cell(out, part->code[0] != '\0' ? part->code : "the program");
    page_cell(out, line->category);
    page_cell(out, declared_state_text(part, line));
    page_cell(out, reasons);
    put_number(out, line->calls);
    put_number(out, line->system_calls);
    put_number(out, declared_unknown(part, line->category));
    fputs("</tr>\n", out);
}

/* A manifest that was not given is said where it would be needed. */
static void put_declared(FILE *out, const struct declared *declared)
{
    fputs("<h2>Declared</h2><table><tr><th>part<th>category<th>state<th>reasons"
          "<th class=\"n\">own calls<th class=\"n\">of the system<th class=\"n\">not known</tr>\n",
          out);
    for (uint32_t p = 0; p < declared->part_count; p++) {
        const struct declared_part *part = declared->parts[p];
        for (uint32_t i = 0; i < part->result.count; i++) {
            if (part->result.lines[i].state != SONDE__MANIFEST_NEITHER) {
                put_line(out, part, &part->result.lines[i]);
            }
        }
    }
    fputs("</table>\n", out);
    for (uint32_t p = 0; p < declared->part_count; p++) {
        const struct declared_part *part = declared->parts[p];
        if (!part->has_manifest || part->error[0] != '\0') {
            fputs("<p>", out);
            page_text(out, part->code[0] != '\0' ? part->code : "the program");
            fputs(part->has_manifest ? ": " : ": no manifest was given", out);
            page_text(out, part->error);
            fputs("</p>\n", out);
        }
    }
}

/* --- the page --- */

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
    struct declared *declared = NULL;
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
    if (status == STORE_OK) {
        status = answer_compare(request, &build, &declared);
    }
    if (status == STORE_OK) {
        put_declared(page.out, declared);
    }
    declared_end(declared);
    return page_end(&page, request, status);
}
