// SPDX-License-Identifier: Apache-2.0
/* Handlers of the collector's routes (routes.c), and what they share. */
#ifndef SONDE_COLLECTOR_ANSWERS_H
#define SONDE_COLLECTOR_ANSWERS_H

#include "http.h"
#include "report_json.h"

http_handler answer_ingest, answer_envelope, answer_alive, answer_ready, answer_metrics,
    answer_openapi;
http_handler answer_projects, answer_groups, answer_group, answer_reports, answer_report;
http_handler answer_export_group, answer_export_report;
http_handler answer_home_page, answer_groups_page, answer_group_page;
http_handler answer_change_group, answer_join_group, answer_leave_group, answer_actions;

http_handler answer_builds, answer_calls, answer_diff, answer_set_baseline, answer_build_page;
http_handler answer_manifests, answer_manifest, answer_add_manifest, answer_remove_manifest,
    answer_undeclared;
http_handler answer_filters, answer_add_filter, answer_remove_filter;
http_handler answer_hooks, answer_add_hook, answer_remove_hook, answer_enable_hook,
    answer_test_hook;

http_handler answer_add_symbols, answer_lacking_symbols, answer_wanted_symbols;
http_handler answer_debuginfo;

/* The file of an uploaded symbol file. */
int answer_symbols_file(struct http_request *request);

/* All that the collector answers. */
extern const struct http_route answer_routes[];

/* Writes the members of an answer. */
typedef enum store_status answer_put(struct http_request *request, struct sonde__json *json,
                                     const void *ctx);
/* Answer with a JSON object, or, if `put` failed, as answer_failed(). Returns HTTP_NOW. */
enum http_when answer_json(struct http_request *request, answer_put *put, const void *ctx);
/* The members of a group in the current object. */
void answer_put_group(struct sonde__json *json, const struct store_group *group);
/* The same of a group's number, *(int64_t *)ctx, with its sums, tags and reports. */
answer_put answer_put_whole_group;
const char *answer_kind_text(uint32_t kind);

/* The status of a failed question: 404 or 503, with a text. Returns HTTP_NOW. */
enum http_when answer_failed(struct http_request *request, enum store_status status);
/* A number of the query from 1 to max; `other` if it is not there. False: it was refused. */
bool answer_limit(struct http_request *request, uint32_t other, uint32_t max, uint32_t *ret_limit);
/* Read a field of the form into `size` bytes; "" if it is not there. False: it was refused, because
 * it is too long, or no UTF-8, or has control characters. ret_is_there: may be null. */
bool answer_field(struct http_request *request, const char *name, char *ret_text, size_t size,
                  bool *ret_is_there);
/* The number in a part of the path; 0, which nothing has, if the part is none. */
int64_t answer_number(const char *part);
/* sort=, kind=, state= and assignee= of the query. False: it was refused. */
bool answer_filter(struct http_request *request, struct store_filter *ret_filter);
/* "open", "resolved", "ignored", "regressed". */
const char *answer_state_text(enum state state);
/* Not sent by another site's page: a browser adds the user's key to such requests, too. */
bool answer_is_from_here(struct http_request *request);

#endif
