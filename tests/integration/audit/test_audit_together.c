// SPDX-License-Identifier: Apache-2.0
/* What several processes of a run have together: phases, limits, what is told, findings. What each
 * process does is known (family.c). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"
#include "json.h"
#include "programs.h"
#include "test.h"

static const char rules[] = "[rule \"all\"]\napi = getenv\nwhen = name ~ FAMILY\n"
                            "[rule \"early\"]\napi = getenv\nwhen = name ~ FAMILY\n"
                            "phase = before consent\n"
                            "[rule \"in\"]\napi = getenv\nwhen = name ~ FAMILY\n"
                            "phase = consent\n"
                            "[rule \"often\"]\napi = getenv\nwhen = name ~ FAMILY\n"
                            "limit = 3/10h\n";
static const char one_rule[] = "[rule \"all\"]\napi = getenv\nwhen = name ~ FAMILY\n";

/* A line of the shell in the test's folder, which has rules.ini, one.ini and list. */
static struct test_run run_line(const char *line)
{
    static char text[4096], path[600];
    static const struct {
        const char *name, *text;
    } files[] = {{"rules.ini", rules}, {"one.ini", one_rule}, {"list", "getenv\n"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", test_folder(), files[i].name);
        test_write_file(path, files[i].text, strlen(files[i].text));
    }
    snprintf(text, sizeof text, "SONDE='%s'; FAMILY='%s'; cd '%s'; %s", program_sonde(),
             program_built("audit/family"), test_folder(), line);
    const char *const argv[] = {"bash", "-c", text, NULL};
    return test_run(argv, NULL, NULL, 100);
}

/* Its output is not looked at. */
static void do_line(const char *line)
{
    struct test_run run = run_line(line);
    if (run.status != 0) {
        FAIL("%s\n%d\n%s%s", line, run.status, run.out, run.err);
    }
    test_run_done(&run);
}

static struct json *read_report(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return json_read(path);
}

struct sum {
    int64_t calls, over;
};

/* Of a rule (null: none is there) in a process; process 0: the first, -1: all. */
static struct sum sum_of(const struct json *report, const char *rule, int64_t process)
{
    struct sum sum = {0, 0};
    JSON_EACH(call, json_need(report, "calls"))
    {
        const struct json *name = json_get(call, "rule_name"), *id = json_get(call, "process");
        bool is_here = process < 0 || (id != NULL ? json_int(call, "process") : 0) == process;
        if (is_here && json_get(call, "missed") == NULL &&
            (name != NULL ? rule != NULL && strcmp(json_text(call, "rule_name"), rule) == 0
                          : rule == NULL)) {
            sum.calls += json_int(call, "count");
            sum.over += rule != NULL ? json_int(call, "over_limit") : 0;
        }
    }
    return sum;
}

/* How many processes besides the first have these sums? */
static int with_sum(const struct json *report, const char *rule, int64_t calls, int64_t over)
{
    int found = 0;
    JSON_EACH(process, json_need(report, "processes"))
    {
        struct sum sum = sum_of(report, rule, json_int(process, "id"));
        found += sum.calls == calls && sum.over == over;
    }
    return found;
}

TEST_TIMEOUT(a_mark_by_the_pid_of_a_child_begins_the_phase_of_all, 120)
{
    do_line("$SONDE run -q --audit rules.ini --follow --json r.json -- $FAMILY phased $SONDE; "
            "test $? = 5");
    struct json *report = read_report("r.json");
    CHECK_EQ(sum_of(report, "early", -1).calls, OWN_CALLS + 100 + 200);
    CHECK_EQ(sum_of(report, "in", -1).calls, 1000 + 2000 + 20 + 400);
    CHECK_EQ(with_sum(report, "early", 100, 0), 1);
    CHECK_EQ(with_sum(report, "early", 200, 0), 1);
    CHECK_EQ(with_sum(report, "in", 1000, 0), 1);
    CHECK_EQ(with_sum(report, "in", 2000, 0), 1);
    CHECK_EQ(with_sum(report, "in", 400, 0), 1); /* a program that began in the phase */
    CHECK_EQ(json_need(report, "named_phases")->count, 1);
    json_free(report);
}

TEST_TIMEOUT(limits_are_those_of_a_process_and_go_on_in_a_forked_child, 120)
{
    do_line("$SONDE run -q --audit rules.ini --follow --json r.json -- $FAMILY limited; "
            "test $? = 5");
    struct json *report = read_report("r.json");
    CHECK_EQ(sum_of(report, "often", -1).calls, OWN_CALLS + 5 + 5 + 4);
    CHECK_EQ(with_sum(report, "often", 5, 5), 1); /* forked */
    CHECK_EQ(with_sum(report, "often", 5, 2), 1); /* executed */
    CHECK_EQ(sum_of(report, "often", -1).over, OWN_CALLS - 3 + 5 + 2 + 4);
    json_free(report);
}

/* Of five children with the same calls, the first is told. */
TEST_TIMEOUT(what_several_processes_do_is_told_once, 120)
{
    int thread = 0, process = 0;
    struct test_run run = run_line("$SONDE run -q --audit one.ini --follow --live --report r.sonde "
                                   "-- $FAMILY alike; test $? = 5 && "
                                   "$SONDE show --json r.sonde >r.json");
    CHECK_EQ(run.status, 0);
    const char *line = strstr(run.err, "new: warning  all: getenv  by call < alike < main < ");
    CHECK(line != NULL);
    CHECK(strstr(line + 1, "new: ") == NULL);
    const char *where = strstr(line, "  thread ");
    CHECK(where != NULL);
    CHECK_EQ(sscanf(where, "  thread %d, process %d", &thread, &process), 2);
    CHECK_EQ(thread, process);
    struct json *report = read_report("r.json");
    bool is_known = false;
    JSON_EACH(one, json_need(report, "processes"))
    {
        is_known |= json_int(one, "pid") == process;
    }
    CHECK(is_known && process != json_int(report, "pid"));
    json_free(report);
    test_run_done(&run);
}

TEST_TIMEOUT(the_first_process_is_told_with_its_pid, 120)
{
    char expected[64];
    struct test_run run = run_line("$SONDE run -q --audit one.ini --follow --live --report r.sonde "
                                   "-- $FAMILY forked; test $? = 5 && "
                                   "$SONDE show --json r.sonde >r.json");
    CHECK_EQ(run.status, 0);
    struct json *report = read_report("r.json");
    snprintf(expected, sizeof expected, "thread %d, process %d\n", (int)json_int(report, "pid"),
             (int)json_int(report, "pid"));
    const char *first = strstr(run.err, "by call < main < ");
    CHECK(first != NULL && strstr(first + 1, "by call < main < ") == NULL);
    CHECK_CONTAINS(first, expected);
    json_free(report);
    test_run_done(&run);
}

TEST_TIMEOUT(a_list_is_recorded_in_all_processes, 120)
{
    do_line("$SONDE run -q --record list --follow --json r.json -- $FAMILY forked; test $? = 5");
    struct json *report = read_report("r.json");
    CHECK_EQ(sum_of(report, NULL, -1).calls, OWN_CALLS + 1500 + FORKED);
    for (int i = 0; i < FORKED; i++) {
        CHECK_EQ(with_sum(report, NULL, INT64_C(100) * (i + 1), 0), 1);
    }
    CHECK_EQ(with_sum(report, NULL, 1, 0), FORKED);
    json_free(report);
}

/* Results of the SARIF of r.sonde; their fingerprints must be different ones. */
static unsigned results_of(int64_t ret_calls[8])
{
    const char *fingerprints[8];
    unsigned count = 0;
    do_line("$SONDE export --format sarif r.sonde >r.sarif");
    struct json *sarif = read_report("r.sarif");
    JSON_EACH(result, json_need(json_need(sarif, "runs")->first, "results"))
    {
        CHECK(count < 8);
        ret_calls[count] = json_int(result, "occurrenceCount");
        fingerprints[count] =
            json_text(json_need(result, "partialFingerprints"), "sondeCallStack/v1");
        for (unsigned i = 0; i < count; i++) {
            CHECK(strcmp(fingerprints[i], fingerprints[count]) != 0);
        }
        count++;
    }
    json_free(sarif);
    return count;
}

TEST_TIMEOUT(equal_findings_of_processes_are_one_result, 120)
{
    int64_t calls[8] = {0};
    do_line("$SONDE run -q --audit one.ini --follow --report r.sonde -- $FAMILY alike; "
            "test $? = 5");
    CHECK_EQ(results_of(calls), 1);
    CHECK_EQ(calls[0], 3 * FORKED);
    /* the first process, a program that is the same one */
    do_line("$SONDE run -q --audit one.ini --follow --report r.sonde -- $FAMILY other $FAMILY; "
            "test $? = 5");
    CHECK_EQ(results_of(calls), 1);
    CHECK_EQ(calls[0], OWN_CALLS + 9);
}

/* Functions of two programs have the same names. */
TEST_TIMEOUT(findings_of_another_program_are_others, 120)
{
    int64_t calls[8] = {0};
    do_line("cp $FAMILY another; $SONDE run -q --audit one.ini --follow --report r.sonde -- "
            "$FAMILY other ./another; test $? = 5");
    CHECK_EQ(results_of(calls), 2);
    CHECK_EQ(calls[0] + calls[1], OWN_CALLS + 9);
}

/* Also if the functions of that program have no names, and if only its own file has changed. */
TEST_TIMEOUT(the_gate_stops_what_another_program_does_first, 120)
{
    do_line(
        "cp $FAMILY another; strip -R .note.gnu.build-id -o stripped another; "
        "for i in $FAMILY ./another ./stripped; do $SONDE run -q --audit one.ini --follow "
        "--report ${i##*/}.sonde -- $FAMILY other $i; test $? = 5 || exit 1; done; "
        "$SONDE audit diff --fail-on warning family.sonde family.sonde || exit 2; "
        "$SONDE audit diff --fail-on warning family.sonde another.sonde; [ $? = 8 ] || exit 3; "
        "$SONDE audit diff family.sonde another.sonde | grep -q ': 1 new, 1 better$' || exit 4; "
        "$SONDE audit diff --fail-on warning family.sonde stripped.sonde; [ $? = 8 ] || exit 5; "
        "$SONDE audit diff family.sonde stripped.sonde | grep -q ': 1 new, 1 better$' || exit 6");
}

/* Pids and the order of processes are others. */
TEST_TIMEOUT(two_runs_of_make_have_no_difference, 120)
{
    static const char makefile[] =
        "prog: a.o b.o c.o d.o\n\tcc -o $@ $^ && $(FAMILY) forked >log || :"
        "\n%.o: %.c\n\tcc -c -o $@ $<; $(FAMILY) leaf 3\n";
    static const char tools[] = "[rule \"tools\"]\napi = open, openat, fopen, getenv, getpid\n";
    char path[600];
    if (!program_on_path("make") || !program_on_path("cc")) {
        SKIP("needs make and cc");
    }
    snprintf(path, sizeof path, "%s/Makefile", test_folder());
    test_write_file(path, makefile, strlen(makefile));
    snprintf(path, sizeof path, "%s/tools.ini", test_folder());
    test_write_file(path, tools, strlen(tools));
    do_line(
        "export CCACHE_DISABLE=1 FAMILY; for f in b c d; do echo \"int $f;\" >$f.c; done; "
        "echo 'int main(void) { return 6; }' >a.c; for i in old new; do rm -f *.o prog; "
        "$SONDE run -q --audit tools.ini --follow --report $i.sonde -- make -s -j3 || exit 1; "
        "./prog; test $? = 6 || exit 2; done; $SONDE audit diff --fail-on note old.sonde new.sonde "
        ">log || exit 3; grep -E '^calls by function and stack: [0-9]+ same$' log || "
        "{ cat log; exit 4; }");
}

/* Neither depends on which of its children came first. */
TEST_TIMEOUT(a_first_program_without_calls_is_the_first_program, 120)
{
    do_line(
        "cp $FAMILY another; for i in 'another 10 ; ./family 9' 'family 9 ; ./another 10'; do "
        "cp $FAMILY family; set -- $i; echo \"./$1 leaf $2; $4 leaf $5; exit\" >script; "
        "$SONDE run -q --audit one.ini --follow --report $1.sonde -- bash script || exit 1; done; "
        "$SONDE audit diff --fail-on note another.sonde family.sonde >log || exit 2; "
        "grep ': 2 same$' log || { cat log; exit 3; }");
}
