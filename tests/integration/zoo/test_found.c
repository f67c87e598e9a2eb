// SPDX-License-Identifier: Apache-2.0
/* Injected stalls are found, with about their durations, and blamed on what was injected. */
#include <stdio.h>
#include <string.h>

#include "zoo.h"

static const char *expected_loop;

static unsigned count_threads(const struct json *stall, const char *name)
{
    unsigned count = 0;
    JSON_EACH(thread, json_need(stall, "other_threads"))
    {
        count += strcmp(json_text(thread, "name"), name) == 0;
        CHECK(json_int(thread, "tid") != json_int(stall, "tid"));
    }
    return count;
}

/* C programs only: their injected function is known by name. */
static void check_native(const struct zoo_truth *truth, const struct json *stall)
{
    zoo_need_on_path(stall, truth->kind);
    zoo_need_on_path(stall, "_start");
    CHECK_STR(json_text(json_get(stall, "heaviest_app_function"), "function"), truth->kind);
    CHECK_STR(json_text(stall, "loop"), expected_loop);
    CHECK(json_bool(stall, "main"));
    CHECK_EQ(count_threads(stall, "worker-a"), 1);
    CHECK_EQ(count_threads(stall, "worker-b"), 1);
    JSON_EACH(sample, json_need(stall, "samples"))
    {
        CHECK(json_int(sample, "weight_ns") > 0);
    }
}

static void find(const char *const argv[], const char *loop,
                 void (*check)(const struct zoo_truth *, const struct json *))
{
    struct zoo zoo;
    expected_loop = loop;
    zoo_run(&zoo, argv, 60);
    zoo_check_stalls(&zoo, check);
    zoo_done(&zoo);
}

TIMED_TEST(glib, 60)
{
    find((const char *[]){program_built("zoo/zoo_glib"), "400", "burn", "sleep", "read", "poll",
                          "flock", "mutex", "cond", "child", NULL},
         "poll", check_native);
}

TIMED_TEST(libuv, 60)
{
    find(
        (const char *[]){program_built("zoo/zoo_uv"), "400", "burn", "sleep", "poll", "read", NULL},
        "epoll", check_native);
}

/* --- phases of a turn, from the names of the loop's functions --- */

static const char *expected_phase;

static void check_phase(const struct zoo_truth *truth, const struct json *stall)
{
    zoo_need_on_path(stall, truth->kind);
    CHECK_STR(json_text(stall, "loop"), expected_loop);
    CHECK_STR(json_text(stall, "loop_phase"), expected_phase);
}

static void find_phases(const char *program, const char *library, const char *loop,
                        const char *const phases[])
{
    char expected[64];
    expected_phase = expected;
    for (unsigned i = 0; phases[i] != NULL; i++) {
        snprintf(expected, sizeof expected, "%s: %s", library, phases[i]);
        find((const char *[]){program_built(program), "400", "sleep", phases[i], NULL}, loop,
             check_phase);
    }
}

TIMED_TEST(phases_of_glib, 120)
{
    find_phases("zoo/zoo_phase_glib", "GLib", "poll",
                (const char *[]){"prepare", "check", "dispatch", NULL});
}

TIMED_TEST(phases_of_libuv, 180)
{
    find_phases("zoo/zoo_phase_uv", "libuv", "epoll",
                (const char *[]){"timers", "idle", "prepare", "poll", "check", NULL});
}

TIMED_TEST(libevent, 60)
{
    find((const char *[]){program_built("zoo/zoo_event"), "400", "burn", "mutex", "child", NULL},
         "epoll", check_native);
}

TIMED_TEST(poll_whose_array_reorders, 60)
{
    find((const char *[]){program_built("zoo/zoo_poll"), "400", "sleep", "poll", "burn", NULL},
         "poll", check_native);
}

TIMED_TEST(epoll_recreated, 60)
{
    find((const char *[]){program_built("zoo/zoo_fork"), "400", "sleep", "burn", "poll", NULL},
         "epoll", check_native);
}

static void check_kind(const struct zoo_truth *truth, const struct json *stall)
{
    static const char *const calls[][2] = {
        {"sleep", "nanosleep|select|Tcl_Sleep"},
        {"burn", "PKCS5_PBKDF2_HMAC|Tcl_|node"},
        {"flock", "flock"},
        {"child", "wait4|waitpid|fork_exec|read"},
        {"spawn", "SyncProcessRunner"},
        {"atomics", "FutexEmulation|pthread_cond|uv_cond|futex"},
    };
    CHECK_STR(json_text(stall, "loop"), expected_loop);
    CHECK(json_bool(stall, "main"));
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i][0], truth->kind) == 0) {
            zoo_need_on_path(stall, calls[i][1]);
        }
    }
}

TIMED_TEST(asyncio, 60)
{
    find((const char *[]){"/usr/bin/python3", program_source("zoo/asyncio_loop.py"), "400", "sleep",
                          "burn", "flock", "child", NULL},
         "epoll", check_kind);
}

TIMED_TEST(select_server_whose_descriptors_grow, 60)
{
    find((const char *[]){"/usr/bin/python3", program_source("zoo/select_server.py"), "400",
                          "sleep", NULL},
         "select", check_kind);
}

TIMED_TEST(node, 60)
{
    if (!program_on_path("node")) {
        SKIP("no node on PATH");
    }
    find((const char *[]){"node", program_source("zoo/node_loop.js"), "400", "burn", "spawn",
                          "atomics", NULL},
         "epoll", check_kind);
}

TIMED_TEST(tcl, 60)
{
    find((const char *[]){"tclsh", program_source("zoo/tcl_loop.tcl"), "400", "burn", "sleep",
                          "child", NULL},
         "condition", check_kind);
}

static void find_followed(const char *const argv[], const char *loop,
                          void (*check)(const struct zoo_truth *, const struct json *))
{
    struct zoo zoo;
    expected_loop = loop;
    CHECK(zoo_run_followed(&zoo, argv, 60));
    zoo_check_stalls(&zoo, check);
    zoo_done(&zoo);
}

TIMED_TEST(children_of_a_shell, 60)
{
    find_followed((const char *[]){"/usr/bin/python3", program_source("zoo/asyncio_loop.py"), "400",
                                   "sleep", "burn", "child", NULL},
                  "epoll", check_kind);
    find_followed((const char *[]){program_built("zoo/zoo_glib"), "400", "burn", "child", NULL},
                  "poll", check_native);
}

TIMED_TEST(tcl_started_by_a_shell, 60)
{
    find_followed(
        (const char *[]){"tclsh", program_source("zoo/tcl_loop.tcl"), "400", "burn", "child", NULL},
        "condition", check_kind);
}

TIMED_TEST(node_started_by_a_shell, 60)
{
    if (!program_on_path("node")) {
        SKIP("no node on PATH");
    }
    find_followed(
        (const char *[]){"node", program_source("zoo/node_loop.js"), "400", "burn", "spawn", NULL},
        "epoll", check_kind);
}
