// SPDX-License-Identifier: Apache-2.0
/* sonde index: its files can be queried, and errors in its input are reported. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

static const char source[] = "static inline int inner(volatile int *p) {\n"
                             "    return *p;\n"
                             "}\n"
                             "int outer(volatile int *p);\n"
                             "int outer(volatile int *p) {\n"
                             "    return inner(p) + 2;\n"
                             "}\n";

static void build(void)
{
    char path[600];
    snprintf(path, sizeof path, "%s/made.c", test_folder());
    test_write_file(path, source, sizeof source - 1);
    struct test_run run = shell("gcc -O2 -g -shared -fPIC -Wl,--build-id=0x0123456789abcdef0123 "
                                "-o $DIR/made.so $DIR/made.c");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

TEST(index_of_a_library_names_its_addresses)
{
    build();
    struct test_run run = shell("mkdir $DIR/to && $SONDE index -o $DIR/to $DIR/made.so");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    CHECK_CONTAINS(run.out, "/to/0123456789abcdef0123.sndidx");
    test_run_done(&run);
    run = shell("rm $DIR/made.c; at=$(nm $DIR/made.so | sed -n 's/ T outer//p'); rm $DIR/made.so; "
                "$SONDE symbolize -s $DIR/to 0123456789abcdef0123+0x$at");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "\n  inner  ");
    CHECK_CONTAINS(run.out, "made.c:2  [inlined]\n  outer  ");
    CHECK_CONTAINS(run.out, "made.c:6\n");
    test_run_done(&run);
    run = shell("$SONDE index --info $DIR/to/*");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "build-id   0123456789abcdef0123\n");
    CHECK_CONTAINS(run.out, "units      1, 0 of them with errors\n");
    test_run_done(&run);
}

TEST(index_of_a_stripped_file_uses_its_debug_file)
{
    build();
    struct test_run run = shell("cd $DIR && objcopy --only-keep-debug made.so made.debug && "
                                "objcopy --strip-all --add-gnu-debuglink=made.debug made.so && "
                                "$SONDE index made.so && ls");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "1 units, from the separate debug file\n");
    CHECK_CONTAINS(run.out, "0123456789abcdef0123.sndidx\n");
    CHECK(strstr(run.out, ".part") == NULL);
    test_run_done(&run);
}

TEST(index_says_what_is_wrong)
{
    static const struct {
        const char *line, *says;
        int status;
    } cases[] = {
        {"$SONDE index $DIR/none", "No such file", 3},
        {"$SONDE index $DIR/made.c", "not an ELF", 6},
        {"$SONDE index --info $DIR/made.so", "not an index file of sonde", 6},
        {"$SONDE index -o $DIR/made.so/none $DIR/made.so", "Not a directory", 3},
        {"cd $DIR && gcc -g -gz=zlib -shared -o z.so made.c && at=$(readelf -SW z.so | "
         "sed -n 's/.*debug_info *PROGBITS *[0-9a-f]* \\([0-9a-f]*\\).*/\\1/p') && "
         "printf '\\377\\377' | dd of=z.so bs=1 seek=$((0x$at + 30)) conv=notrunc 2>x && "
         "mkdir -p o && $SONDE index -o o z.so",
         "have errors", 5},
        {"cd $DIR && $SONDE index made.so >x && $SONDE index *.sndidx", "already an index", 6},
        {"cd $DIR && $SONDE index made.so >x && head -c 200 *.sndidx >cut && "
         "$SONDE index --info cut",
         "damaged", 5},
        {"cd $DIR && $SONDE index made.so >x && printf X | dd of=$(echo *.sndidx) bs=1 seek=700 "
         "conv=notrunc 2>x && $SONDE index --info *.sndidx",
         "checksum", 5},
        {"cd $DIR && gcc -g -gsplit-dwarf -shared -fPIC -o s.so made.c && rm *.dwo && "
         "$SONDE index s.so",
         "1 of 1 units have errors", 5},
    };
    build();
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_run run = shell(cases[i].line);
        if (run.status != cases[i].status) {
            FAIL("%s: ended with %d: %s", cases[i].line, run.status, run.err);
        }
        check_one_line(run.err, cases[i].says);
        test_run_done(&run);
    }
}

TEST(index_json_is_json)
{
    build();
    struct test_run run = shell("cd $DIR && $SONDE index --json made.so none made.c 2>x | "
                                "python3 -c 'import json,sys; a=json.load(sys.stdin); "
                                "print(len(a), a[0][\"build_id\"], a[0][\"bad_units\"])'; "
                                "$SONDE index --info --json *.sndidx | python3 -m json.tool >x");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "1 0123456789abcdef0123 []\n");
    test_run_done(&run);
}
