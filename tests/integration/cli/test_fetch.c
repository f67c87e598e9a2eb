// SPDX-License-Identifier: Apache-2.0
/* Debug files from debuginfod servers, on loopback (debug_server.py). */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "start.h"

/* A stripped program, and its debug file. */
static void make_program(void)
{
    struct test_run run =
        shell("cd $DIR && printf '#include <unistd.h>\\nstatic volatile int n;\\n"
              "static inline __attribute__((always_inline)) void inner(void)\\n{ n += pause(); }\\n"
              "__attribute__((noinline)) static void outer(void)\\n{ inner(); n++; }\\n"
              "int main(void)\\n{ outer(); return n; }\\n' >waits.c && "
              "gcc -O2 -g -Wl,--build-id -o waits waits.c && objcopy --only-keep-debug waits "
              "its.debug && "
              "nm waits | sed -n 's/ t outer//p' >at && strip waits && "
              "readelf -n waits | sed -n 's/.*Build ID: //p' >id && "
              "gcc -O2 -g -Wl,--build-id=0x1234567890123456 -o other waits.c");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

/* The output of `command` with a server of that kind: stdout, stderr, then the server's
 * requests. */
static struct test_run with_server(const char *mode, const char *file, const char *command)
{
    char line[2048];
    snprintf(line, sizeof line,
             "cd $DIR && rm -f log port && touch log && "
             "{ python3 %s/tests/integration/cli/debug_server.py %s %s log >port & } && "
             "server=$! && until [ -s port ]; do sleep 0.05; done; "
             "export DEBUGINFOD_URLS=http://127.0.0.1:$(cat port) HOME=$DIR; { %s; } 2>&1; "
             "kill $server; echo asked:; cat log",
             test_source_dir(), mode, file, command);
    return shell(line);
}

#define SYMBOLIZE "$SONDE symbolize $(cat id)+0x$(cat at)"

static void need_library(void)
{
    struct test_run run = shell("ldconfig -p | grep -q libdebuginfod.so.1 || "
                                "/sbin/ldconfig -p | grep -q libdebuginfod.so.1");
    if (run.status != 0) {
        SKIP("no libdebuginfod1");
    }
    test_run_done(&run);
}

/* The program by its path, and by its build-id alone: one request for all. gdb finds the fetched
 * file, and sonde finds it without a server. */
TEST_TIMEOUT(fetch_hit, 60)
{
    need_library();
    make_program();
    struct test_run run =
        with_server("hit", "its.debug",
                    SYMBOLIZE "; rm -r cache/sonde; $SONDE symbolize "
                              "./waits+0x$(cat at); ls cache/debuginfod_client; cat id");
    CHECK_EQ(run.status, 0);
    char *asked = strstr(run.out, "asked:\n");
    char *second = strstr(run.out, "./waits+0x");
    CHECK(asked != NULL && second != NULL);
    CHECK_CONTAINS(run.out, "waits.c:6");
    CHECK_CONTAINS(second, "waits.c:6");
    CHECK_CONTAINS(asked, "/buildid/");
    CHECK(strstr(strstr(asked, "/buildid/") + 1, "/buildid/") == NULL);
    test_run_done(&run);
    run = shell("cd $DIR && rm -r cache/sonde; unset DEBUGINFOD_URLS; " SYMBOLIZE "; gdb -nx -q "
                "-batch -ex 'info line outer' waits");
    CHECK_CONTAINS(run.out, "waits.c:6");
    test_run_done(&run);
    run =
        with_server("hit", "its.debug",
                    "rm -r cache; ./waits & pid=$!; until [ \"$(cut -d' ' -f2,3 /proc/$pid/stat)\" "
                    "= '(waits) S' ]; do sleep 0.02; done; $SONDE stacks $pid; kill $pid");
    CHECK_CONTAINS(run.out, "waits.c:4  [inlined]");
    test_run_done(&run);
}

/* No server is asked without the variable, or with --no-network. */
TEST_TIMEOUT(fetch_is_asked_for, 60)
{
    need_library();
    make_program();
    struct test_run run =
        with_server("hit", "its.debug",
                    SYMBOLIZE " --no-network; DEBUGINFOD_URLS=' ' " SYMBOLIZE
                              "; unset DEBUGINFOD_URLS; " SYMBOLIZE "; $SONDE symbolize "
                              "./waits+0x$(cat at)");
    CHECK_CONTAINS(run.out, "asked:\n");
    CHECK_STR(strstr(run.out, "asked:\n"), "asked:\n");
    CHECK(strstr(run.out, "waits.c") == NULL);
    test_run_done(&run);
}

/* A file that a server lacks is not requested again by the next image that needs it. */
TEST_TIMEOUT(fetch_absent, 60)
{
    need_library();
    make_program();
    struct test_run run = with_server("absent", "its.debug", SYMBOLIZE "; " SYMBOLIZE);
    char *asked = strstr(run.out, "asked:\n");
    CHECK(asked != NULL);
    CHECK_CONTAINS(run.out, "no file or index");
    CHECK_CONTAINS(asked, "/buildid/");
    CHECK(strstr(strstr(asked, "/buildid/") + 1, "/buildid/") == NULL);
    test_run_done(&run);
}

TEST_TIMEOUT(fetch_redirected, 60)
{
    need_library();
    make_program();
    struct test_run run = with_server("redirect", "its.debug", SYMBOLIZE);
    CHECK_CONTAINS(run.out, "waits.c:6");
    CHECK_CONTAINS(strstr(run.out, "asked:\n"), "/moved/buildid/");
    test_run_done(&run);
}

/* Another file, half of one, or an answer that ends too early is neither used nor kept. */
TEST_TIMEOUT(fetch_wrong_or_damaged, 60)
{
    static const char *const kinds[][3] = {{"hit", "other", "another file"},
                                           {"half", "its.debug", "another file"},
                                           {"cut", "its.debug", "no file or index"}};
    need_library();
    make_program();
    for (unsigned i = 0; i < 3; i++) {
        struct test_run run = with_server(
            kinds[i][0], kinds[i][1],
            "rm -rf cache; " SYMBOLIZE
            "; find cache/debuginfod_client -name debuginfo -size +0 -printf 'left\\n'");
        CHECK_CONTAINS(run.out, kinds[i][2]);
        CHECK(strstr(run.out, "waits.c") == NULL);
        CHECK(strstr(run.out, "left\n") == NULL);
        CHECK_CONTAINS(strstr(run.out, "asked:\n"), "/buildid/");
        test_run_done(&run);
    }
}

/* sonde waits only once for a server that does not answer. */
TEST_TIMEOUT(fetch_hangs, 60)
{
    struct timespec begin, end;
    need_library();
    make_program();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    struct test_run run =
        with_server("hang", "its.debug",
                    "export DEBUGINFOD_TIMEOUT=1; $SONDE symbolize "
                    "$(cat id)+0x1 0011223344556677889900112233445566778899+0x1; " SYMBOLIZE
                    " < /dev/null; $SONDE symbolize "
                    "./waits+0x$(cat at) ./other+0x$(cat at) /bin/sh+0x5000");
    clock_gettime(CLOCK_MONOTONIC, &end);
    CHECK_CONTAINS(run.out, "do not answer");
    CHECK_CONTAINS(run.out, "waits.c:6"); /* of ./other, which has debug information */
    CHECK(end.tv_sec - begin.tv_sec < 20);
    test_run_done(&run);
}

/* A server that sends without end is cut off. */
TEST_TIMEOUT(fetch_too_large, 60)
{
    need_library();
    make_program();
    struct test_run run = with_server("endless", "its.debug",
                                      "DEBUGINFOD_MAXSIZE=5000000 " SYMBOLIZE
                                      "; find cache/debuginfod_client -size +0 -name 'debuginfo*'");
    CHECK_CONTAINS(run.out, "too large");
    CHECK(strstr(run.out, "client/") == NULL);
    test_run_done(&run);
}

/* elfutils' own server from Debian (unpacked, not installed): it indexes a folder of debug files,
 * and serves only those. */
TEST_TIMEOUT(fetch_from_the_packaged_server, 100)
{
    static const char server[] =
        "cd $DIR && D=${SONDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde}/deb && "
        "test -x $D/debuginfod/usr/bin/debuginfod || exit 77\n"
        "L=$(ls -d $D/debuginfod/usr/lib/*-linux-gnu $D/libmicrohttpd12/usr/lib/*-linux-gnu "
        "$D/libarchive13/usr/lib/*-linux-gnu 2>/dev/null | tr '\\n' ':')\n"
        "mkdir -p files && cp its.debug files/\n"
        "PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); "
        "print(s.getsockname()[1])')\n"
        "LD_LIBRARY_PATH=$L timeout 60 $D/debuginfod/usr/bin/debuginfod -p $PORT -d db -F files "
        ">server 2>&1 & server=$!\n"
        "export DEBUGINFOD_URLS=http://127.0.0.1:$PORT HOME=$DIR\n"
        "python3 -c 'import sys, time, urllib.request as u\n"
        "for i in range(300):\n"
        "    try: sys.exit(u.urlopen(sys.argv[1]).status != 200)\n"
        "    except OSError: time.sleep(0.1)\n"
        "sys.exit(1)' $DEBUGINFOD_URLS/buildid/$(cat id)/debuginfo || "
        "{ kill $server; cat server; exit 77; }\n"
        "{ " SYMBOLIZE "; "
        "$SONDE symbolize 00112233445566778899aabbccddeeff00112233+0x10; } 2>&1\n"
        "kill $server; wait $server; true";
    if (!test_long()) {
        SKIP("only with --long");
    }
    need_library();
    make_program();
    struct test_run run = shell(server);
    if (run.status == 77) {
        SKIP("no packaged debuginfod that starts: %.200s", run.out);
    }
    CHECK_CONTAINS(run.out, "  outer  ");
    CHECK_CONTAINS(run.out, "waits.c:6");
    CHECK_CONTAINS(run.out, "00112233445566778899aabbccddeeff00112233: no file or index");
    test_run_done(&run);
}
