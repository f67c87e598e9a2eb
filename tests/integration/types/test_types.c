// SPDX-License-Identifier: Apache-2.0
/* `sonde types` against gdb: sizes, places and types of all members, in all forms of debug
 * information (layouts.py does the comparison); and its output and errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "start.h"
#include "test.h"

#define C_NAMES                                                                                    \
    "struct bits|struct packed|struct within|struct shapes|struct aligned|struct flexible|"        \
    "struct empty_end|union any|nameless_again|struct list|struct elsewhere|struct twice"
#define CXX_NAMES                                                                                  \
    "zoo::base|zoo::second|zoo::both|zoo::both::inner|zoo::both::whole|zoo::left|zoo::right|"      \
    "zoo::diamond|zoo::list<char, 5>|zoo::list<char, 5>::node|zoo::list<zoo::both::inner*, 3>|"    \
    "zoo::(anonymous namespace)::hidden"

/* Run a line of shell in the test's folder: $S the sources of this folder. */
static void sh(const char *script)
{
    char command[4096];
    snprintf(command, sizeof command, "S=%s/tests/integration/types; set -e; cd \"$DIR\"; %s",
             test_source_dir(), script);
    struct test_run run = shell(command);
    if (run.status != 0) {
        FAIL("%s: %s%s", command, run.err, run.out);
    }
    test_run_done(&run);
}

/* gdb knows at least `count` types in each file, and sonde gives the same for all. */
static void compare(const char *files, const char *names, unsigned count)
{
    static char environment[3][32768];
    char script[600];
    unsigned types = 0, members = 0, wrong = 1;
    snprintf(environment[0], sizeof environment[0], "SONDE=%s", sonde_program());
    snprintf(environment[1], sizeof environment[1], "FILES=%s", files);
    snprintf(environment[2], sizeof environment[2], "NAMES=%s", names);
    snprintf(script, sizeof script, "%s/tests/integration/types/layouts.py", test_source_dir());
    const char *const env[] = {environment[0], environment[1], environment[2],
                               "DEBUGINFOD_URLS=", NULL};
    const char *const argv[] = {"gdb", "-nx", "-batch", "-x", script, NULL};
    struct test_run run = test_run(argv, env, NULL, 890);
    const char *last = strrchr(run.out, '\n');
    while (last != NULL && last > run.out && last[-1] != '\n') {
        last--;
    }
    if (last == NULL ||
        sscanf(last, "%u types, %u members, %u differences", &types, &members, &wrong) != 3 ||
        wrong != 0 || types < count) {
        FAIL("%s: %s%s", files, run.out, run.err);
    }
    test_run_done(&run);
}

/* A large program of Debian, as ./dev setup unpacked it: some hundred of its classes with
 * functions. */
static void compare_corpus(const char *name, unsigned count)
{
    char line[4096], path[1024];
    if (!test_long()) {
        SKIP("large programs only with --long");
    }
    const char *cache = getenv("SONDE_CACHE");
    const char *home = getenv("HOME");
    snprintf(path, sizeof path, "%s%s/inflated/%s.debug", cache != NULL ? cache : home,
             cache != NULL ? "" : "/.cache/sonde", name);
    snprintf(
        line, sizeof line,
        "[ -e %s ] || exit 77; readelf -sW %s | awk '$4 == \"FUNC\" {print $8}' | "
        "grep '^_ZNK\\?[0-9]' | awk 'NR %% 9 == 0' | c++filt | "
        "sed -n 's/^\\([A-Za-z_0-9]*\\(::[A-Z][A-Za-z_0-9]*\\)*\\)::[~a-z_A-Z0-9]*(.*/\\1/p' | "
        "sort -u | awk 'NR %% 5 == 0' | head -250 | paste -sd'|' | tr -d '\\n'",
        path, path);
    struct test_run run = shell(line);
    if (run.status == 77) {
        SKIP("no %s (./dev bench symbols unpacks it)", path);
    }
    compare(path, run.out, count);
    test_run_done(&run);
}

static void in_folder(char *text, size_t size, const char *names)
{
    size_t at = 0;
    text[0] = '\0';
    while (*names != '\0') {
        size_t length = strcspn(names, ":");
        at += (size_t)snprintf(text + at, size - at, "%s%s/%.*s", at > 0 ? ":" : "", test_folder(),
                               (int)length, names);
        names += length + (names[length] == ':');
    }
}

/* These tests spend their time in compilers and gdb; the tests below read the same input in
 * sonde. */
static void skip_if_sanitized(void)
{
#ifdef SONDE_SANITIZED
    SKIP("compared in the builds without sanitizers");
#endif
}

TEST_TIMEOUT(types_of_c_are_those_of_gdb, 280)
{
    char files[2048];
    skip_if_sanitized();
    sh("cc() { n=$1; shift; \"$@\" -g -o $n \"$S\"/zoo.c \"$S\"/zoo_more.c -w; };"
       "cc gcc5 gcc -gdwarf-5 & cc gcc4 gcc -gdwarf-4 -fdebug-types-section &"
       "cc gcc2 gcc -gdwarf-2 -gstrict-dwarf & cc clang5 clang-19 -gdwarf-5 &"
       "cc clang4 clang-19 -gdwarf-4 & cc gcc3 gcc -gdwarf-3 -O2 & wait");
    in_folder(files, sizeof files, "gcc5:gcc4:gcc2:clang5:clang4:gcc3");
    compare(files, C_NAMES, 6 * 12);
}

TEST_TIMEOUT(types_of_cxx_are_those_of_gdb, 280)
{
    char files[2048];
    skip_if_sanitized();
    sh("cc() { n=$1; shift; \"$@\" -g -std=c++17 -o $n \"$S\"/zoo.cc -w; };"
       "cc gcc5 g++ -gdwarf-5 & cc gcc4 g++ -gdwarf-4 -O2 &"
       "cc types5 g++ -gdwarf-5 -fdebug-types-section & cc clang5 clang++-19 -gdwarf-5 &"
       "cc clang4 clang++-19 -gdwarf-4 -fdebug-types-section & wait");
    in_folder(files, sizeof files, "gcc5:gcc4:types5:clang5:clang4");
    compare(files, CXX_NAMES, 54);
}

TEST_TIMEOUT(types_of_libjvm_are_those_of_gdb, 900)
{
    compare_corpus("libjvm.so", 150);
}

TEST_TIMEOUT(types_of_ceph_osd_are_those_of_gdb, 900)
{
    compare_corpus("ceph-osd", 150);
}

/* --- forms --- */

/* sonde's output for these types in a file of the test's folder, except where they are declared;
 * the caller frees. */
static char *said(const char *file, const char *names)
{
    char line[1024];
    snprintf(line, sizeof line,
             "cd \"$DIR\"; \"$SONDE\" types --json %s %s >said && "
             "sed 's|, \"file\": [^,]*, \"line\": [0-9]*||' said",
             file, names);
    struct test_run run = shell(line);
    if (run.status != 0) {
        FAIL("%s: %s", line, run.err);
    }
    char *text = strdup(run.out);
    test_run_done(&run);
    return text;
}

static void must_say(const char *file, const char *names, const char *expected)
{
    char *text = said(file, names);
    if (strcmp(text, expected) != 0) {
        FAIL("%s: %s\nexpected: %s", file, text, expected);
    }
    free(text);
}

/* The same program gives the same output whole, split, packed, compressed and with dwz. */
TEST_TIMEOUT(types_in_all_forms, 280)
{
    static const char names[] = "'struct bits' 'struct within' 'struct shapes' 'nameless'";
    sh("cc() { n=$1; shift; mkdir $n.d; cp \"$S\"/zoo* $n.d; cd $n.d;"
       "  \"$@\" -g -o ../$n zoo.c zoo_more.c -w; };"
       "(cc whole gcc -gdwarf-5) & (cc split gcc -gdwarf-5 -gsplit-dwarf) &"
       "(cc whole4 gcc -gdwarf-4) & (cc split4 gcc -gdwarf-4 -gsplit-dwarf) & (cc clang clang-19 "
       "-gdwarf-5 -gsplit-dwarf) &"
       "(cc clang4 clang-19 -gdwarf-4 -gsplit-dwarf) & wait;"
       "objcopy --compress-debug-sections=zlib whole zlib;"
       "cp whole one; cp whole two; dwz -m common one two; cp whole alone; dwz alone");
    char *text = said("whole", names);
    CHECK_CONTAINS(text, "\"name\": \"to_array\", \"type\": \"int (*)[7]\"");
    must_say("split", names, text);
    must_say("zlib", names, text);
    must_say("one", names, text);
    must_say("alone", names, text);
    free(text);
    text = said("whole4", names);
    must_say("split4", names, text);
    free(text);
    text = said("clang", names);
    CHECK_CONTAINS(text, "\"name\": \"to_array\", \"type\": \"int (*)[7]\"");
    char *text4 = said("clang4", names);
    sh("mkdir p; cp clang clang4 p; llvm-dwp-19 -e clang -o p/clang.dwp;"
       "llvm-dwp-19 -e clang4 -o p/clang4.dwp; rm -r clang.d clang4.d");
    must_say("p/clang", names, text);
    must_say("p/clang4", names, text4);
    free(text);
    free(text4);
}

TEST_TIMEOUT(type_units_in_all_forms, 280)
{
    static const char names[] = "zoo::both zoo::diamond zoo::both::inner 'zoo::list<char, 5>'";
    sh("cc() { n=$1; shift; mkdir $n.d; cp \"$S\"/zoo* $n.d; cd $n.d;"
       "  \"$@\" -std=c++17 -g -o ../$n zoo.cc -w; };"
       "(cc whole clang++-19 -gdwarf-5) & (cc split clang++-19 -gdwarf-5 -gsplit-dwarf "
       "-fdebug-types-section) & (cc split4 clang++-19 -gdwarf-4 -gsplit-dwarf "
       "-fdebug-types-section) & (cc gwhole g++ -gdwarf-5) &"
       "(cc gsplit g++ -gdwarf-5 -gsplit-dwarf -fdebug-types-section) &"
       "(cc gsplit4 g++ -gdwarf-4 -gsplit-dwarf -fdebug-types-section) & wait; mkdir p; cp split "
       "split4 p;"
       "llvm-dwp-19 -e split -o p/split.dwp; llvm-dwp-19 -e split4 -o p/split4.dwp");
    char *text = said("whole", names);
    must_say("split", names, text);
    must_say("split4", names, text);
    sh("rm -r split.d split4.d");
    must_say("p/split", names, text);
    must_say("p/split4", names, text);
    free(text);
    /* gcc's .dwo files have a section for each type unit, all of one name */
    static const char gcc_names[] = "zoo::both zoo::diamond 'zoo::list<zoo::both::inner *, 3ul>'";
    text = said("gwhole", gcc_names);
    must_say("gsplit", gcc_names, text);
    must_say("gsplit4", gcc_names, text);
    sh("\"$SONDE\" index -o p gsplit");
    free(text);
}

TEST_TIMEOUT(types_of_a_dsym_are_as_the_compiler_laid_them_out, 280)
{
    static const char *const triples[] = {"arm64-apple-macos11", "x86_64-apple-macos11"};
    for (unsigned i = 0; i < 2; i++) {
        char command[2048];
        snprintf(command, sizeof command,
                 "\"$SONDE\" >/dev/null 2>&1; cd \"$DIR\"; S=%s/tests/integration/types; "
                 "clang-19 -target %s -g -w -ffreestanding -c \"$S\"/zoo.c -o zoo.o "
                 "-Xclang -fdump-record-layouts-complete >dump; "
                 "ld64.lld-19 -arch %.*s -platform_version macos 11 11 -dylib -undefined "
                 "dynamic_lookup -o zoo zoo.o 2>&1 && rm -rf zoo.dSYM && dsymutil-19 zoo && "
                 "python3 \"$S\"/records.py \"$SONDE\" zoo dump",
                 test_source_dir(), triples[i], (int)strcspn(triples[i], "-"), triples[i]);
        struct test_run run = shell(command);
        if (run.status != 0 || strstr(run.out, " 0 missing, 0 differences") == NULL) {
            FAIL("%s: %s%s", triples[i], run.out, run.err);
        }
        test_run_done(&run);
    }
}

/* --- what is printed --- */

static void must_print(const char *line, const char *expected)
{
    char command[2048];
    snprintf(command, sizeof command, "cd \"$DIR\"; %s", line);
    struct test_run run = shell(command);
    CHECK_STR(run.err, "");
    CHECK_STR(run.out, expected);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

TEST(types_are_printed_as_c)
{
    sh("clang-19 -gdwarf-5 -w -o zoo \"$S\"/zoo.c \"$S\"/zoo_more.c");
    must_print("\"$SONDE\" types zoo 'struct within' 'enum colour' nameless_enum nameless_again",
               "struct within {                                    /* zoo.c:34 */\n"
               "    char first;                                    /*     0     1 */\n"
               "    /* hole: 3 bytes at 1 */\n"
               "    union {\n"
               "        int whole;                                 /*     4     4 */\n"
               "        struct {\n"
               "            short low;                             /*     4     2 */\n"
               "            short high;                            /*     6     2 */\n"
               "        };                                         /*     4     4 */\n"
               "        struct {\n"
               "            char bytes[4];                         /*     4     4 */\n"
               "        } named;                                   /*     4     4 */\n"
               "    };                                             /*     4     4 */\n"
               "    struct bits array[3];                          /*     8    96 */\n"
               "    char last;                                     /*   104     1 */\n"
               "};                                                 /* size: 112, members: 4, "
               "holes: 1 (3 bytes), padding: 7 */\n"
               "\n"
               "enum colour {                                      /* zoo.c:10 */\n"
               "    RED = -3,\n"
               "    GREEN = -2,\n"
               "    BLUE = 70000,\n"
               "};                                                 /* size: 4 */\n"
               "\n"
               "typedef enum {                                     /* zoo.c:11 */\n"
               "    SMALL = 0,\n"
               "    LARGE = 1,\n"
               "} nameless_enum;                                   /* size: 4 */\n"
               "\n"
               "typedef nameless nameless_again;                   /* size: 48, zoo.c:100 */\n"
               "struct {                                           /* zoo.c:96 */\n"
               "    union any any;                                 /*     0    40 */\n"
               "    struct list *next;                             /*    40     8 */\n"
               "};                                                 /* size: 48, members: 2 */\n");
    must_print("\"$SONDE\" types --expand zoo 'struct aligned' nameless | sed 's/ *$//'",
               "struct aligned {                                   /* zoo.c:72 */\n"
               "    vector v;                                      /*     0    16 */\n"
               "    char c;                                        /*    16     1 */\n"
               "    /* hole: 15 bytes at 17 */\n"
               "    int far;                                       /*    32     4 */\n"
               "};                                                 /* size: 64, members: 3, "
               "holes: 1 (15 bytes), padding: 28 */\n"
               "\n"
               "typedef struct {                                   /* zoo.c:96 */\n"
               "    union any {\n"
               "        struct bits {\n"
               "            int a:3;                               /*     0:0   3 bits */\n"
               "            unsigned int b:7;                      /*     0:3   7 bits */\n"
               "            /* hole: 22 bits at 1:2 */\n"
               "            unsigned char c:2;                     /*     4:0   2 bits */\n"
               "            _Bool d:1;                             /*     4:2   1 bit */\n"
               "            /* hole: 29 bits at 4:3 */\n"
               "            uint64_t e:40;                         /*     8:0  40 bits */\n"
               "            /* hole: 3 bytes at 13 */\n"
               "            uint64_t f:30;                         /*    16:0  30 bits */\n"
               "            /* hole: 2 bits at 19:6 */\n"
               "            short g;                               /*    20     2 */\n"
               "            /* hole: 2 bytes at 22 */\n"
               "            unsigned int h:31;                     /*    24:0  31 bits */\n"
               "            /* hole: 1 bit at 27:7 */\n"
               "            enum colour i:20;                      /*    28:0  20 bits */\n"
               "        } bits;                                    /*     0    32 */\n"
               "        double number;                             /*     0     8 */\n"
               "        char text[33];                             /*     0    33 */\n"
               "    } any;                                         /*     0    40 */\n"
               "    struct list *next;                             /*    40     8 */\n"
               "} nameless;                                        /* size: 48, members: 2 */\n");
}

TEST(functions_are_found_by_address)
{
    sh("gcc -O2 -g -w -o zoo \"$S\"/zoo.c \"$S\"/zoo_more.c;"
       "g++ -O0 -g -std=c++17 -w -o zoo++ \"$S\"/zoo.cc");
    must_print("a=$(nm zoo | sed -n 's/ T zoo_variable_length//p'); "
               "\"$SONDE\" types zoo 0x$a | sed 's/0x.* \\*/.../; s/  */ /g'",
               "int zoo_variable_length(int n, const char *const *names, ...); /* zoo.c:116, .../\n"
               " int n; /* size: 4 */\n"
               " const char *const *names; /* size: 8 */\n");
    must_print("a=$(nm zoo++ | sed -n 's/ T _ZN3zoo4base4callEi//p; s/ W _ZN3zoo4base4callEi//p');"
               "\"$SONDE\" types zoo++ 0x$a | sed 's/0x.* \\*/.../; s/  */ /g'",
               "int zoo::base::call(int n); /* zoo.cc:23, .../\n"
               " zoo::base *const this; /* size: 8, implicit */\n"
               " int n; /* size: 4 */\n");
    must_print("a=$(nm zoo++ | sed -n 's/ t _ZN3zoo5there.*//p');"
               "\"$SONDE\" types --json zoo++ 0x$a | python3 -c 'import json, sys\n"
               "f = json.load(sys.stdin)[0]\n"
               "print(f[\"declaration\"], f[\"returns\"], [p.get(\"size\") for p in "
               "f[\"parameters\"]])'",
               "int zoo::there(zoo::list<zoo::both::inner*, 3> *l, "
               "const zoo::(anonymous namespace)::hidden &h, ...) int [8, 8, None]\n");
}

/* clang describes a class with virtual functions where its first one is defined, and only declares
 * it elsewhere. */
TEST(declared_types_are_completed_by_name)
{
    sh("echo 'struct K { K(); virtual void f(); int here[5]; };' >k.h;"
       "echo '#include \"k.h\"\nK::K() {}\nvoid K::f() {}' >k.cc;"
       "echo '#include \"k.h\"\nstruct H { char c; K k; } h;' >h.cc;"
       "echo 'struct T { int a; }; struct T one; struct U { struct T *t; } u1;' >1.c;"
       "echo 'struct T { long a, b; }; struct T two;' >2.c;"
       "clang++-19 -g -shared -fPIC -o k k.cc h.cc; gcc -g -shared -o t -fPIC 1.c 2.c;"
       "clang++-19 -g -shared -fPIC -o h h.cc");
    must_print("\"$SONDE\" types k H | sed 's/  */ /g'",
               "struct H { /* h.cc:2 */\n"
               " char c; /* 0 1 */\n"
               " /* hole: 7 bytes at 1 */\n"
               " K k; /* 8 32 */\n"
               "}; /* size: 40, members: 2, holes: 1 (7 bytes) */\n");
    must_print("\"$SONDE\" types h H | sed 's/  */ /g'",
               "struct H { /* h.cc:2 */\n"
               " char c; /* 0 1 */\n"
               " /* hole: 7 bytes at 1 */\n"
               " K k; /* 8 ? */\n"
               "}; /* size: 40, members: 2, holes: 1 (7 bytes) */\n");
    must_print("\"$SONDE\" types t T | sed 's/  */ /g'", "struct T { /* 1.c:1 */\n"
                                                         " int a; /* 0 4 */\n"
                                                         "}; /* size: 4, members: 1 */\n\n"
                                                         "struct T { /* 2.c:1 */\n"
                                                         " long int a; /* 0 8 */\n"
                                                         " long int b; /* 8 8 */\n"
                                                         "}; /* size: 16, members: 2 */\n");
}

static void must_refuse(const char *arguments, int status, const char *message)
{
    char line[600];
    snprintf(line, sizeof line, "cd \"$DIR\"; \"$SONDE\" types %s", arguments);
    struct test_run run = shell(line);
    CHECK_EQ(run.status, status);
    CHECK_STR(run.out, "");
    check_one_line(run.err, message);
    test_run_done(&run);
}

TEST(types_says_what_it_cannot_do)
{
    sh("gcc -g -w -o zoo \"$S\"/zoo.c \"$S\"/zoo_more.c; strip -o stripped zoo; echo text >text");
    must_refuse("", 2, "which program");
    must_refuse("zoo", 2, "which type");
    must_refuse("zoo nonsense", 3, "no type of the name nonsense");
    must_refuse("zoo 0x7", 3, "no function");
    must_refuse("stripped 'struct bits'", 3, "no debug information, so no types: ");
    must_refuse("absent 'struct bits'", 3, "absent");
    must_refuse("text 'struct bits'", 6, "text");
}

/* --- blocks --- */

static const char captured_first[] =
    "captures of the block:                             /* size: 56 */\n"
    "    __block adder again;                           /*    32     8, variable at 40 */\n"
    "    __block int shared;                            /*    40     8, variable at 24 */\n"
    "    long total;                                    /*    48     8 */\n";
static const char captured_second[] =
    "captures of the block:                             /* size: 115 */\n"
    "    float vector __attribute__((vector_size(16))); /*    32    16 */\n"
    "    __block int shared;                            /*    48     8, variable at 24 */\n"
    "    __block struct point there;                    /*    56     8, variable at 24 */\n"
    "    __block short aligned;                         /*    64     8, variable at 32 */\n"
    "    __block adder again;                           /*    72     8, variable at 40 */\n"
    "    int (*function)(const void *, ...);            /*    80     8 */\n"
    "    const char *const *names;                      /*    88     8 */\n"
    "    struct point here;                             /*    96    16 */\n"
    "    struct {...} small;                            /*   112     3 */\n"
    "    const int limit;                               /* a constant: in the code */\n";

/* The same at each level, on ELF and in a dSYM. */
static void must_capture(const char *build)
{
    char line[2048];
    snprintf(line, sizeof line,
             "cd \"$DIR\"; S=%s/tests/integration/types; rm -rf b b.o b.dSYM; set -e; %s; "
             "\"$SONDE\" types b $(llvm-nm-19 b | sed -n 's/ t _*captures_block_invoke.*//p' | "
             "sed 's/^/0x/')",
             test_source_dir(), build);
    struct test_run run = shell(line);
    if (run.status != 0 || strstr(run.out, captured_first) == NULL ||
        strstr(run.out, captured_second) == NULL || strstr(run.out, "(char letter);  ") == NULL ||
        strstr(run.out, "captures.c:32, ") == NULL) {
        FAIL("%s: %s%s", build, run.out, run.err);
    }
    test_run_done(&run);
}

TEST_TIMEOUT(captures_are_the_same_everywhere, 250)
{
    static const char *const levels[] = {"-O0", "-O2", "-Oz"};
    char build[600];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(build, sizeof build,
                 "clang-19 -fblocks -g %s -shared -fPIC -w -o b \"$S\"/captures.c", levels[i]);
        must_capture(build);
    }
    snprintf(build, sizeof build,
             "clang-19 -target arm64-apple-macos11 -fblocks -g -O1 -w -c -o b.o \"$S\"/captures.c; "
             "ld64.lld-19 -arch arm64 -platform_version macos 11 11 -dylib -undefined "
             "dynamic_lookup -o b b.o; dsymutil-19 b");
    must_capture(build);
}
