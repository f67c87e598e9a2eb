// SPDX-License-Identifier: Apache-2.0
/* Without options sonde also watches a program that the process executes, and its fork children. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"
#include "test.h"

static struct test_run run_script(const char *script)
{
    static char slack[32], stall[32];
    char sonde[512], loop[512], folder[512], source[512];
    snprintf(sonde, sizeof sonde, "SONDE=%s", program_sonde());
    snprintf(loop, sizeof loop, "LOOP=%s", program_built("run/run_loop"));
    snprintf(source, sizeof source, "PREFORK=%s", program_source("run/prefork.py"));
    snprintf(folder, sizeof folder, "FOLDER=%s", test_folder());
    snprintf(slack, sizeof slack, "SLACK=%u", test_slack());
    snprintf(stall, sizeof stall, "STALL=%ums", 250 * test_slack());
    return test_run((const char *[]){"bash", "-c", script, NULL},
                    (const char *[]){sonde, loop, folder, source, slack, stall, NULL}, NULL, 100);
}

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        n++;
    }
    return n;
}

TIMED_TEST(what_the_process_becomes_is_watched, 60)
{
    struct test_run run = run_script("$SONDE run --stall $STALL --report $FOLDER/report -- "
                                     "sh -c 'exec $LOOP idle:20 burn:$((600 * SLACK)) idle:20'\n"
                                     "$SONDE show $FOLDER/report 2>&1 >/dev/null\n"
                                     "$SONDE show $FOLDER/report.*");
    CHECK_CONTAINS(run.err, "run_loop[");
    CHECK_EQ(count(run.err, "\nstall 1: "), 1);
    CHECK_CONTAINS(run.err, "stall_burn");
    CHECK_CONTAINS(run.err, "the program executed another one, which is watched too");
    CHECK_CONTAINS(run.out, "stalls of programs that this one executed or forked are in report.");
    CHECK_CONTAINS(run.out, "stall_burn");
    test_run_done(&run);
    run = run_script("env -i $SONDE run --stall $STALL -- "
                     "env -i sh -c 'exec /usr/bin/env -i \"$@\"' sh $LOOP burn:$((600 * SLACK))");
    CHECK_EQ(count(run.err, "\nstall 1: "), 1); /* through three programs, without variables */
    test_run_done(&run);
    run = run_script("$SONDE run --stall $STALL --no-follow -- "
                     "sh -c 'exec $LOOP idle:20 burn:$((600 * SLACK)) idle:20'");
    CHECK_EQ(count(run.err, "\nstall 1: "), 0);
    CHECK_CONTAINS(run.err, "which is not watched (--no-follow)");
    test_run_done(&run);
}

/* JSON is written for each process, as reports are. */
TIMED_TEST(json_of_the_programs_that_are_followed, 60)
{
    static const char *const programs[] = {
        "sh -c 'exec $LOOP idle:20 burn:$((600 * SLACK)) idle:20'",
        "sh -c '$LOOP idle:20 burn:$((600 * SLACK)) idle:20; true'"};
    for (unsigned i = 0; i < 2; i++) {
        char script[500];
        snprintf(
            script, sizeof script,
            "rm -f $FOLDER/j*; $SONDE run --stall $STALL %s --json $FOLDER/j -- %s\n"
            "python3 -c 'import glob, json, sys\n"
            "first, own = (json.load(open(f)) for f in sorted(glob.glob(sys.argv[1] + \"*\")))\n"
            "print(len(first[\"stalls\"]), len(own[\"stalls\"]), own[\"stalls\"][0][\"kind\"])'"
            " $FOLDER/j",
            i == 0 ? "" : "--follow", programs[i]);
        struct test_run run = run_script(script);
        CHECK_CONTAINS(run.out, "0 1 loop\n");
        test_run_done(&run);
    }
}

/* Of the files FILE.PID, only reports of that process from this run are named. */
TIMED_TEST(other_reports_of_the_run_are_named, 60)
{
    struct test_run run = run_script(
        "$SONDE run --stall $STALL --report $FOLDER/r -- "
        "sh -c 'exec $LOOP idle:20 burn:$((600 * SLACK)) idle:20' >/dev/null 2>&1\n"
        "own=$(echo $FOLDER/r.*); pid=${own##*.}\n"
        "cp $own $own.2\n"                               /* of a second program of the process */
        "cp $own $own.3; touch -d '1 hour ago' $own.3\n" /* of an earlier run */
        "cp $own $FOLDER/r.1; echo text >$own.6; : >$own.7; ln -s $own $own.8\n"
        "for other in $own.json $own.4.5 $own. $FOLDER/rr.$pid; do cp $own $other; done\n"
        "$SONDE show $FOLDER/r 2>&1 >/dev/null |\n"
        "grep -c \"stalls of programs that this one executed or forked are in r.$pid, r.$pid.2$\"");
    CHECK_STR(run.out, "1\n");
    test_run_done(&run);
}

/* While the next program is prepared the process is sonde's own. */
TIMED_TEST(what_the_process_becomes_is_not_named_sonde, 60)
{
    struct test_run run =
        run_script("for i in $(seq 12); do $SONDE run --stall $STALL -- sh -c "
                   "'sleep 0.$1; exec sh -c \"sleep 0.4\"' sh $((10 + 3 * i)); done");
    CHECK_EQ(count(run.err, "the program executed another one, which is watched too"), 12);
    CHECK_EQ(count(run.err, "which is watched too: /"),
             count(run.err, "which is watched too: /usr/"));
    test_run_done(&run);
}

/* Programs that its children execute are not watched: that is --follow. */
TIMED_TEST(what_a_child_executes_is_not, 60)
{
    struct test_run run = run_script("$SONDE run --stall $STALL -- "
                                     "sh -c '$LOOP idle:20 burn:$((600 * SLACK)) idle:20; true'");
    CHECK_EQ(count(run.err, "\nstall 1: "), 0);
    CHECK_CONTAINS(run.err, "its children executed 1 program, which --follow would watch");
    test_run_done(&run);
}

/* Also where the program has a loop of its own, as launchers have. */
TIMED_TEST(what_children_of_a_launcher_execute_is_counted, 60)
{
    static const char launcher[] =
        "LAUNCH='import asyncio, os, subprocess\n"
        "async def main():\n"
        "    for i in range(20): await asyncio.sleep(0.01)\n"
        "    await (await asyncio.create_subprocess_exec(\"true\")).wait()\n"
        "    os.system(\"true\")\n"
        "    os.popen(\"true\").close()\n"
        "    os.waitpid(os.posix_spawn(\"/bin/true\", [\"true\"], {}), 0)\n"
        "    try: subprocess.run([\"/nonexistent\"])\n"
        "    except OSError: pass\n"
        "asyncio.run(main())'\n";
    char script[2048];
    snprintf(script, sizeof script, "%s$SONDE run -- /usr/bin/python3 -c \"$LAUNCH\"", launcher);
    struct test_run run = run_script(script);
    CHECK_CONTAINS(run.err, "watched 1 loop");
    CHECK_CONTAINS(run.err, "its children executed 4 programs, which --follow would watch");
    test_run_done(&run);
    snprintf(script, sizeof script, "%s$SONDE run --follow -- /usr/bin/python3 -c \"$LAUNCH\"",
             launcher);
    run = run_script(script);
    CHECK(strstr(run.err, "its children executed") == NULL);
    test_run_done(&run);
}

TIMED_TEST(a_worker_that_stalls, 60)
{
    int pid = 0;
    char who[64];
    struct test_run run = run_script("$SONDE run --stall $STALL --report $FOLDER/report -- "
                                     "/usr/bin/python3 $PREFORK 3 100; echo $?; sleep 1\n"
                                     "$SONDE show $FOLDER/report.*");
    CHECK_EQ(sscanf(run.out, "worker %d\n", &pid), 1);
    snprintf(who, sizeof who, "[%d]: stall 1", pid);
    CHECK_EQ(count(run.err, "\nstall 1: "), 1);
    snprintf(who, sizeof who, "[%d]: ", pid);
    CHECK_CONTAINS(run.err, who);
    CHECK_CONTAINS(run.err, "3 forked children were watched by supervisors of their own");
    CHECK_CONTAINS(run.out, "blocked in clock_nanosleep");
    test_run_done(&run);
    run = run_script("$SONDE run --stall $STALL --no-follow -- /usr/bin/python3 $PREFORK 3 100");
    CHECK_EQ(count(run.err, "\nstall 1: "), 0);
    CHECK(strstr(run.err, "forked child") == NULL);
    test_run_done(&run);
}

/* More workers at a time than slots; then one after the other, in used slots. */
TIMED_TEST(many_workers, 100)
{
    struct test_run run = run_script(
        "$SONDE run --stall $STALL -- /usr/bin/python3 $PREFORK 40 150 | grep -c worker");
    CHECK_STR(run.out, "1\n");
    CHECK_CONTAINS(run.err, "32 forked children were watched");
    CHECK_CONTAINS(run.err, "8 forked children were not watched: there are 32 places at a time");
    test_run_done(&run);
    run = run_script(
        "$SONDE run --stall $STALL -- bash -c 'for i in $(seq 36); do "
        "(for n in $(seq 5); do read -t 0.01 x </dev/zero; done; read -t 0.1 x <> <(:)); done'");
    CHECK(strstr(run.err, "were not watched") == NULL);
    test_run_done(&run);
}

/* A child that closes, forks again, is killed; one that execs, under vfork, or by clone() alone. */
TIMED_TEST(children_of_all_kinds_live_as_without_sonde, 60)
{
    static const char *const code =
        "import os, select, signal, subprocess, sys, threading, time\n"
        "def wait(n):\n"
        "    for i in range(n): select.select([r], [], [], 0.01)\n"
        "r, w = os.pipe()\n"
        "wait(2)\n"
        "def child(f):\n"
        "    sys.stdout.flush()\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        f()\n"
        "        sys.stdout.flush()\n"
        "        os._exit(7)\n"
        "    print(os.waitpid(pid, 0)[1])\n"
        "child(lambda: wait(20))\n"
        "child(lambda: (wait(20), child(lambda: wait(20))))\n"
        "child(lambda: (wait(20), os.kill(os.getpid(), signal.SIGKILL)))\n"
        "child(lambda: (wait(5), os.execvp('echo', ['echo', 'executed'])))\n"
        "child(lambda: (wait(5), threading.Thread(target=wait, args=(20,)).start(), wait(20)))\n"
        "print(subprocess.run(['echo', 'run'], capture_output=True).stdout)\n"
        "def threaded():\n"
        "    t = threading.Thread(target=wait, args=(50,)); t.start()\n"
        "    child(lambda: wait(20)); t.join()\n"
        "threaded()\n";
    char script[4096];
    snprintf(script, sizeof script,
             "cat >$FOLDER/kinds.py <<'END'\n%sEND\n"
             "/usr/bin/python3 $FOLDER/kinds.py >$FOLDER/plain; "
             "$SONDE run --stall $STALL -- /usr/bin/python3 $FOLDER/kinds.py >$FOLDER/watched\n"
             "cmp $FOLDER/plain $FOLDER/watched && wc -l <$FOLDER/plain",
             code);
    struct test_run run = run_script(script);
    CHECK_STR(run.out, "9\n");
    CHECK_EQ(count(run.err, "\nstall "), 0);
    test_run_done(&run);
}

TIMED_TEST(workers_of_nginx, 60)
{
    const char *nginx = program_unpacked("nginx", "usr/sbin/nginx");
    char script[4096];
    if (nginx == NULL || !program_on_path("curl")) {
        SKIP("nginx is not unpacked, or no curl (./dev setup test)");
    }
    snprintf(script, sizeof script,
             "PORT=%d; cat >$FOLDER/nginx.conf <<END\n"
             "daemon off; worker_processes 2; pid $FOLDER/pid; error_log $FOLDER/log;\n"
             "events {} http { access_log off; client_body_temp_path $FOLDER/a;\n"
             "proxy_temp_path $FOLDER/b; fastcgi_temp_path $FOLDER/c; uwsgi_temp_path $FOLDER/d;\n"
             "scgi_temp_path $FOLDER/e;\n"
             "server { listen 127.0.0.1:$PORT reuseport; location / { return 200 hi; } } }\n"
             "END\n"
             "$SONDE run -v --stall $STALL -- %s -e $FOLDER/log -c $FOLDER/nginx.conf & p=$!\n"
             "for i in $(seq 100); do curl -s 127.0.0.1:$PORT && break; sleep 0.05; done\n"
             "for i in $(seq 100); do curl -s 127.0.0.1:$PORT >/dev/null; done\n"
             "sleep 1; kill -QUIT $p; wait $p; echo $?; sleep 1",
             program_free_port(), nginx);
    struct test_run run = run_script(script);
    CHECK_CONTAINS(run.out, "0\n");
    CHECK_CONTAINS(run.err, "2 forked children were watched by supervisors of their own");
    CHECK(count(run.err, ": watched 1 loop, ") >= 1);
    CHECK_EQ(count(run.err, "\nstall "), 0);
    test_run_done(&run);
}
