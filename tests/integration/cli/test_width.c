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
