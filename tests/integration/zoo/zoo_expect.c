// SPDX-License-Identifier: Apache-2.0
#include "zoo_expect.h"

#include <string.h>

static const char *expected_loop;

static void check(const struct zoo_truth *truth, const struct json *stall)
{
    int64_t ms = json_int(stall, "duration_ns") / 1000000;
    int64_t error = ms > truth->ms ? ms - truth->ms : truth->ms - ms;
    CHECK_STR(json_text(stall, "loop"), expected_loop);
    CHECK(json_bool(stall, "main"));
    if (error > (int64_t)(20 + truth->ms / 20) * test_slack()) {
        FAIL("%s took %u ms, %lld ms were reported", truth->kind, truth->ms, (long long)ms);
    }
    if (strncmp(truth->kind, "inject_", 7) == 0 || truth->kind[0] == 'X') {
        zoo_need_on_path(stall, truth->kind);
    }
}

void zoo_find(const char *const argv[], const char *loop)
{
    struct zoo zoo;
    expected_loop = loop;
    zoo_run(&zoo, argv, 60);
    zoo_check_stalls(&zoo, check);
    zoo_done(&zoo);
}

void zoo_silent(const char *const argv[], unsigned turns)
{
    struct zoo zoo;
    zoo_run(&zoo, argv, 60);
    zoo_check_silent(&zoo, turns);
    zoo_done(&zoo);
}
