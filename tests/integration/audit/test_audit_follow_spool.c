// SPDX-License-Identifier: Apache-2.0
/* sonde run --audit --follow --spool: a child, the supervisor, or all are killed. */
#include <stdio.h>
#include <string.h>

#include "family.h"
#include "json.h"
#include "programs.h"
#include "test.h"

static const char rules[] = "[rule \"all\"]\napi = getenv\nwhen = name ~ FAMILY\n";

/* Two children end, then the script waits for a byte. */
static const char script[] = "./family leaf 100\n./family leaf 200\necho ready >state\n"
                             "read -r byte <&3\n./family leaf 7\nexit 0\n";

/* In the shell: started MODE starts `program`, and returns when the supervisor has written two live
 * files after the children's end. Then $ours has the processes of sonde, $program is the script's.
 */
static const char shell[] =
    "inode() { stat -c %i spool/*.live 2>/dev/null; }; "
    "renewed() { was=$(inode); until now=$(inode) && [ \"$now\" != \"$was\" ]; do sleep 0.05; "
    "done; }; "
    "started() { mkfifo go; exec 3<>go; \"$SONDE\" run -v --audit \"$PWD/rules.ini\" --follow "
    "--spool \"$PWD/spool\" -- bash script >out 2>err & job=$!; "
    "until [ -s state ]; do sleep 0.05; done; renewed; renewed; "
    "supervisor=$(sed -n 's/.*supervisor \\([0-9]*\\) watches.*/\\1/p' err); "
    "program=$(sed -n 's/.*watches process \\([0-9]*\\).*/\\1/p' err); "
    "ours=$(pgrep -f \"$PWD/rules.ini\" | grep -v \"^$$\\$\"); }; ";

static struct test_run run_line(const char *line)
{
    static char text[8192], path[600];
    static const struct {
        const char *name, *text;
    } files[] = {{"rules.ini", rules}, {"script", script}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", test_folder(), files[i].name);
        test_write_file(path, files[i].text, strlen(files[i].text));
    }
    snprintf(text, sizeof text, "cd '%s'; SONDE='%s'; cp '%s' family; %s%s", test_folder(),
             program_sonde(), program_built("audit/family"), shell, line);
    const char *const argv[] = {"bash", "-c", text, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    if (run.status != 0) {
        FAIL("%s\n%d\n%s%s", line, run.status, run.out, run.err);
    }
    return run;
}

/* Of the report that is the output. */
static int64_t calls_in(const struct test_run *run)
{
    int64_t calls = 0;
    struct json *report = json_parse(run->out);
    JSON_EACH(call, json_need(report, "calls"))
    {
        calls += json_int(call, "count");
    }
    json_free(report);
    return calls;
}

TEST_TIMEOUT(a_killed_child_loses_nothing_of_others_in_a_spool, 120)
{
    struct test_run run = run_line("\"$SONDE\" run -q --audit rules.ini --follow --spool spool -- "
                                   "./family killed >out 2>err; [ $? = 5 ] || exit 1; "
                                   "\"$SONDE\" show --json spool/*.sonde");
    CHECK_EQ(calls_in(&run), OWN_CALLS + 1500);
    test_run_done(&run);
}

/* Another one takes over: what it cannot know is said. */
TEST_TIMEOUT(what_is_lost_with_a_supervisor_is_reported, 120)
{
    struct test_run run =
        run_line("started; kill -9 $supervisor; "
                 "until grep -q 'another one takes over' err; do sleep 0.05; done; "
                 "echo >&3; wait $job; [ $? = 0 ] || exit 1; "
                 "\"$SONDE\" show --json spool/*.sonde; cat err >&2");
    int64_t calls = calls_in(&run);
    CHECK_EQ(calls, 7);
    CHECK_CONTAINS(run.err, " processes: ended before the supervisor was killed, and their calls "
                            "are lost with it");
    CHECK_CONTAINS(run.out, "their calls are lost with it");
    test_run_done(&run);
}

/* Finishing leaves what a process that is being killed still holds. */
TEST_TIMEOUT(calls_of_ended_children_survive_the_end_of_all, 120)
{
    struct test_run run = run_line("started; kill -9 $ours $program; wait $job 2>/dev/null; "
                                   "while ls spool/*.live >/dev/null 2>&1; do "
                                   "\"$SONDE\" spool finish spool >out 2>&1 || exit 1; sleep 0.05; "
                                   "done; \"$SONDE\" show --json spool/*.sonde");
    CHECK_EQ(calls_in(&run), 300);
    test_run_done(&run);
}
