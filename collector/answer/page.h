// SPDX-License-Identifier: Apache-2.0
/* Pages for people: plain HTML, no script. All text from reports is escaped. */
#ifndef SONDE_COLLECTOR_PAGE_H
#define SONDE_COLLECTOR_PAGE_H

#include "answers.h"

struct page {
    FILE *out;
    char *body;
    size_t size;
    const char *project; /* its name */
};

/* False: no memory. */
bool page_begin(struct page *page, const char *title);
/* Answer with the page, or, if a question failed, with its status. Returns HTTP_NOW. */
enum http_when page_end(struct page *page, struct http_request *request, enum store_status status);

/* A text, escaped; as the cell of a table; a time as such a cell. */
void page_text(FILE *out, const char *text);
void page_cell(FILE *out, const char *text);
void page_time(FILE *out, uint64_t ns);

#endif
