// SPDX-License-Identifier: Apache-2.0
/* Symbols: a stripped program's report is named and grouped when its debug file comes, and the file
 * is given back as debuginfod gives it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "darwin.h"

/* What scripts of this file begin with. A program, stripped, and its debug file; its report without
 * names; `up`: upload a file, and print the status and what was stored. */
#define MAKE                                                                                       \
    "export XDG_CACHE_HOME=$PWD/kept; mkdir -p named kept; cp $LOOP named/prog; "                  \
    "objcopy --only-keep-debug named/prog prog.debug; strip -o prog named/prog; "                  \
    "ID=$(readelf -n prog | sed -n 's/.*Build ID: //p'); "                                         \
    "run() { stalled $2 -- $PWD/$1 20 sleep:300 idle:10; }; "                                      \
    "up() { curl -s -m 60 -o answer -w '%{http_code} ' -H \"Authorization: Bearer $ADMIN\" "       \
    "--data-binary @$1 \"$URL/api/symbols${2:-}\"; "                                               \
    "python3 -c 'import json; print(*[f[\"stored\"] for f in json.load(open(\"answer\")).get("     \
    "\"files\", [])])'; }; left() { python3 -c 'import json; print(*json.load(open(\"answer\"))"   \
    ".get(\"left_out\", []), sep=\"\\n\")'; }; "

static void check_script(const struct collector_run *run, const char *script, const char *expected)
{
    char *out = collector_script(run, script);
    CHECK_STR(out, expected);
    free(out);
}

/* The title and the count of each group, once there is one with this word; at most 30 s. */
static void check_groups(const struct collector_run *run, const char *word, const char *expected)
{
    char script[1024];
    snprintf(script, sizeof script,
             "i=0; while ! get /api/projects/default/groups >groups || ! grep -q '%s' groups; do "
             "i=$((i + 1)); [ $i -lt 300 ] || break; sleep 0.1; done; "
             "python3 -c 'import json; [print(g[\"count\"], g[\"title\"]) for g in "
             "json.load(open(\"groups\"))[\"groups\"]]'",
             word);
    check_script(run, script, expected);
}

TEST_TIMEOUT(report_gets_names_when_its_symbols_come, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 MAKE "run prog bare.sonde; run named/prog named.sonde; "
                      "$SONDE show --json bare.sonde | grep -c stall_sleep; "
                      "post -H \"Authorization: Bearer $INGEST\" --data-binary @bare.sonde",
                 "0\n201\n");
    collector_settle(&run);
    check_script(&run,
                 "ID=$(readelf -n prog | sed -n 's/.*Build ID: //p'); "
                 "get /api/projects/default/symbols/waiting | grep -c \"$ID\"; "
                 "get /api/projects/default/groups | grep -c stall_sleep || true",
                 "1\n0\n");
    check_script(&run, MAKE "up prog.debug; up prog.debug", "201 new\n201 known\n");
    check_groups(&run, "stall_sleep", "1 stall_sleep, blocked in sleep\n");
    /* its cause is that of a report which had the names from the start; one that comes now is in
     * the same group at once */
    check_script(&run,
                 MAKE
                 "get /api/projects/default/symbols/waiting | grep -c \"$ID\" || true; "
                 "CAUSE=$($SONDE show --json named.sonde | sed -n 's/.*\"fingerprint\": "
                 "\"\\(.*\\)\",/\\1/p' | head -1); grep -c \"$CAUSE\" groups; run prog more.sonde; "
                 "post -H \"Authorization: Bearer $INGEST\" --data-binary @more.sonde",
                 "0\n1\n201\n");
    collector_settle(&run);
    check_groups(&run, "stall_sleep", "2 stall_sleep, blocked in sleep\n");
    collector_stop(&run);
}

/* A Breakpad symbol file, with the whole build-id and with its first 16 bytes only, does what a
 * debug file does: a report that waits is named when it comes, a later one at once, and the cause
 * is that of a report that had the names from the start. how: for breakpad.py; digits: of the
 * build-id that the index has. */
static void name_by_breakpad(const char *how, unsigned digits)
{
    struct collector_run run = collector_start(NULL);
    char script[2048];
    snprintf(script, sizeof script, "HOW=%s; %s", how,
             MAKE
             "run prog bare.sonde; run named/prog named.sonde; python3 "
             "$CI/../../../tests/integration/symindex/breakpad.py make named/prog $HOW >prog.sym; "
             "post -H \"Authorization: Bearer $INGEST\" --data-binary @bare.sonde");
    check_script(&run, script, "201\n");
    collector_settle(&run);
    check_script(&run, MAKE "up prog.sym \"?id=$ID\"; up prog.sym", "201 new\n201 known\n");
    check_groups(&run, "stall_sleep", "1 stall_sleep, blocked in sleep\n");
    snprintf(script, sizeof script, "DIGITS=%u; %s", digits,
             MAKE "get /api/projects/default/symbols/waiting | grep -c \"$ID\" || true; "
                  "ls data/symbols/0 | sed \"s/^$(echo $ID | cut -c1-$DIGITS).sndidx/ID/\"; "
                  "curl -s -H \"Authorization: Bearer $ADMIN\" -d $ID $URL/api/symbols/lacking | "
                  "grep -c $ID || true; "
                  "CAUSE=$($SONDE show --json named.sonde | sed -n 's/.*\"fingerprint\": "
                  "\"\\(.*\\)\",/\\1/p' | head -1); grep -c \"$CAUSE\" groups; "
                  "run prog more.sonde; "
                  "post -H \"Authorization: Bearer $INGEST\" --data-binary @more.sonde");
    check_script(&run, script, "0\nID\n0\n1\n201\n");
    collector_settle(&run);
    check_groups(&run, "stall_sleep", "2 stall_sleep, blocked in sleep\n");
    collector_stop(&run);
}

TEST_TIMEOUT(report_gets_names_of_a_breakpad_file, 120)
{
    name_by_breakpad("", 40);
}

TEST_TIMEOUT(report_gets_names_of_a_breakpad_file_with_a_short_id, 120)
{
    name_by_breakpad("short", 32);
}

/* Symbols that were there before a restart name what comes after it; and a report that waits when
 * the collector is killed is named after it. */
TEST_TIMEOUT(symbols_survive_a_restart, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 MAKE "up prog.debug; run prog bare.sonde; ls data/symbols/0 | sed \"s/$ID/ID/\"",
                 "201 new\nID.debug\nID.sndidx\n");
    collector_stop(&run);
    collector_again(&run);
    check_script(&run, "post -H \"Authorization: Bearer $INGEST\" --data-binary @bare.sonde",
                 "201\n");
    collector_settle(&run);
    check_groups(&run, "stall_sleep", "1 stall_sleep, blocked in sleep\n");
    collector_stop(&run);
}

/* gdb fetches the debug file, and finds what llvm-symbolizer finds in the file itself. */
TEST_TIMEOUT(debug_file_is_given_to_gdb, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 MAKE "up prog.debug; get /buildid/$ID/debuginfo | cmp - prog.debug && echo equal; "
                      "curl -s -o answer -w '%{http_code}\\n' $URL/buildid/$ID/debuginfo; "
                      "get /buildid/00$ID/debuginfo | grep -o 'no debug file'; "
                      "get /buildid/../debuginfo | grep -c '{'",
                 "201 new\nequal\n401\nno debug file\n1\n");
    check_script(
        &run,
        MAKE
        "A=$(nm named/prog | sed -n 's/ t stall_sleep$//p'); "
        "DEBUGINFOD_URLS=http://x:$ADMIN@${URL#http://} DEBUGINFOD_CACHE_PATH=$PWD/fetched "
        "gdb -nx -batch -iex 'set debuginfod enabled on' -ex \"info line *0x$A\" prog 2>/dev/null "
        "| "
        "sed -n 's/^Line \\([0-9]*\\) of \".*\\/\\([^\"]*\\)\".* <\\([a-z_]*\\)> and.*/\\1 \\2 "
        "\\3/p' >gdb; "
        "llvm-symbolizer-19 --obj=prog.debug 0x$A | sed -n '2s/.*\\/\\(.*\\):\\(.*\\):.*/\\2 "
        "\\1/p' >llvm; cut -d' ' -f1,2 gdb | cmp - llvm && cut -d' ' -f2,3 gdb",
        "loop.c stall_sleep\n");
    collector_stop(&run);
}

TEST_TIMEOUT(files_that_are_no_symbols_are_refused, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        MAKE
        "echo text >text; : >empty; head -c 3000 prog.debug >cut; "
        "objcopy --remove-section=.note.gnu.build-id prog.debug noid; "
        "objcopy --strip-all prog bare; "
        "for f in text empty cut noid; do up $f | cut -d' ' -f1; "
        "left; done; "
        "up prog.debug '?id=0011' | cut -d' ' -f1; grep -o 'its build-id is not[^\"]*' answer; "
        "up prog.debug '?id=x' | cut -d' ' -f1; ls data/symbols/0; "
        "up prog.debug \"?id=$ID\"",
        "422\nnot a symbol file: an ELF, a Mach-O, a Breakpad .sym, an index of sonde, or a zip of "
        "such files is "
        "expected\n"
        "400\n\n422\nneither debug information nor symbols of code\n"
        "422\nit has no build-id or UUID, so no report can refer to it\n"
        "422\nits build-id is not the one that was claimed\n400\n201 new\n");
    collector_stop(&run);
}

/* A library of a usual size, as it is installed, and a zip that has it twice. */
TEST_TIMEOUT(installed_library_is_read, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 MAKE "cp \"$(ldd $COLLECTOR | sed -n 's/.*=> \\(.*libsqlite3[^ ]*\\) .*/\\1/p')\" "
                      "one; cp one two; zip -q both.zip one two; up one; left; up both.zip; left",
                 "201 new\n\n201 known known\n\n");
    collector_stop(&run);
}

/* Each route of symbols x {no key, a wrong one, ingest, read, another project's write, revoked}. A
 * project's symbols are for it alone. */
TEST_TIMEOUT(symbols_of_a_project_are_its_own, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        MAKE "$COLLECTOR project --data data add other >/dev/null; "
             "READ=$($COLLECTOR key --data data add --project default --role read); "
             "OWN=$($COLLECTOR key --data data add --project default --role write); "
             "OTHER=$($COLLECTOR key --data data add --project other --role write); "
             "GONE=$($COLLECTOR key --data data add --role write); "
             "$COLLECTOR key --data data revoke $($COLLECTOR key --data data list | tail -1 | "
             "cut -d' ' -f1); "
             "try() { for key in '' snt_wrong $INGEST $READ $OTHER $GONE; do curl -s -o answer -w "
             "'%{http_code} ' -H \"Authorization: Bearer $key\" \"$@\"; done; echo; }; "
             "ADMIN=$OWN; up prog.debug; echo text >text; "
             "try --data-binary @text $URL/api/symbols; "
             "try -d $ID $URL/api/symbols/lacking; try $URL/buildid/$ID/debuginfo; "
             "try $URL/api/projects/default/symbols/waiting; "
             "for key in $OWN $OTHER; do curl -s -H \"Authorization: Bearer $key\" -d $ID "
             "$URL/api/symbols/lacking | grep -c $ID || true; done; "
             "curl -s -o answer -w '%{http_code}\\n' -H 'Origin: http://evil.example' -H "
             "\"Authorization: Bearer $OWN\" --data-binary @prog.debug $URL/api/symbols",
        "201 new\n"
        "401 401 403 403 422 401 \n"
        "401 401 403 200 200 401 \n"
        "401 401 403 200 404 401 \n"
        "401 401 403 200 404 401 \n"
        "0\n1\n403\n");
    collector_stop(&run);
}

/* `sonde upload --symbols` sends Breakpad files once. */
TEST_TIMEOUT(client_sends_breakpad_files, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(&run,
                 MAKE
                 "mkdir -p build; for how in short ''; do python3 "
                 "$CI/../../../tests/integration/symindex/breakpad.py make named/prog $how "
                 ">build/prog$how.sym; done; echo 'MODULE Linux' >build/other.sym; "
                 "printf %s $ADMIN >key; for i in 1 2; do $SONDE upload --to $URL --key-file key "
                 "--symbols build 2>&1 | sort | sed \"s|$URL|URL|\"; done; ls data/symbols/0 | "
                 "wc -l",
                 "build/prog.sym  stored\nbuild/progshort.sym  stored\n"
                 "2 files: the collector has the symbols\n2\n");
    collector_stop(&run);
}

/* A dSYM bundle in a zip: its index names what llvm-symbolizer names. Beside it are what a zip of a
 * bundle has, a name that leads out, and an archive in the archive. */
TEST_TIMEOUT(bundle_in_a_zip_is_read, 120)
{
    struct collector_run run = collector_start(NULL);
    darwin_build("tests/integration/macho/program.m", "arm64-apple-macos13", "-O1 -g", "",
                 "program");
    darwin_shell("dsymutil-19 program && zip -qr inner.zip program && zip -qr bundle.zip "
                 "program.dSYM inner.zip && mkdir -p deep/deeper && cd deep/deeper && zip -q "
                 "../../bundle.zip ../../program && cp ../../bundle.zip ../../cut.zip && truncate "
                 "-s -100 ../../cut.zip");
    check_script(
        &run,
        MAKE "up bundle.zip; left; up cut.zip; left; "
             "UUID=$(llvm-dwarfdump-19 --uuid program | cut -d' ' -f2 | tr -d - | tr A-F a-f); "
             "ls data/symbols/0 | sed \"s/$UUID/UUID/\"; "
             "A=$(llvm-nm-19 program | sed -n 's/ t _helper$//p'); "
             "llvm-symbolizer-19 --obj=program.dSYM/Contents/Resources/DWARF/program 0x$A | "
             "sed -n '2s/.*\\/\\(.*:.*\\):.*/\\1/p' >llvm; echo 0x$A | $SONDE symbolize --image "
             "data/symbols/0/$UUID.sndidx | grep -c \"$(cat llvm)\"",
        "201 new known\ninner.zip: an archive in an archive is not read\n"
        "422 \nthe archive's directory is damaged\nUUID.sndidx\n1\n");
    collector_stop(&run);
}

/* Only what the collector lacks is sent; what has no symbols is no failure in a folder, but is one
 * if it was named. */
TEST_TIMEOUT(client_sends_what_is_lacking, 120)
{
    struct collector_run run = collector_start(NULL);
    check_script(
        &run,
        MAKE "mkdir -p build/sub; cp prog.debug build/sub; cp named/prog build; echo text "
             ">build/text; strip -o build/other --strip-all $SONDE; printf %s $ADMIN >key; "
             "send() { $SONDE upload --to $URL --key-file key --symbols \"$@\" >sent 2>&1; "
             "echo \"exit $?\" >>sent; sed \"s|$URL|URL|\" sent; }; send build | sort; send build; "
             "send build/text nothing; "
             "send build/other; printf %s $INGEST >key; send build; "
             "SONDE_UPLOAD_TO=$URL SONDE_UPLOAD_KEY=$ADMIN PATH=$(dirname $SONDE):$PATH "
             "sh $CI/upload-symbols.sh build/sub; sh $CI/upload-symbols.sh build",
        "build/other  neither debug information nor symbols of code\n"
        "build/prog  stored\nbuild/sub/prog.debug  stored\nexit 0\n"
        "build/other  neither debug information nor symbols of code\n"
        "2 files: the collector has the symbols\nexit 0\n"
        "sonde upload: build/text: it has no build-id or UUID, so no report can refer to it\n"
        "sonde upload: nothing: there is no such file\nexit 6\n"
        "sonde upload: build/other: not stored: neither debug information nor symbols of code\n"
        "exit 1\n"
        "sonde upload: URL: which symbols it lacks is not known: the key may not do this\nexit 1\n"
        "1 file: the collector has the symbols\n"
        "upload-symbols: no SONDE_UPLOAD_TO: nothing is sent\n");
    collector_stop(&run);
}
