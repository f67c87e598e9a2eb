// SPDX-License-Identifier: Apache-2.0
/* On a terminal, no line is wider than it, except one word that cannot be broken. Without a
 * terminal, lines are whole. */
#include <stdio.h>
#include <string.h>

#include "start.h"
#include "test.h"

enum { COLUMNS = 80 };

static unsigned columns_of(const char *line, size_t size)
{
    unsigned columns = 0;
    for (size_t i = 0; i < size; i++) {
        columns += ((unsigned char)line[i] & 0xc0) != 0x80;
    }
    return columns;
}

static bool is_one_word(const char *line, size_t size)
{
    size_t at = strspn(line, " ");
    return at >= size || memchr(line + at, ' ', size - at) == NULL;
}

/* Run commands on a terminal of 80 columns, and into a file; check the width of the former. */
static void check_command(const char *prepare, const char *command)
{
    char script[1400];
    snprintf(script, sizeof script,
             "cd $DIR && %s\n"
             "cat >run.sh <<'EOF'\n%s\nEOF\n"
             "script -qc 'stty cols %d; sh run.sh' /dev/null </dev/null | tr -d '\\r' >fitted\n"
             "sh run.sh >whole 2>&1; [ $(wc -c <whole) -gt 40 ] && cat fitted",
             prepare, command, COLUMNS);
    struct test_run run = shell(script);
    CHECK_EQ(run.status, 0);
    CHECK(strlen(run.out) > 40);
    for (const char *line = run.out; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        if (columns_of(line, size) > COLUMNS && !is_one_word(line, size)) {
            FAIL("wider than %d columns: %.*s\nof: %s", COLUMNS, (int)size, line, command);
        }
        line += size + (line[size] == '\n');
    }
    test_run_done(&run);
}

#define WORD_OF_100                                                                                \
    "a123456789b123456789c123456789d123456789e123456789f123456789g123456789h123456789i123456789"   \
    "j123456789"

TEST(doctor_fits_a_terminal)
{
    check_command(":", "$SONDE doctor --color=never; $SONDE doctor --color=never $$; true");
}

TEST(messages_of_errors_fit_a_terminal)
{
    check_command(":",
                  "$SONDE show " WORD_OF_100 " ; $SONDE doctor " WORD_OF_100 "; "
                  "$SONDE show --top none a_report; $SONDE diff one; $SONDE holders 1 2; true");
}

TEST(stacks_and_their_notes_fit_a_terminal)
{
    check_command(":", "$SONDE stacks --color=never $$; true");
}

/* $SONDE is built with debug information; its dynamic symbols are in any case. */
TEST(listings_of_files_fit_a_terminal)
{
    check_command("$SONDE index -o . $SONDE >/dev/null; mv *.sndidx " WORD_OF_100 ".sndidx; "
                  "printf '[rule:many]\nmatch = getenv, secure_getenv, setenv, unsetenv, putenv, "
                  "clearenv, getpid, getppid, gettid\n' >rules.ini",
                  "$SONDE index --info *.sndidx; $SONDE audit compile rules.ini sh; "
                  "$SONDE symbolize --image $SONDE 0x10 0x20; "
                  "$SONDE types $SONDE 'struct sonde__report_header'; $SONDE spool list .; true");
}

/* A static block, as clang lays it out: its type is longer than the terminal is wide. */
TEST(blocks_of_a_file_fit_a_terminal)
{
    check_command(
        "printf '%s\n' 'extern void *_NSConcreteGlobalBlock[32];' "
        "'struct d { unsigned long r, s; const char *t; };' "
        "'static const struct d d = {0, 32, \"v60@?0{a_structure_of_a_long_name=ii}8"
        "{another_structure_of_a_long_name=qq}16{the_last_structure_of_a_long_name=qq}32q48\"};' "
        "'static int f(void *b) { return b != 0; }' "
        "'struct b { void *i; int f, r; int (*g)(void *); const struct d *d; } block = "
        "{_NSConcreteGlobalBlock, 0x50000000, 0, f, &d};' >b.c; gcc -g -c -o b.o b.c",
        "$SONDE blocks b.o; $SONDE blocks no_such_file; true");
}

/* The width of COLUMNS is taken; --wide takes none. */
TEST(width_is_the_users_choice)
{
    struct test_run run =
        shell("cd $DIR; script -qc 'stty cols 200; COLUMNS=40 $SONDE doctor' /dev/null </dev/null "
              ">asked; script -qc 'stty cols 40; $SONDE doctor' /dev/null </dev/null >narrow; "
              "cmp asked narrow && [ $(wc -l <narrow) -gt 20 ]");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    run = shell("cd $DIR; script -qc 'stty cols 40; $SONDE doctor --wide --color=never; $SONDE "
                "show --wide no such report of this very long name' /dev/null </dev/null | "
                "tr -d '\\r' >wide; { $SONDE doctor; $SONDE show no such report of this very long "
                "name; } >whole 2>&1; cmp wide whole && grep -c . whole");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

/* What other programs read is the same on a terminal and in a file. */
TEST(json_is_not_fitted)
{
    struct test_run run =
        shell("cd $DIR; script -qc 'stty cols 40; $SONDE doctor --json' /dev/null </dev/null | "
              "tr -d '\\r' >terminal; $SONDE doctor --json >file; cmp terminal file");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

static void need_the_probe(void)
{
#if defined(SONDE_SANITIZED)
    SKIP("stock programs cannot load a library with a sanitizer");
#endif
}

TEST(end_of_a_watch_fits_a_terminal)
{
    need_the_probe();
    check_command(":", "$SONDE run -v --color=never -- sh -c 'sleep 0.1; true'; "
                       "$SONDE run --color=never --no-follow -- sh -c 'exec sleep 0.1'; true");
}

TEST(reports_and_their_comparison_fit_a_terminal)
{
    need_the_probe();
    check_command("printf 'getppid\\nno_such_function\\nenviron\\n' >list; "
                  "for i in a b; do $SONDE run --record list --report $i -- sh -c true >/dev/null "
                  "2>&1; done",
                  "$SONDE show --color=never a; $SONDE diff --color=never a b; "
                  "$SONDE show --color=never --group a b; true");
}
