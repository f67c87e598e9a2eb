// SPDX-License-Identifier: Apache-2.0
/* Behaviour common to all verbs: wrong usage, output that cannot be written, colour. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

/* Run sonde ARGUMENT...; single spaces separate the words of `arguments`. */
static struct test_run sonde(const char *arguments)
{
    char words[256];
    const char *argv[16] = {sonde_program()};
    unsigned argc = 1;
    snprintf(words, sizeof words, "%s", arguments);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    return test_run(argv, NULL, NULL, 60);
}

TEST(wrong_usage_is_one_line_and_2)
{
    static const struct {
        const char *arguments, *says;
    } cases[] = {
        {"stakcs", "sonde: unknown command stakcs (sonde help lists what there is)"},
        {"--jsn", "sonde: unknown option --jsn (sonde help lists what there is)"},
        {"stacks", "sonde stacks: which process? give its id, or --core FILE"},
        {"stacks --foo 1", "unknown option --foo (sonde stacks --help lists them)"},
        {"stacks --foo=3 1", "unknown option --foo (sonde stacks --help lists them)"},
        {"stacks --js 1", "unknown option --js (sonde stacks --help lists them)"},
        {"stacks -jZ 1", "unknown option -Z"},
        {"stacks --json=yes 1", "option --json takes no value"},
        {"stacks 1 --depth", "option --depth needs a value: N"},
        {"stacks --depth 0 1", "--depth: not a number from 1 to"},
        {"stacks --depth 99999999999999999999 1", "--depth: not a number"},
        {"stacks --depth -1 1", "--depth: not a number"},
        {"stacks 1 2", "one process at a time, not also 2"},
        {"stacks 1x", "not a process id: 1x"},
        {"stacks 0", "not a process id: 0"},
        {"stacks 99999999999", "not a process id: 99999999999"},
        {"stacks -- -1", "not a process id: -1"},
        {"stacks --color=maybe 1", "--color: not auto, always or never: maybe"},
        {"stacks --style=maybe 1", "--style: not sonde, callstack, bs or glibc: maybe"},
        {"stacks --core x --stop", "--stop: a core does not run"},
        {"stacks --symbols /nonexistent 1",
         "--symbols: not a folder that can be read: /nonexistent"},
        {"run --stall 1 true", "not a duration (as 500ms, 1.5s, 2m, 1h) from 50ms to 60s: 1"},
        {"run --timeout x true",
         "--timeout: not a duration (as 500ms, 1.5s, 2m, 1h) from 1ns on: x"},
        {"show --top 0 x", "--top: neither a number of stacks, 1 or more, nor all: 0"},
        {"show", "which report?"},
        {"show a b", "one report at a time, not also b"},
        {"export", "which report?"},
        {"export a b", "one report at a time, not also b"},
        {"run --json a --report b c", "--json and --report: give one"},
        {"export --style svg a", "not folded, json, sonde, callstack, bs or glibc: svg"},
        {"export --format otlp a",
         "otlp-1.10, perfetto, apple, bs, glibc, json, text or sarif: otlp"},
        {"export --format bs --style bs a", "--style is an older name of --format: give one"},
        {"doctor x", "not a process id: x"},
        {"doctor 1 2", "one process at a time, not also 2"},
        {"index", "which program, library or debug file?"},
        {"index --info -o x y", "--info writes nothing: no --output"},
        {"symbolize --report x y+0x1", "--report names all of a report: no addresses"},
        {"symbolize --report x --maps y", "--report names all of a report: no addresses"},
        {"symbolize x", "not IMAGE+0xOFFSET or [0x]ADDRESS: x"},
        {"symbolize x+0x12y", "not IMAGE+0xOFFSET or [0x]ADDRESS: x+0x12y"},
        {"symbolize 0x123456", "of which image? give --image or --maps"},
        {"version now", "needs no argument: now"},
        {"help nothing", "unknown command nothing"},
        {"help stacks show", "one command at a time, not also show"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_run run = sonde(cases[i].arguments);
        if (run.status != 2) {
            FAIL("sonde %s: ended with %d", cases[i].arguments, run.status);
        }
        CHECK_STR(run.out, "");
        check_one_line(run.err, cases[i].says);
        test_run_done(&run);
    }
}

/* A script never set "$NAME": each option that takes a value reports the empty one by its name. */
TEST(empty_values_are_refused)
{
    static const char *const options[] = {
        "stacks --core=",     "stacks --thread=",      "stacks --depth=",
        "stacks --symbols=",  "stacks --style=",       "stacks --debug-root=",
        "stacks --report=",   "stacks --color=",       "run --stall=",
        "run --report=",      "run --timeout=",        "run --sampler=",
        "run --record=",      "run --timeout-action=", "run --frames=",
        "run --top=",         "run --blocks-every=",   "show --symbols=",
        "export --style=",    "symbolize --image=",    "symbolize --exe=",
        "symbolize --maps=",  "symbolize --report=",   "symbolize --perf-map=",
        "symbolize --arch=",  "index --output=",       "index --jobs=",
        "types --symbols=",   "types --arch=",         "blocks --pid=",
        "blocks --core=",     "blocks --arch=",        "holders --core=",
        "holders --symbols=", "doctor --color=",
    };
    for (unsigned i = 0; i < sizeof options / sizeof options[0]; i++) {
        char name[64], line[96];
        snprintf(line, sizeof line, "%s 1 2", options[i]);
        struct test_run run = sonde(line);
        snprintf(name, sizeof name, "%s", strstr(options[i], "--"));
        name[strlen(name) - 1] = ':';
        if (run.status != 2) {
            FAIL("sonde %s: ended with %d", line, run.status);
        }
        check_one_line(run.err, name);
        test_run_done(&run);
    }
}

TEST(without_a_command_the_overview_is_an_error)
{
    struct test_run run = sonde("");
    CHECK_EQ(run.status, 2);
    CHECK_STR(run.out, "");
    CHECK_CONTAINS(run.err, "usage: sonde COMMAND");
    test_run_done(&run);
}

TEST(a_message_shows_control_characters)
{
    const char *const argv[] = {sonde_program(), "stacks", "1\033[31m\n2", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 30);
    CHECK_EQ(run.status, 2);
    check_one_line(run.err, "1\\x1b[31m\\x0a2");
    test_run_done(&run);
}

TEST(a_full_disk_is_an_error)
{
    static const char *const arguments[] = {"help",   "version",      "stacks --help",
                                            "doctor", "stacks $PPID", "stacks --json $PPID"};
    for (unsigned i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        char line[128];
        struct test_run run;
        snprintf(line, sizeof line, "$SONDE %s >/dev/full", arguments[i]);
        run = shell(line);
        if (run.status == 0) {
            FAIL("%s: ended with 0", line);
        }
        CHECK_CONTAINS(run.err, "standard output: No space left on device");
        test_run_done(&run);
    }
}

TEST(closed_standard_output_is_an_error)
{
    struct test_run run = shell("$SONDE stacks $PPID >&-");
    CHECK_EQ(run.status, 1);
    CHECK_CONTAINS(run.err, "standard output: Bad file descriptor");
    test_run_done(&run);
    run = shell("$SONDE version 2>&-");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "sonde ");
    test_run_done(&run);
    run = shell("$SONDE show - <&-");
    CHECK_EQ(run.status, 1);
    check_one_line(run.err, "standard input: Bad file descriptor");
    test_run_done(&run);
}

TEST(a_closed_pipe_ends_it_like_other_tools)
{
    int pipe_ends[2];
    int status;
    pid_t child;
    CHECK_EQ(pipe(pipe_ends), 0);
    close(pipe_ends[0]);
    child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(pipe_ends[1], 1);
        execl(sonde_program(), "sonde", "help", NULL);
        _exit(127);
    }
    close(pipe_ends[1]);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGPIPE);
}

/* Also if the file's name is a word of the message. */
TEST(a_message_names_the_file)
{
    static const char *const verbs[] = {"index cut", "blocks cut", "types cut x",
                                        "stacks --core cut"};
    char script[1024];
    for (unsigned i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        snprintf(script, sizeof script, "cd %s && head -c 40 %s >cut && %s %s", test_folder(),
                 sonde_program(), sonde_program(), verbs[i]);
        const char *argv[] = {"sh", "-c", script, NULL};
        struct test_run run = test_run(argv, NULL, NULL, 60);
        CHECK(run.status != 0);
        CHECK_CONTAINS(run.err, ": cut: ELF header cut short\n");
        test_run_done(&run);
    }
}

TEST(colour_is_for_terminals_and_on_request)
{
    struct test_run run = shell("$SONDE doctor");
    CHECK(strstr(run.out, "\033") == NULL);
    test_run_done(&run);
    run = shell("NO_COLOR= $SONDE doctor --color=always");
    CHECK_CONTAINS(run.out, "\033[");
    test_run_done(&run);
    /* script(1) provides a terminal */
    run = shell("command -v script >/dev/null || exit 77; TERM=xterm NO_COLOR= "
                "script -qec \"$SONDE doctor\" /dev/null </dev/null");
    if (run.status == 77) {
        SKIP("no script(1)");
    }
    CHECK_CONTAINS(run.out, "\033[");
    test_run_done(&run);
    run = shell("TERM=xterm NO_COLOR=1 script -qec \"$SONDE doctor\" /dev/null </dev/null");
    CHECK(strstr(run.out, "\033[3") == NULL);
    test_run_done(&run);
    run = shell("TERM=dumb NO_COLOR= script -qec \"$SONDE doctor\" /dev/null </dev/null");
    CHECK(strstr(run.out, "\033[3") == NULL);
    test_run_done(&run);
}

TEST(doctor_says_why_and_what_to_do)
{
    struct test_run run = sonde("doctor --json");
    check_json(run.out);
    CHECK_CONTAINS(run.out, "\"name\": \"blocked threads\"");
    CHECK_CONTAINS(run.out, "\"name\": \"perf events\"");
    CHECK_CONTAINS(run.out, "\"name\": \"loader\", \"state\": \"ok\"");
    CHECK_STR(run.err, "");
    test_run_done(&run);
}
