// SPDX-License-Identifier: Apache-2.0
/* Fingerprints of real stalls: stalls of one cause have few, stalls of different causes share none.
 * The program (groups.c) runs its causes in a known order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "test.h"

enum { CAUSES = 20, TEXTS = 256 };

/* The report of a run, as JSON. Every stall is `ms` long. */
static struct json *run_groups(const char *what, unsigned count, unsigned ms)
{
    static char stall[32], number[16], length[16], report[512];
    snprintf(stall, sizeof stall, "--stall=%ums", ms * test_slack() / 5 * 4);
    snprintf(number, sizeof number, "%u", count);
    snprintf(length, sizeof length, "%u", ms * test_slack());
    snprintf(report, sizeof report, "%s/report", test_folder());
    const char *const options[] = {stall, NULL};
    const char *const argv[] = {program_built("groups/groups"), what, number, length, NULL};
    struct test_run run = program_watch(options, report, argv, 240);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    const char *const show[] = {program_sonde(), "show", "--json", report, NULL};
    run = test_run(show, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    struct json *json = json_parse(run.out);
    test_run_done(&run);
    return json;
}

/* Count the different texts. A failure shows which they are. */
static unsigned count_different(const char *const *texts, unsigned count)
{
    unsigned different = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned k = 0;
        while (k < i && strcmp(texts[k], texts[i]) != 0) {
            k++;
        }
        different += k == i;
        if (k == i) {
            fprintf(stderr, "stall %u is the first of:\n%s\n", i + 1, texts[i]);
        }
    }
    return different;
}

TIMED_TEST(groups_of_one_cause_are_few, 240)
{
    unsigned count = test_long() ? 120 : 40, found = 0;
    const char *texts[TEXTS];
    struct json *json = run_groups("same", count, 250);
    JSON_EACH(stall, json_need(json, "stalls"))
    {
        CHECK(found < TEXTS);
        CHECK_CONTAINS(json_text(stall, "fingerprint"), "1:");
        CHECK_CONTAINS(json_text(stall, "fingerprint_text"),
                       "stall loop\nthread main\nfunction load_document\n");
        /* the watch wrote the same fingerprint as is computed now */
        CHECK_STR(json_text(stall, "fingerprint_written"), "");
        texts[found++] = json_text(stall, "fingerprint_text");
    }
    CHECK(found >= count * 9 / 10);
    CHECK(count_different(texts, found) <= 3);
    json_free(json);
}

/* Two stalls of each cause: a stall's position in time tells which of the twenty it is of. */
TIMED_TEST(groups_of_different_causes_never_share, 240)
{
    enum { EACH = 2 };
    struct json *json = run_groups("causes", EACH, 250);
    const char *of_cause[CAUSES][EACH];
    unsigned found = 0;
    JSON_EACH(stall, json_need(json, "stalls"))
    {
        CHECK(found < CAUSES * EACH);
        of_cause[found / EACH][found % EACH] = json_text(stall, "fingerprint");
        CHECK(*json_text(stall, "fingerprint_text") != '\0');
        found++;
    }
    CHECK_EQ(found, CAUSES * EACH);
    for (unsigned a = 0; a < CAUSES; a++) {
        for (unsigned b = 0; b < a; b++) {
            for (unsigned i = 0; i < EACH * EACH; i++) {
                if (strcmp(of_cause[a][i / EACH], of_cause[b][i % EACH]) == 0) {
                    FAIL("causes %u and %u have one fingerprint: %s", b, a, of_cause[b][i % EACH]);
                }
            }
        }
    }
    json_free(json);
}

/* The text view has one line for all of them. */
TIMED_TEST(groups_are_shown_as_one, 120)
{
    char report[512];
    struct json *json = run_groups("causes", 2, 100);
    json_free(json);
    snprintf(report, sizeof report, "%s/report", test_folder());
    const char *const show[] = {program_sonde(), "show", "--group", report, NULL};
    struct test_run run = test_run(show, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    char *at = strstr(run.out, "\n2 equal stalls, ");
    CHECK(at != NULL);
    CHECK_CONTAINS(at, " in all, the first after ");
    CHECK_CONTAINS(at, "; the longest:\n\nstall ");
    test_run_done(&run);
}

/* Add up the stalls of each fingerprint in a report. */
static unsigned add_counts(struct json *json, char (*ids)[64], unsigned *counts, unsigned *kinds)
{
    unsigned found = 0;
    JSON_EACH(stall, json_need(json, "stalls"))
    {
        unsigned i = 0;
        while (i < *kinds && strcmp(ids[i], json_text(stall, "fingerprint")) != 0) {
            i++;
        }
        CHECK(i < TEXTS);
        if (i == *kinds) {
            snprintf(ids[(*kinds)++], sizeof ids[0], "%s", json_text(stall, "fingerprint"));
            counts[i] = 0;
        }
        counts[i]++;
        found++;
    }
    json_free(json);
    return found;
}

/* With two runs each group has as many stalls as both reports have of its fingerprint. */
TIMED_TEST(groups_of_several_reports, 120)
{
    static char ids[TEXTS][64];
    static unsigned counts[TEXTS];
    unsigned kinds = 0, shown = 0;
    char command[2048], line[128];
    const char *const argv[] = {"sh", "-ec", command, NULL};
    unsigned all = add_counts(run_groups("causes", 1, 80), ids, counts, &kinds);
    snprintf(command, sizeof command, "cd %s; mkdir folder; mv report folder/first.sonde",
             test_folder());
    struct test_run run = test_run(argv, NULL, NULL, 20);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    all += add_counts(run_groups("causes", 1, 80), ids, counts, &kinds);
    /* one report is named twice */
    snprintf(command, sizeof command, "cd %s; exec %s show --group report folder report",
             test_folder(), program_sonde());
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    snprintf(line, sizeof line, "2 reports, %u stalls in %u groups\n", all, kinds);
    CHECK_CONTAINS(run.out, line);
    const char *at = run.out;
    for (const char *next; (next = strstr(at, " reports, ")) != NULL; at = next + 1) {
        const char *begin = next;
        while (begin > run.out && begin[-1] != '\n') {
            begin--;
        }
        const char *id = strstr(next, "  fingerprint");
        unsigned count = (unsigned)strtoul(begin, NULL, 10), i = 0;
        if (begin == run.out) {
            continue; /* the heading */
        }
        CHECK(id != NULL);
        id = strstr(id, "1:");
        while (i < kinds && strncmp(ids[i], id, strlen(ids[i])) != 0) {
            i++;
        }
        CHECK(i < kinds);
        CHECK_EQ(count, counts[i]);
        shown += count;
    }
    CHECK_EQ(shown, all);
    test_run_done(&run);
    snprintf(command, sizeof command, "cd %s; exec %s show --group --json folder", test_folder(),
             program_sonde());
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 2);
    test_run_done(&run);
}

/* The report has the caller's fields, the process and its parent; each report has another id. */
TEST(groups_reports_say_where_they_are_from)
{
    char command[2048], first[40];
    const char *const argv[] = {"sh", "-c", command, NULL};
    for (unsigned i = 0; i < 2; i++) {
        snprintf(
            command, sizeof command,
            "cd %s; echo $$ >shell; %s run --report r --tag tester=kim --tag case=3 "
            "--tag tester=lee --build 1.2 --device lab-7 -- sh -c 'echo $$ >pid'; %s show --json r",
            test_folder(), program_sonde(), program_sonde());
        struct test_run run = test_run(argv, NULL, NULL, 60);
        CHECK_EQ(run.status, 0);
        struct json *json = json_parse(run.out);
        const struct json *process = json_need(json, "processes")->first;
        snprintf(command, sizeof command, "%s/pid", test_folder());
        char *pid = test_read_file(command, NULL);
        snprintf(command, sizeof command, "%s/shell", test_folder());
        char *shell = test_read_file(command, NULL);
        CHECK_EQ(json_int(process, "pid"), atoi(pid));
        CHECK_EQ(json_int(process, "parent_pid"), atoi(shell));
        CHECK(json_text(process, "executable")[0] == '/');
        CHECK_STR(json_text(json, "build"), "1.2");
        CHECK_EQ(json_need(json, "tags")->count, 2);
        CHECK_STR(json_text(json_need(json, "tags")->first, "value"), "lee");
        CHECK(json_int(json_need(json, "device"), "cpu_count") > 0);
        CHECK_STR(json_text(json_need(json, "device"), "id"), "lab-7");
        CHECK_EQ(strlen(json_text(json, "report_id")), 32);
        CHECK(i == 0 || strcmp(first, json_text(json, "report_id")) != 0);
        snprintf(first, sizeof first, "%s", json_text(json, "report_id"));
        free(pid);
        free(shell);
        json_free(json);
        test_run_done(&run);
    }
}

TIMED_TEST(groups_tags_reach_programs_that_are_followed, 60)
{
    char command[2048];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(command, sizeof command,
             "cd %s; rm -f r*; %s run --follow --stall=%ums --report r --tag a=1 --tag 'b=x y' "
             "--device=lab-8 -- "
             "sh -c '%s same 1 %u; true' >/dev/null 2>&1; %s show --json r.*",
             test_folder(), program_sonde(), 80 * test_slack(), program_built("groups/groups"),
             150 * test_slack(), program_sonde());
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    struct json *json = json_parse(run.out);
    CHECK_EQ(json_need(json, "tags")->count, 2);
    CHECK_STR(json_text(json_need(json, "tags")->first->next, "value"), "x y");
    CHECK_STR(json_text(json_need(json, "device"), "id"), "lab-8");
    json_free(json);
    test_run_done(&run);
}
