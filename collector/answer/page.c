// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include <stdlib.h>
#include <time.h>

void page_text(FILE *out, const char *text)
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

void page_cell(FILE *out, const char *text)
{
    fputs("<td>", out);
    page_text(out, text);
    fputs("</td>", out);
}

void page_time(FILE *out, uint64_t ns)
{
    char text[32];
    struct tm parts;
    time_t seconds = (time_t)(ns / 1000000000u);
    gmtime_r(&seconds, &parts);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
    page_cell(out, text);
}

bool page_begin(struct page *page, const char *title)
{
    page->body = NULL;
    page->out = open_memstream(&page->body, &page->size);
    if (page->out == NULL) {
        return false;
    }
    fputs("<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width\"><title>",
          page->out);
    page_text(page->out, title);
    fputs(" - sonde</title><style>"
          "body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:80em;padding:0 1em}"
          "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3em .6em;"
          "border-bottom:1px solid #ccc;vertical-align:top}.n{text-align:right}"
          "pre{background:#f4f4f4;padding:.6em;overflow:auto}form{display:inline;margin-right:1em}"
          "svg{width:100%;height:5em;background:#f4f4f4}</style><h1>",
          page->out);
    page_text(page->out, title);
    fputs("</h1>\n", page->out);
    return true;
}

enum http_when page_end(struct page *page, struct http_request *request, enum store_status status)
{
    fputs("</html>\n", page->out);
    fclose(page->out);
    if (status != STORE_OK) {
        free(page->body);
        return answer_failed(request, status);
    }
    http_add_header(request, "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self';"
                    " frame-ancestors 'none'");
    return http_give(request, 200, "text/html; charset=utf-8", page->body, page->size);
}
