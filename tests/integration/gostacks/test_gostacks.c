// SPDX-License-Identifier: Apache-2.0
/* Stacks and names of Go programs, stripped or not: the call chain equals that of Go's runtime, and
 * every thread's stack ends where the thread begins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* The functions of the waiting thread, one per line, from the first one of Go on; and the program's
 * output. Each stack must end at its root. The thread of sysmon starts late, and on a busy machine
 * it may run each time that it is read, which its stack then says: look again. */
static const char look[] =
    "mkfifo said hold; ./program < hold > said & P=$!; exec 9> hold\n"
    "while read line; do case $line in ready) break;; esac; echo $line; done < said > expected\n"
    "i=0; until \"$S\" stacks $P > stacks && grep -q 'blocked in read' stacks &&\n"
    "grep -q runtime.sysmon stacks && ! grep -q 'stack ends here: moved' stacks; do\n"
    "i=$((i + 1)); [ $i -lt 50 ]; sleep 0.1; done\n"
    "kill $P\n"
    "awk '/^thread/ { on = / blocked in read/ } on && $1 ~ /^#/ && !/\\[inlined\\]/ { print $2 }' "
    "stacks | sed 's/+0x[0-9a-f]*$//; s/\\.abi0$//' > all\n"
    "sed -n '/^main\\.wait$/,$p' all > got\n"
    "diff expected got >&2 || { cat stacks >&2; exit 1; }\n"
    "if grep 'stack ends here' stacks >&2; then cat stacks >&2; exit 1; fi\n"
    "for word in $WORDS; do grep -q \"$word\" stacks || { echo no $word >&2; cat stacks >&2; "
    "exit 1; }; done\n";

/* The functions of the thread that burns, all in one line. With $AT, a debugger first runs it to
 * that function. On a busy machine the runtime may have taken the goroutine off its thread, so no
 * stack has it: look again. */
static const char inspect_burning[] =
    "rm -f said; mkfifo said; ./program > said & P=$!\n"
    "read line < said; if [ -n \"$AT\" ]; then\n"
    "gdb -q -batch -nx -p $P -ex 'handle SIGURG nostop noprint pass' -ex \"break $AT\" -ex "
    "continue "
    "-ex \"shell kill -STOP $P\" -ex detach > gdb 2>&1\n"
    "grep -q \"hit Breakpoint 1, $AT\" gdb || { kill -9 $P; cat gdb >&2; exit 1; }; fi\n"
    "i=0; until \"$S\" stacks --stop $P > stacks && grep -q ' main.burn+' stacks; do\n"
    "i=$((i + 1)); [ $i -lt 50 ] || break; sleep 0.1; done; kill -9 $P\n"
    "if [ -n \"$AT\" ]; then grep -q \" $AT+\" stacks || { cat stacks >&2; exit 1; }; fi\n"
    "got=$(awk '/^thread/ { on = 0 } / main.burn\\+/ { on = 1 } on && $1 ~ /^#/ { print $2 }' "
    "stacks |\n"
    "sed 's/+0x[0-9a-f]*$//; s/\\.abi0$//' | tr '\\n' ' ')\n"
    "in='_cgoexp_[^ ]* runtime.cgocallbackg1 runtime.cgocallbackg runtime.cgocallbackg '\n"
    "in=$in'runtime.cgocallback crosscall2 goCallback c_call _cgo_[^ ]*_Cfunc_c_call '\n"
    "in=$in'runtime.asmcgocall runtime.cgocall main._Cfunc_c_call '\n"
    "echo \"$got\" | grep -q \"^main.burn main.goCallback ${in}main.goCallback ${in}main.main "
    "runtime.main runtime.goexit $\" || { echo \"$got\" >&2; cat stacks >&2; exit 1; }\n";

/* Run the script with $S, the command. Status 77 skips. */
static void check_script(const char *script)
{
    char command[16384];
    snprintf(command, sizeof command, "cd '%s'; S='%s/cli/sonde'\n%s", test_folder(),
             test_build_dir(), script);
    const char *const argv[] = {"sh", "-ec", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 380);
    if (run.status == 77) {
        SKIP("no such program here");
    }
    if (run.status != 0) {
        FAIL("ended with %d: %s%s", run.status, run.out, run.err);
    }
    test_run_done(&run);
}

static void check_by(const char *script, const char *folder, const char *build, const char *words)
{
    char built[12288];
    const char *cache = getenv("SONDE_CACHE");
    snprintf(built, sizeof built,
             "command -v go >/dev/null || exit 77\n"
             "rm -f said hold; WORDS='%s'\n"
             "export GO111MODULE=off GOFLAGS= GOCACHE=\"%s/go-build\"\n"
             "%s -o program '%s/tests/integration/gostacks/%smain.go'\n%s",
             words, cache != NULL ? cache : "${XDG_CACHE_HOME:-$HOME/.cache}/sonde", build,
             test_source_dir(), folder, script);
    check_script(built);
}

static void check(const char *folder, const char *build, const char *words)
{
    check_by(look, folder, build, words);
}

TEST_TIMEOUT(with_symbols, 400)
{
    check("", "CGO_ENABLED=0 go build", "main.deep runtime.sysmon runtime.clone");
}

TEST_TIMEOUT(stripped, 400)
{
    check("", "CGO_ENABLED=0 go build -ldflags='-s -w'",
          "main.deep runtime.sysmon runtime.mstart runtime.clone main.go:31 proc.go:[1-9]");
}

TEST_TIMEOUT(position_independent, 400)
{
    check("", "CGO_ENABLED=0 go build -buildmode=pie -ldflags='-s -w'",
          "main.deep runtime.sysmon runtime.mstart runtime.clone");
}

/* C runs on the thread's own stack; the goroutine that called it has another one. */
TEST_TIMEOUT(through_c, 400)
{
    check("cgo/", "go build -ldflags='-s -w'", "runtime.asmcgocall runtime.sysmon start_thread");
}

/* The linker merges the table of functions with other data. */
TEST_TIMEOUT(through_c_position_independent, 400)
{
    check("cgo/", "go build -buildmode=pie -ldflags='-s -w'",
          "runtime.asmcgocall runtime.sysmon start_thread");
}

/* Each call from C leaves the goroutine's stack, and each call to C comes back to it. */
TEST_TIMEOUT(from_c, 400)
{
    check_by(inspect_burning, "callback/", "CGO_CFLAGS='-O1 -g' go build", "");
}

/* The handler runs on the stack of a goroutine of its own, which the goroutine register holds
 * then. */
TEST_TIMEOUT(from_c_in_a_handler, 400)
{
    check_by(inspect_burning, "callback/", "AT=runtime.doSigPreempt; CGO_CFLAGS='-O1 -g' go build",
             "");
}

/* A program of Go 1.26 as npm ships it, stripped: its runtime's text about its goroutines after
 * SIGQUIT. One line per call that is not inlined: address and name. */
static const char against_the_runtime[] =
    "P=${SONDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde}/npm/@esbuild+linux-x64@0.28.2\n"
    "[ -e $P/bin/esbuild ] || exit 77\n"
    "rm -f hold; mkfifo hold; export GOTRACEBACK=system\n"
    "$P/bin/esbuild --service=0.28.2 --ping < hold > said 2> told & P=$!; exec 9> hold\n"
    "i=0; until \"$S\" stacks $P > stacks && grep -q main.runService stacks &&\n"
    "grep -q runtime.sysmon stacks; do\n"
    "i=$((i + 1)); [ $i -lt 50 ]; sleep 0.1; done\n"
    "kill -QUIT $P; wait $P || :\n"
    "awk '/^goroutine/ { on = /^goroutine 1 / } on && / pc=0x/ { sub(/.* pc=/, \"\"); print $0, "
    "name }\n"
    "{ name = $0; sub(/\\([^()]*\\)$/, \"\", name) }' told | sed -n '/ syscall.read$/,$p' > "
    "expected\n"
    "awk '/^thread/ { on = 0 } / syscall.read\\+/ { on = 1 } on && $1 ~ /^#/ { sub(/\\+0x[^+]*$/, "
    "\"\", $2);\n"
    "sub(/.*\\+/, \"\", $3); print $3, $2 }' stacks > got\n"
    "grep -q main.main expected && diff expected got >&2 || { cat told stacks >&2; exit 1; }\n"
    "for word in runtime.sysmon runtime.mstart runtime.clone service.go:[1-9]; do\n"
    "grep -q $word stacks || { echo no $word >&2; cat stacks >&2; exit 1; }; done\n"
    "if grep 'stack ends here' stacks >&2; then exit 1; fi\n";

TEST_TIMEOUT(where_the_table_does_not_say_where_code_begins, 100)
{
    check_script(against_the_runtime);
}

/* The library in the program. */
static void check_inside(const char *flags)
{
    char build[2048];
    snprintf(build, sizeof build,
             "CGO_CFLAGS='-O2 -I%s/include' CGO_LDFLAGS='-L%s/src -Wl,-rpath,%s/src' go build %s",
             test_source_dir(), test_build_dir(), test_build_dir(), flags);
    check_by("./program >&2\n", "inside/", build, "");
}

TEST_TIMEOUT(inside, 400)
{
    check_inside("-ldflags='-s -w'");
}

TEST_TIMEOUT(inside_position_independent, 400)
{
    check_inside("-buildmode=pie");
}
