// SPDX-License-Identifier: Apache-2.0
/* Stalls in the first turns of a loop, before it is known, are found and blamed on what was
 * injected; and what only looks like a first turn is none. */
#include "zoo_expect.h"

#define PYTHON "/usr/bin/python3"

static void check(const struct zoo_truth *truth, const struct json *stall)
{
    CHECK_STR(json_text(stall, "loop"), "epoll");
    zoo_need_on_path(stall, truth->kind);
    zoo_need_on_path(stall, "main");
}

static void find(const char *const kinds[])
{
    for (; *kinds != NULL; kinds++) {
        struct zoo zoo;
        zoo_run(&zoo,
                (const char *[]){PYTHON, program_source("zoo/first_turns.py"), "500", *kinds, NULL},
                60);
        zoo_check_stalls(&zoo, check);
        zoo_done(&zoo);
    }
}

TIMED_TEST(first_turns, 90)
{
    find((const char *[]){"first", "second", "slept", "all", NULL});
}

TIMED_TEST(first_turns_that_start_something, 90)
{
    find((const char *[]){"server", "task", "child", "fork", NULL});
}

TIMED_TEST(first_turns_of_each_loop, 60)
{
    find((const char *[]){"again", NULL});
}

TIMED_TEST(first_turns_of_two_loops_at_once, 60)
{
    struct zoo zoo;
    zoo_run(&zoo,
            (const char *[]){PYTHON, "-c",
                             "import asyncio, sys, threading, time\n"
                             "def inject():\n"
                             "    time.sleep(int(sys.argv[1]) / 1000)\n"
                             "    print('injected inject', sys.argv[1], 'ms', flush=True)\n"
                             "async def main():\n"
                             "    inject()\n"
                             "    for _ in range(5): await asyncio.sleep(0.02)\n"
                             "threads = [threading.Thread(target=lambda: asyncio.run(main()))\n"
                             "           for _ in range(2)]\n"
                             "for t in threads: t.start()\n"
                             "for t in threads: t.join()\n",
                             "500", NULL},
            60);
    zoo_check_stalls(&zoo, check);
    zoo_done(&zoo);
}

TIMED_TEST(first_turn_of_node, 60)
{
    struct zoo zoo;
    if (!program_on_path("node")) {
        SKIP("no node on PATH");
    }
    zoo_run(&zoo,
            (const char *[]){"node", "-e",
                             "function inject() {\n"
                             "    const begin = Date.now();\n"
                             "    while (Date.now() < begin + Number(process.argv[1])) {}\n"
                             "    console.log(`injected inject ${Date.now() - begin} ms`);\n"
                             "}\n"
                             "setTimeout(inject, 10); setTimeout(() => {}, 800);\n",
                             "500", NULL},
            60);
    zoo_check_stalls(&zoo, NULL);
    zoo_done(&zoo);
}

TIMED_TEST(what_looks_like_a_first_turn, 90)
{
    static const char *const kinds[] = {"closed", "once", "nested"};
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        zoo_silent(
            (const char *[]){PYTHON, program_source("zoo/first_turns.py"), "500", kinds[i], NULL},
            0);
    }
}

TIMED_TEST(programs_that_wait_without_a_loop, 90)
{
    zoo_silent((const char *[]){PYTHON, "-c",
                                "import select, os\n"
                                "r, w = os.pipe()\n"
                                "for _ in range(6): select.select([r], [], [], 0.3)\n"
                                "e = select.epoll(); e.register(r, 1)\n"
                                "for _ in range(6): e.poll(0.3)\n",
                                NULL},
               0);
    zoo_silent((const char *[]){PYTHON, "-c",
                                "import subprocess, time\n"
                                "for i in range(4):\n"
                                "    subprocess.run(['sleep', '0.3'], capture_output=i % 2 == 0)\n"
                                "    time.sleep(0.3)\n",
                                NULL},
               0);
}
