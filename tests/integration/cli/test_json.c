// SPDX-License-Identifier: Apache-2.0
/* JSON with names from outside: files and processes may have any name. */
#include "start.h"
#include "test.h"

/* a"b\c, a control byte, a byte that is not UTF-8 */
#define HOSTILE "$(printf 'a\"b\\\\c\\001\\377')"
#define ESCAPED "a\\\"b\\\\c\\u0001\\ufffd"

TEST(index_escapes_the_names_of_files)
{
    struct test_run run =
        shell("cd $DIR && echo 'int f(void) { return 1; }' >f.c && "
              "gcc -g -shared -fPIC -Wl,--build-id=none -o \"" HOSTILE "\" f.c && "
              "$SONDE index --json --output \"" HOSTILE ".d\" \"" HOSTILE "\" f.c");
    check_json(run.out);
    CHECK_CONTAINS(run.out, "[\n  {\"file\": \"" ESCAPED "\", \"index\": \"" ESCAPED ".d/" ESCAPED
                            ".sndidx\", \"build_id\": \"\", ");
    CHECK_CONTAINS(run.out, ", \"bad_units\": []}\n]\n");
    CHECK_EQ(run.status, 6); /* of the source, which is left out */
    test_run_done(&run);
    run = shell("cd $DIR && $SONDE index --info --json f.c");
    CHECK_STR(run.out, "[\n]\n");
    test_run_done(&run);
    run = shell("cd $DIR && $SONDE index --info --json \"" HOSTILE ".d\"/* \"" HOSTILE ".d\"/*");
    check_json(run.out);
    CHECK_CONTAINS(run.out, "},\n  {\"file\": \"" ESCAPED ".d/" ESCAPED ".sndidx\", ");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

TEST(doctor_escapes_the_names_of_processes)
{
    struct test_run run = shell("cd $DIR && cp /bin/sleep \"" HOSTILE "\" && "
                                "{ \"./" HOSTILE "\" 100 & } && sleep 0.1 && "
                                "$SONDE doctor --json $!; kill $!");
    check_json(run.out);
    CHECK_CONTAINS(run.out, "\"name\": \"process\", \"state\": \"ok\"");
    CHECK_CONTAINS(run.out, ESCAPED);
    test_run_done(&run);
}
