// SPDX-License-Identifier: Apache-2.0
/* All that the collector answers. */
#include "answers.h"

const struct http_route answer_routes[] = {
    {"POST", "/api/reports", STORE_INGEST, false, answer_ingest},
    {"GET", "/api/projects", STORE_READ, false, answer_projects},
    {"GET", "/api/projects/*/groups", STORE_READ, false, answer_groups},
    {"GET", "/api/projects/*/groups/*", STORE_READ, false, answer_group},
    {"GET", "/api/projects/*/reports", STORE_READ, false, answer_reports},
    {"GET", "/api/projects/*/reports/*", STORE_READ, false, answer_report},
    {"GET", "/", STORE_READ, true, answer_home_page},
    {"GET", "/projects/*", STORE_READ, true, answer_groups_page},
    {"GET", "/projects/*/groups/*", STORE_READ, true, answer_group_page},
    {"GET", "/projects/*/reports/*", STORE_READ, true, answer_report},
    {"GET", "/metrics", STORE_READ, false, answer_metrics},
    {"GET", "/healthz", 0, false, answer_alive},
    {"GET", "/readyz", 0, false, answer_ready},
    {0},
};
