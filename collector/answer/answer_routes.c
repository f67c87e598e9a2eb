// SPDX-License-Identifier: Apache-2.0
/* All that the collector answers. */
#include "answers.h"
#include "symbols.h"

const struct http_route answer_routes[] = {
    {"POST", "/api/reports", STORE_INGEST, .is_prompt = true, .handle = answer_ingest},
    {"POST", "/api/*/envelope/", STORE_INGEST, .is_prompt = true, .is_sentry = true,
     .handle = answer_envelope},
    {"POST", "/api/symbols", STORE_WRITE, .is_slow = true, .open_file = answer_symbols_file,
     .file_max = SYMBOLS_FILE_MAX, .handle = answer_add_symbols},
    {"POST", "/api/symbols/lacking", STORE_READ, .handle = answer_lacking_symbols},
    {"GET", "/api/openapi.json", STORE_READ, .is_prompt = true, .handle = answer_openapi},
    {"GET", "/buildid/*/debuginfo", STORE_READ, .handle = answer_debuginfo},
    {"GET", "/api/projects", STORE_READ, .handle = answer_projects},
    {"GET", "/api/projects/*/groups", STORE_READ, .handle = answer_groups},
    {"GET", "/api/projects/*/groups/*", STORE_READ, .handle = answer_group},
    {"POST", "/api/projects/*/groups/*", STORE_WRITE, .handle = answer_change_group},
    {"POST", "/api/projects/*/groups/*/join", STORE_WRITE, .handle = answer_join_group},
    {"POST", "/api/projects/*/groups/*/leave", STORE_WRITE, .handle = answer_leave_group},
    {"GET", "/api/projects/*/actions", STORE_ADMIN, .handle = answer_actions},
    {"GET", "/api/projects/*/symbols/waiting", STORE_READ, .handle = answer_wanted_symbols},
    {"GET", "/api/projects/*/reports", STORE_READ, .handle = answer_reports},
    {"GET", "/api/projects/*/reports/*", STORE_READ, .handle = answer_report},
    {"GET", "/", STORE_READ, .is_page = true, .handle = answer_home_page},
    {"GET", "/projects/*", STORE_READ, .is_page = true, .handle = answer_groups_page},
    {"GET", "/projects/*/groups/*", STORE_READ, .is_page = true, .handle = answer_group_page},
    {"POST", "/projects/*/groups/*", STORE_WRITE, .is_page = true, .handle = answer_change_group},
    {"POST", "/projects/*/groups/*/join", STORE_WRITE, .is_page = true,
     .handle = answer_join_group},
    {"POST", "/projects/*/groups/*/leave", STORE_WRITE, .is_page = true,
     .handle = answer_leave_group},
    {"GET", "/projects/*/reports/*", STORE_READ, .is_page = true, .handle = answer_report},
    {"GET", "/metrics", STORE_READ, .is_of_all = true, .handle = answer_metrics},
    {"GET", "/healthz", 0, .is_prompt = true, .handle = answer_alive},
    {"GET", "/readyz", 0, .handle = answer_ready},
    {0},
};
