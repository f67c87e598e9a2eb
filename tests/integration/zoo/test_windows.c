// SPDX-License-Identifier: Apache-2.0
/* Loops of programs with a window: sonde distinguishes waits for events from round trips to the X
 * server. Each is idle for seconds without a report; injected stalls are found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "display.h"
#include "zoo_expect.h"

TIMED_TEST(tk, 90)
{
    const char *script = program_source("zoo/tk_loop.tcl");
    if (!display_start()) {
        SKIP("no Xvfb on PATH");
    }
    zoo_silent((const char *[]){"wish", script, ZOO_IDLE, "idle", NULL}, 50);
    zoo_find((const char *[]){"wish", script, "400", "burn", "sleep", "child", NULL}, "condition");
    display_end();
}

TIMED_TEST(tkinter, 90)
{
    const char *script = program_source("zoo/tkinter_loop.py");
    if (!display_start()) {
        SKIP("no Xvfb on PATH");
    }
    zoo_silent((const char *[]){"/usr/bin/python3", script, ZOO_IDLE, "idle", NULL}, 50);
    zoo_find((const char *[]){"/usr/bin/python3", script, "400", "burn", "sleep", "child", NULL},
             "condition");
    display_end();
}

static void check_round_trip(const struct zoo_truth *truth, const struct json *stall)
{
    (void)truth;
    CHECK_STR(json_text(stall, "loop"), "select");
    zoo_need_on_path(stall, "poll");
}

/* At its start it polls libXt often at one place and makes round trips by libxcb, all within
 * milliseconds. Then it waits in select() until somebody types. The stall is a round trip to a
 * stopped server. */
TIMED_TEST(xterm, 90)
{
    char script[256];
    struct zoo zoo;
    if (!program_on_path("xterm") || !display_start()) {
        SKIP("no xterm or no Xvfb on PATH");
    }
    zoo_silent((const char *[]){"xterm", "-e", "sh", "-c", "sleep $0e-3", ZOO_IDLE, NULL}, 0);
    snprintf(script, sizeof script,
             "for i in $(seq 15); do echo $i; sleep 0.1; done;"
             "kill -STOP %d; echo; sleep $0e-3; kill -CONT %d; sleep 1",
             (int)display_pid(), (int)display_pid());
    zoo_run(&zoo, (const char *[]){"xterm", "-synchronous", "-e", "sh", "-c", script, "600", NULL},
            60);
    zoo.truths[0] = (struct zoo_truth){"round_trip", 600 * test_slack()};
    zoo.truth_count = 1;
    zoo_check_stalls(&zoo, check_round_trip);
    zoo_done(&zoo);
    display_end();
}

TIMED_TEST(sdl_on_x11, 120)
{
    const char *program = program_built("zoo/zoo_sdl");
    if (!display_start()) {
        SKIP("no Xvfb on PATH");
    }
    environment_add("SDL_VIDEODRIVER=x11");
    zoo_silent((const char *[]){program, "wait", ZOO_IDLE, "idle", NULL}, 50);
    zoo_silent((const char *[]){program, "poll", ZOO_IDLE, "idle", NULL}, 50);
    zoo_find((const char *[]){program, "wait", "400", "burn", "sleep", "poll", "mutex", NULL},
             "poll");
    zoo_find((const char *[]){program, "poll", "400", "burn", "sleep", "poll", "mutex", NULL},
             "pause");
    display_end();
}

/* Xlib's own loop. All its waits are made at one place in libxcb. */
TIMED_TEST(xlib, 120)
{
    const char *program = program_built("zoo/zoo_xlib");
    char server[64];
    if (!display_start()) {
        SKIP("no Xvfb on PATH");
    }
    zoo_silent((const char *[]){program, ZOO_IDLE, "idle", NULL}, 50);
    zoo_find((const char *[]){program, "400", "burn", "sleep", "poll", "mutex", NULL}, "poll");
    snprintf(server, sizeof server, "ZOO_SERVER=%d:%s", (int)display_pid(), zoo_ms(600));
    environment_add(server);
    zoo_find((const char *[]){program, "3000", "idle", NULL}, "poll");
    display_end();
}
