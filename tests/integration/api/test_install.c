// SPDX-License-Identifier: Apache-2.0
/* An installation is complete: a program outside the tree builds with pkg-config alone, with the
 * shared and the static library, and `sonde` finds its own libraries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static struct test_run shell(const char *command)
{
    const char *const argv[] = {"sh", "-ec", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 200);
    if (run.status != 0) {
        FAIL("%s\nended with %d: %s%s", command, run.status, run.out, run.err);
    }
    return run;
}

static const char consumer[] =
    "#include <sonde/sonde.h>\n"
    "#include <stdio.h>\n"
    "int main(void) {\n"
    "    static char text[8192]; uint64_t pcs[64]; uint8_t how[64];\n"
    "    struct sonde_stack stack; struct sonde_symbolizer *symbolizer;\n"
    "    sonde_stack_init(&stack, pcs, how, 64, 0);\n"
    "    if (sonde_stack_capture(&stack, 0) != SONDE_OK) return 1;\n"
    "    if (sonde_symbolizer_create(&symbolizer) != SONDE_OK) return 1;\n"
    "    if (sonde_stack_text(symbolizer, SONDE_STYLE_SONDE, &stack, text, sizeof text, NULL) != "
    "SONDE_OK) return "
    "1;\n"
    "    fputs(text, stdout);\n"
    "    sonde_symbolizer_destroy(symbolizer);\n"
    "    return 0;\n"
    "}\n";

TEST_TIMEOUT(a_consumer_builds_against_an_installation, 250)
{
    char path[4096], command[16384];
    struct test_run run;
    snprintf(path, sizeof path, "%s/consumer.c", test_folder());
    test_write_file(path, consumer, strlen(consumer));
    snprintf(command, sizeof command,
             "cd '%s'; DESTDIR=$PWD/root cmake --install '%s' --prefix /usr >/dev/null\n"
             "pc=$(find root -name sonde.pc)\n"
             "export PKG_CONFIG_PATH=$PWD/${pc%%/*}\n"
             "cc -O2 consumer.c -o shared $(pkg-config --cflags --libs sonde)\n"
             "LD_LIBRARY_PATH=$(dirname $(find $PWD/root -name libsonde.so)) ./shared\n"
             "rm $(find root -name 'libsonde.so*')\n"
             "cc -O2 consumer.c -o static $(pkg-config --static --cflags --libs sonde)\n"
             "./static\n"
             "cc -O2 -static consumer.c -o whole $(pkg-config --static --cflags --libs sonde)\n"
             "./whole\n"
             "pkg-config --modversion sonde; find root -type f -name '*.h' | wc -l\n",
             test_folder(), test_build_dir());
    run = shell(command);
    unsigned mains = 0, starts = 0;
    for (const char *at = run.out; (at = strstr(at, "  main+0x")) != NULL; at++) {
        mains++;
    }
    for (const char *at = run.out; (at = strstr(at, "  _start+0x")) != NULL; at++) {
        starts++;
    }
    CHECK_EQ(mains, 3);
    CHECK_EQ(starts, 3);
    CHECK(strstr(run.out, "ended:") == NULL);
    CHECK_STR(run.err, "");
    test_run_done(&run);
}

static const char printer[] = "#include <execinfo.h>\n"
                              "int main(void) {\n"
                              "    void *pcs[8];\n"
                              "    backtrace_symbols_fd(pcs, backtrace(pcs, 8), 1);\n"
                              "    return 0;\n"
                              "}\n";

/* The library that replaces glibc's backtrace(), by link and by preload. */
TEST_TIMEOUT(the_drop_in_is_installed, 250)
{
    char path[4096], command[16384];
    struct test_run run;
    snprintf(path, sizeof path, "%s/printer.c", test_folder());
    test_write_file(path, printer, strlen(printer));
    snprintf(
        command, sizeof command,
        "cd '%s'; DESTDIR=$PWD/root cmake --install '%s' --prefix /usr >/dev/null\n"
        "lib=$(dirname $(find $PWD/root -name libsonde-execinfo.so))\n"
        "cc -O2 printer.c -o plain; ./plain | sed 's/\\[0x.*//; s/plain/printer/'\n"
        "cc -O2 printer.c -o linked -L$lib -lsonde-execinfo\n"
        "readelf -d linked | grep -c libsonde-execinfo.so.0\n"
        "LD_LIBRARY_PATH=$lib ./linked | sed 's/\\[0x.*//; s/linked/printer/'\n"
        "LD_PRELOAD=$lib/libsonde-execinfo.so.0 ./plain | sed 's/\\[0x.*//; s/plain/printer/'\n",
        test_folder(), test_build_dir());
    run = shell(command);
    char *linked = strstr(run.out, "1\n");
    size_t length = linked != NULL ? (size_t)(linked - run.out) : 0;
    CHECK(length > 0);
    CHECK_CONTAINS(run.out, "__libc_start_main+0x");
    CHECK_EQ(strlen(run.out), 3 * length + 2);
    CHECK_EQ(strncmp(linked + 2, run.out, length), 0);
    CHECK_EQ(strncmp(linked + 2 + length, run.out, length), 0);
    CHECK_STR(run.err, "");
    test_run_done(&run);
}

static const char sender[] =
    "#include <sonde/upload.h>\n"
    "#include <stdio.h>\n"
    "int main(void) {\n"
    "    char to[256];\n"
    "    const struct sonde_upload_transport *curl = sonde_upload_curl();\n"
    "    size_t size = curl->compress(curl->ctx, SONDE_UPLOAD_ZSTD, \"whole\", 5, to, 256);\n"
    "    fwrite(to, 1, size, stdout);\n"
    "    return 0;\n"
    "}\n";

/* The transport, too. Its archive links with shared libraries of others: pkg-config lists libcurl's
 * needs as an archive, which a distribution may lack. */
TEST_TIMEOUT(a_sender_builds_against_an_installation, 250)
{
    char path[4096], command[16384];
    struct test_run run;
    snprintf(path, sizeof path, "%s/sender.c", test_folder());
    test_write_file(path, sender, strlen(sender));
    snprintf(command, sizeof command,
             "cd '%s'; DESTDIR=$PWD/root cmake --install '%s' --prefix /usr >/dev/null\n"
             "pc=$(find $PWD/root -name sonde-upload.pc); [ -n \"$pc\" ] || exit 77\n"
             "export PKG_CONFIG_PATH=$(dirname $pc); lib=$(dirname $PKG_CONFIG_PATH)\n"
             "cc -O2 sender.c -o shared $(pkg-config --cflags --libs sonde-upload)\n"
             "LD_LIBRARY_PATH=$lib ./shared | zstd -dc; readelf -d shared | grep -c libsonde\n"
             "rm $lib/libsonde*.so*\n"
             "cc -O2 sender.c -o static $(pkg-config --cflags --libs sonde-upload libcurl libzstd "
             "zlib)\n"
             "./static | zstd -dc; ! readelf -d static | grep libsonde\n",
             test_folder(), test_build_dir());
    const char *const argv[] = {"sh", "-ec", command, NULL};
    run = test_run(argv, NULL, NULL, 200);
    if (run.status == 77) {
        SKIP("libsonde-upload was not built");
    }
    if (run.status != 0) {
        FAIL("%s\nended with %d: %s%s", command, run.status, run.out, run.err);
    }
    CHECK_STR(run.out, "whole1\nwhole");
    CHECK_STR(run.err, "");
    test_run_done(&run);
}

/* The library exports exactly the functions that the headers declare. */
TEST(exports_are_the_headers)
{
    char command[16384];
    struct test_run run;
    snprintf(command, sizeof command,
             "cd '%s'; d='%s'; nm -D --defined-only $d/src/libsonde.so "
             "$d/upload/libsonde-upload.so | sed -nE "
             "'s/^[0-9a-f]+ [^A] ([^@]+)(@.*)?$/\\1/p' | sort >exported\n"
             "cat '%s'/include/sonde/*.h | tr '\\n' ' ' | grep -oE 'SONDE_API [^;]*;' | "
             "grep -oE 'sonde_[a-z0-9_]+\\(' | tr -d '(' | sort -u >declared\n"
             "wc -l <declared; diff declared exported",
             test_folder(), test_build_dir(), test_source_dir());
    run = shell(command);
    CHECK(atoi(run.out) >= 20);
    test_run_done(&run);
}

/* The program finds its libraries in any folder. */
TEST_TIMEOUT(the_program_is_installed, 250)
{
    char command[16384];
    struct test_run run;
    snprintf(command, sizeof command,
             "cd '%s'; DESTDIR=$PWD/root cmake --install '%s' --prefix /usr >/dev/null\n"
             "mv root/usr moved; rm -rf root; echo geteuid >list\n"
             "moved/bin/sonde run -- true\n"
             "moved/bin/sonde run --record list -- id -u\n"
             "find moved -name 'sonde*.1' | wc -l; ls '%s'/docs/man | wc -l\n",
             test_folder(), test_build_dir(), test_source_dir());
    run = shell(command);
    CHECK_CONTAINS(run.err, "geteuid  1 call");
    CHECK(strstr(run.err, "not found") == NULL);
    unsigned installed = 0, written = 0;
    const char *counts = strchr(run.out, '\n'); /* after the output of `id` */
    CHECK(counts != NULL && sscanf(counts, "%u %u", &installed, &written) == 2);
    CHECK(installed != 0);
    CHECK_EQ(installed, written);
    test_run_done(&run);
}

/* As an administrator uses them: the unit, and the drop-ins in the folder of a service. The program
 * of the units is not where they have it, so their paths are changed. */
TEST_TIMEOUT(the_units_for_systemd_are_valid, 250)
{
    char command[16384];
    struct test_run run = shell("command -v systemd-analyze");
    if (run.status != 0) {
        SKIP("no systemd-analyze");
    }
    test_run_done(&run);
    snprintf(command, sizeof command,
             "cd '%s'; DESTDIR=$PWD/tree cmake --install '%s' --prefix /usr >/dev/null\n"
             "units=$(dirname $(find $PWD/tree -name 'sonde-watch@.service')); "
             "sonde=$PWD/tree/usr/bin/sonde\n"
             "mkdir -p etc/demo.service.d; cp $units/*.service etc; cp $units/sonde-*.conf "
             "etc/demo.service.d\n"
             "sed -i \"s,/usr/bin/sonde,$sonde,; s,/usr/sbin/NAME,/bin/true,\" "
             "etc/demo.service.d/*\n"
             "printf '[Service]\\nType=notify\\nWatchdogSec=10\\nExecStart=/bin/false\\n' "
             ">etc/demo.service\n"
             "export SYSTEMD_UNIT_PATH=$PWD/etc:\n"
             "systemd-analyze verify --man=no ./etc/demo.service; echo $?\n"
             "systemd-analyze verify --man=no ./etc/sonde-watch@demo.service; echo $?\n"
             "sed -i s/^StateDirectory=/StateFolder=/ etc/*.service etc/demo.service.d/*\n"
             "systemd-analyze verify --man=no ./etc/demo.service 2>&1 | grep -c StateFolder\n",
             test_folder(), test_build_dir());
    run = shell(command);
    CHECK_STR(run.err, "");
    CHECK_STR(run.out, "0\n0\n2\n"); /* it sees the drop-in, and the unit that it wants */
    test_run_done(&run);
}
