// SPDX-License-Identifier: Apache-2.0
/* sonde run --json prints what sonde show --json prints for a report of the same run. */
#include <stdio.h>
#include <string.h>

#include "start.h"
#include "test.h"

static void must_run(const char *line)
{
    struct test_run run = shell(line);
    if (run.status != 0) {
        FAIL("%s\n%s%s", line, run.out, run.err);
    }
    test_run_done(&run);
}

/* Two runs of one program differ in the process, times and ids only. */
TEST_TIMEOUT(run_json_is_the_json_of_its_report, 60)
{
    must_run("echo getenv >$DIR/list && for how in json report; do "
             "\"$SONDE\" run --record $DIR/list --$how $DIR/$how -- env A=1 >/dev/null 2>&1 || "
             "exit; done; "
             "\"$SONDE\" show --json --images $DIR/report >$DIR/shown && "
             "python3 -c '"
             "import json, sys\n"
             "a, b = (json.load(open(name)) for name in sys.argv[1:])\n"
             "for key in (\"schema\", \"kind\", \"executable\", \"os\", \"arch\", \"source\"):\n"
             "    assert a[key] == b[key], key\n"
             "for read in (a, b):\n"
             "    for call in read[\"calls\"]:\n"
             "        for frame in call.get(\"frames\", []):\n"
             "            frame.pop(\"address\", None)\n"
             "assert a[\"calls\"] == b[\"calls\"] and a[\"calls\"], (a[\"calls\"], b[\"calls\"])\n"
             "assert [i[\"path\"] for i in a[\"images\"]] == [i[\"path\"] for i in b[\"images\"]]\n"
             "assert \"file\" not in a and \"totals\" in a\n"
             "' $DIR/json $DIR/shown");
}

/* Also for a watch without stalls, for a killed program, and next to stacks requested by a
 * time-out. */
TEST_TIMEOUT(run_json_is_whole_however_the_program_ends, 60)
{
    must_run("\"$SONDE\" run --json $DIR/a -- true 2>$DIR/err && test ! -s $DIR/err; "
             "\"$SONDE\" run --json $DIR/b -- sh -c 'kill -9 $$' 2>/dev/null; "
             "\"$SONDE\" run --timeout 100ms --json $DIR/c -- sleep 1 2>/dev/null; "
             "python3 -c '"
             "import json, sys, time\n"
             "def read(name):\n" /* the supervisor of a killed program may not be done yet */
             "    for i in range(500):\n"
             "        try:\n"
             "            return json.load(open(name))\n"
             "        except ValueError:\n"
             "            time.sleep(0.05)\n"
             "    sys.exit(name)\n"
             "for name in sys.argv[1:]:\n"
             "    found = read(name)\n"
             "    assert found[\"kind\"] == \"watch\" and found[\"stalls\"] == [] and \"totals\" "
             "in found\n"
             "assert [t[\"name\"] for t in found[\"threads\"]] == [\"sleep\"], found[\"threads\"]\n"
             "' $DIR/a $DIR/b $DIR/c");
}

TEST(run_json_reports_a_failed_write)
{
    struct test_run run = shell("\"$SONDE\" run --quiet --json /dev/full -- true");
    CHECK_EQ(run.status, 0); /* that of the program */
    check_one_line(run.err, "sonde run: /dev/full: the report could not be written: ");
    test_run_done(&run);
    run = shell("\"$SONDE\" run --quiet --json $DIR/no/file -- true");
    CHECK_EQ(run.status, 125);
    check_one_line(run.err, "the report cannot be written: ");
    test_run_done(&run);
}
