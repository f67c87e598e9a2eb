// SPDX-License-Identifier: Apache-2.0
/* SARIF of real recordings, against the published schema, `sonde show` and its own older self. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "test.h"

#define SCHEMA "@microsoft+sarif-matcher-utils@1.0.0-beta.0", "lib/schemas/sarif-2.1.0-rtm.5.json"

/* Run a line of shell in the test's folder, with $SONDE and $SOURCE, a program with callers of
 * getenv() (tests/integration/diff/optimized.c). */
static struct test_run run_line(const char *line)
{
    static char command[8192];
    const char *const argv[] = {"bash", "-c", command, NULL};
    snprintf(command, sizeof command,
             "cd %s; export SONDE=%s SOURCE=%s XDG_CACHE_HOME=$PWD/cache; "
             "record() { gcc -g -O2 $2 -o app $SOURCE && "
             "\"$SONDE\" run --record list --report $1.sonde --quiet -- ./app; }; "
             "sarif() { \"$SONDE\" export --format sarif --no-network \"$@\"; }; %s",
             test_folder(), program_sonde(), program_source("diff/optimized.c"), line);
    return test_run(argv, NULL, NULL, 100);
}

static void must_run(const char *line)
{
    struct test_run run = run_line(line);
    if (run.status != 0) {
        FAIL("%s\n%d\n%s%s", line, run.status, run.out, run.err);
    }
    test_run_done(&run);
}

/* The results of a log, with their members as `key=value`. */
static struct json *results_of(const char *line, const struct json **ret_results)
{
    struct test_run run = run_line(line);
    if (run.status != 0) {
        FAIL("%s\n%d\n%s", line, run.status, run.err);
    }
    struct json *log = json_parse(run.out);
    test_run_done(&run);
    *ret_results = json_need(json_need(log, "runs")->first, "results");
    return log;
}

static unsigned count_with(const struct json *results, const char *key, const char *value)
{
    unsigned count = 0;
    JSON_EACH(result, results)
    {
        count += strcmp(json_text(result, key), value) == 0;
    }
    return count;
}

TEST_TIMEOUT(sarif_is_valid_by_its_published_schema, 100)
{
    char line[4096];
    const char *schema = program_npm(SCHEMA);
    struct test_run run = run_line("/usr/bin/python3 -c 'import jsonschema'");
    bool can_check = run.status == 0 && schema != NULL;
    test_run_done(&run);
    if (!can_check) {
        SKIP("no schema of SARIF, or no jsonschema for python3 (./dev setup test)");
    }
    must_run("printf 'getenv\\nopen*\\nfopen\\nmalloc\\nnot_there\\n' >list; record old && record "
             "new -DADDED && \"$SONDE\" run --record list --report perl.sonde --quiet -- perl -e "
             "'open my $f, \"<\", \"/etc/passwd\"; print $ENV{HOME}' && "
             "echo 'getenv by inlined until 2999-01-01 \"reviewed\"' >accepted && "
             "printf '[rule \"environment\"]\\napi = getenv, secure_getenv\\n[rule "
             "\"files\"]\\napi = open, fopen\\nclass = files\\n[sdk "
             "\"perl\"]\\nmatch = symbol:Perl_*\\n' >rules.ini && \"$SONDE\" run --audit "
             "rules.ini --report audit.sonde --quiet -- perl -e "
             "'open my $f, \"<\", \"/etc/passwd\"; print $ENV{HOME}'");
    snprintf(
        line, sizeof line,
        "set -e; check() { /usr/bin/python3 '%s' '%s' $1.sarif <(\"$SONDE\" show --json "
        "$1.sonde); };"
        "sarif new.sonde >new.sarif; check new;"
        "sarif perl.sonde >perl.sarif; check perl;"
        "sarif audit.sonde >audit.sarif; check audit;"
        "sarif --baseline old.sonde --suppress accepted --source-root $(dirname $SOURCE) "
        "new.sonde >new.sarif; check new;"
        "! grep -q file://$(dirname $SOURCE)/opt new.sarif; grep -q '\"optimized.c\"' new.sarif",
        program_source("findings/check_sarif.py"), schema);
    must_run(line);
}

TEST_TIMEOUT(sarif_has_the_place_and_the_way_of_a_call, 100)
{
    const struct json *results;
    must_run("echo getenv >list; record new -DADDED");
    struct json *log = results_of("sarif new.sonde", &results);
    CHECK_EQ(results->count, 8);
    const struct json *added = NULL;
    JSON_EACH(result, results)
    {
        CHECK_STR(json_text(result, "ruleId"), "getenv");
        CHECK_STR(json_text(result, "level"), "warning");
        const struct json *flow = json_need(
            json_need(json_need(result, "codeFlows")->first, "threadFlows")->first, "locations");
        JSON_EACH(place, flow)
        {
            const struct json *names = json_need(json_need(place, "location"), "logicalLocations");
            if (strcmp(json_text(names->first, "fullyQualifiedName"), "added") == 0) {
                added = result;
            }
        }
    }
    CHECK(added != NULL);
    CHECK_STR(json_text(json_need(added, "message"), "text"), "1 call of getenv from inlined");
    const struct json *place = json_need(json_need(added, "locations")->first, "physicalLocation");
    CHECK_CONTAINS(json_text(json_need(place, "artifactLocation"), "uri"), "/diff/optimized.c");
    CHECK_CONTAINS(json_text(json_need(place, "artifactLocation"), "uri"), "file:///");
    CHECK(json_int(json_need(place, "region"), "startLine") > 10);
    json_free(log);
}

/* The same in another build, whatever the compiler inlines. */
TEST_TIMEOUT(sarif_fingerprints_are_stable, 100)
{
    must_run("echo getenv >list; record first && record second -DUNRELATED && record third -O0; "
             "for r in first second third; do sarif $r.sonde | grep -A1 partialFingerprints | "
             "grep -o '1:[0-9a-f]*' | sort >$r.ids; done; test $(wc -l <first.ids) = 7 && "
             "cmp first.ids second.ids && cmp first.ids third.ids && "
             "\"$SONDE\" diff --json --no-network first.sonde third.sonde | "
             "grep -o '\"1:[0-9a-f]*\"' | tr -d '\"' | sort | cmp - first.ids");
}

TEST_TIMEOUT(sarif_compares_with_a_baseline, 100)
{
    const struct json *results;
    must_run("echo getenv >list; record old && record new -DADDED");
    struct json *log = results_of("sarif --baseline old.sonde new.sonde", &results);
    CHECK_EQ(count_with(results, "baselineState", "new"), 1);
    CHECK_EQ(count_with(results, "baselineState", "unchanged"), 7);
    json_free(log);
    log = results_of("sarif --baseline new.sonde old.sonde", &results);
    CHECK_EQ(count_with(results, "baselineState", "absent"), 1);
    CHECK_EQ(count_with(results, "baselineState", "unchanged"), 7);
    json_free(log);
    log = results_of(
        "mkdir -p runs && cp old.sonde new.sonde runs; sarif --baseline runs new.sonde", &results);
    CHECK_EQ(count_with(results, "baselineState", "new"), 0);
    json_free(log);
}

/* The rules of an audit, with their severities, and nothing else. */
TEST_TIMEOUT(sarif_has_the_rules_of_an_audit, 100)
{
    const struct json *results;
    must_run("printf '[rule \"environment\"]\\napi = getenv\\nseverity = error\\nclass = "
             "identity\\nmessage = reads the environment\\n[rule \"files\"]\\napi = open, "
             "fopen\\nseverity = note\\n' >rules.ini; "
             "for way in '' -DADDED; do gcc -g -O2 $way -o app $SOURCE && \"$SONDE\" run --audit "
             "rules.ini --report audit$way.sonde --quiet -- ./app || exit 1; done");
    struct json *log = results_of("sarif audit.sonde", &results);
    CHECK_EQ(results->count, 7);
    CHECK_EQ(count_with(results, "ruleId", "environment"), 7);
    CHECK_EQ(count_with(results, "level", "error"), 7);
    const struct json *rules =
        json_need(json_need(json_need(json_need(log, "runs")->first, "tool"), "driver"), "rules");
    CHECK_EQ(rules->count, 2);
    CHECK_STR(json_text(json_need(rules->first, "shortDescription"), "text"),
              "reads the environment");
    CHECK_STR(json_text(rules->first->next, "id"), "files");
    json_free(log);
    must_run("sarif --fail-on error audit.sonde >/dev/null; test $? = 8 || exit 1; "
             "sarif --fail-on note --baseline audit.sonde audit.sonde >/dev/null || exit 1; "
             "sarif --fail-on error --baseline audit.sonde audit-DADDED.sonde >/dev/null; "
             "test $? = 8 || exit 1; "
             "\"$SONDE\" diff --no-network --fail-on error audit.sonde audit-DADDED.sonde >out; "
             "test $? = 8 || exit 1; "
             "sed -i 's/severity = error/severity = note/' rules.ini && \"$SONDE\" run --audit "
             "rules.ini --report note.sonde --quiet -- ./app || exit 1; "
             "\"$SONDE\" diff --no-network --fail-on warning audit.sonde note.sonde >out || exit "
             "1; \"$SONDE\" diff --no-network --fail-on note audit.sonde note.sonde >out; "
             "test $? = 8");
}

TEST(sarif_refuses_what_it_has_no_room_for)
{
    static const struct {
        const char *line;
        int status;
        const char *error;
    } cases[] = {
        {"sleep 60 & \"$SONDE\" stacks --report s.sonde $! >/dev/null; kill $!; sarif s.sonde", 1,
         "SARIF has recorded calls, and this report has none"},
        {"\"$SONDE\" export --fail-on note x.sonde", 2,
         "--baseline, --suppress, --fail-on and --source-root are for --format sarif"},
        {"sarif --fail-on severe x.sonde", 2, "--fail-on: not note, warning or error: severe"},
        {"sarif /nowhere/x.sonde", 3, "/nowhere/x.sonde"},
        {"echo x >accepted; sarif --suppress accepted x.sonde", 5,
         "accepted:1:2: expected until DATE REASON"},
        {"sarif --suppress /nowhere/accepted x.sonde", 3, "/nowhere/accepted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_run run = run_line(cases[i].line);
        if (run.status != cases[i].status || strstr(run.err, cases[i].error) == NULL) {
            FAIL("%s: %d\n%s", cases[i].line, run.status, run.err);
        }
        CHECK_STR(run.out, "");
        test_run_done(&run);
    }
}
