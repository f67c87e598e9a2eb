// SPDX-License-Identifier: Apache-2.0
/* Lines that are fitted to a terminal: frames are shortened, text is broken between words, and no
 * word is lost. */
#include <stdlib.h>
#include <string.h>

#include "report_fit.h"
#include "report_wrap.h"
#include "sample.h"
#include "test.h"

static char *fitted(const char *text, unsigned columns)
{
    static struct sonde__report_fit fit;
    struct sample_bytes bytes = {0};
    sonde__report_fit_begin(&fit, sample_sink(&bytes), columns);
    struct sonde__report_sink sink = sonde__report_fit_sink(&fit);
    CHECK(sink.write(sink.ctx, text, strlen(text)));
    sonde__report_fit_end(&fit);
    return bytes.data;
}

static void check_fitted(const char *text, unsigned columns, const char *expected)
{
    char *is = fitted(text, columns);
    CHECK_STR(is, expected);
    free(is);
}

TEST(text_is_broken_between_words)
{
    check_fitted("sonde run: one two three four\n", 16, "sonde run: one\n  two three four\n");
    check_fitted("sonde run: one two three four\n", 29, "sonde run: one two three four\n");
    check_fitted("sonde run: one two three four\n", 28, "sonde run: one two three\n  four\n");
    check_fitted("short\n\n  a b\n", 16, "short\n\n  a b\n");
    check_fitted("no newline at its end", 12, "no newline\n  at its end");
}

TEST(lines_that_follow_stand_behind_the_label)
{
    check_fitted("  load      page faults in memory, none from disk\n", 36,
                 "  load      page faults in memory,\n            none from disk\n");
    check_fitted("    a note without a label\n", 20, "    a note without a\n      label\n");
    /* a label that leaves no room is none */
    check_fitted("a label of some words  and more text\n", 24,
                 "a label of some words\n  and more text\n");
}

/* Nothing of a text is left out because it has an address. */
TEST(only_frames_are_shortened)
{
    check_fitted("  waits  for mutex 0x7f0000001000, held by thread 4712\n", 32,
                 "  waits  for mutex\n         0x7f0000001000, held by\n         thread 4712\n");
    check_fitted("  #0  a_name_that_is_much_too_long+0x12  prog+0x1137  main.c:7\n", 49,
                 "  #0  a_name_th\u2026_long+0x12  prog+0x1137  main.c:7\n");
}

TEST(a_word_wider_than_the_terminal_stays_whole)
{
    check_fitted("written to /a/path/to/copy as asked\n", 12,
                 "written to\n  /a/path/to/copy\n  as asked\n");
    check_fitted("/a/path/to/copy\n", 8, "/a/path/to/copy\n");
}

TEST(colors_and_utf8_have_their_width)
{
    check_fitted("\033[31mone\033[0m two three\n", 9, "\033[31mone\033[0m two\n  three\n");
    check_fitted("\xe2\x86\x90 \xe2\x86\x90 \xe2\x86\x90 \xe2\x86\x90\n", 5,
                 "\xe2\x86\x90 \xe2\x86\x90 \xe2\x86\x90\n  \xe2\x86\x90\n");
}

/* As python3's unicodedata.east_asian_width() and combining() say. */
TEST(characters_of_two_columns_and_of_none_have_their_width)
{
    static const struct {
        const char *text;
        unsigned columns;
    } cases[] = {
        {"\u6f22\u5b57/\u306e.c", 9},
        {"\ud55c\uae00", 4},
        {"e\u0301a", 2},
        {"\u0444\u00e9", 2},
        {"\U0001f600!", 3},
        {"\uff21", 2},
        {"\u200bx", 1},
        {"\U00020000", 2},
        {"\xe6\xbc", 1},
        {"\xff\xbf", 1},
        {"\u2026\u2190", 2},
        {"\ufe0f", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = cases[i].text;
        if (sonde__report_columns(text, 0, strlen(text)) != cases[i].columns) {
            FAIL("%s has not %u columns", text, cases[i].columns);
        }
    }
    check_fitted("\u6f22\u5b57 \u6f22\u5b57\n", 8, "\u6f22\u5b57\n  \u6f22\u5b57\n");
}

TEST(without_a_terminal_nothing_changes)
{
    check_fitted("one two three four five\n", 0, "one two three four five\n");
}

/* Does the fitted line have several words, and could so be shorter? */
static bool could_break(const char *line, size_t size)
{
    size_t at = strspn(line, " ");
    return at < size && memchr(line + at, ' ', size - at) != NULL;
}

/* Those have been shortened, as far as they can be. */
static bool is_frame_line(const char *line, size_t size)
{
    return memmem(line, size, "+0x", 3) != NULL || memmem(line, size, " 0x", 3) != NULL ||
           memmem(line, size, "\xe2\x80\xa6", 3) != NULL;
}

static void check_widths(const char *text, unsigned columns)
{
    for (const char *line = text; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        if (sonde__report_columns(line, 0, size) > columns && could_break(line, size) &&
            !is_frame_line(line, size)) {
            FAIL("wider than %u columns: %.*s", columns, (int)size, line);
        }
        line += size + (line[size] == '\n');
    }
}

TEST(no_line_of_a_report_is_wider_than_the_terminal)
{
    struct sonde__report *reports[] = {sample_watch(), sample_stacks()};
    for (unsigned i = 0; i < 2; i++) {
        char *text = sample_text(reports[i], NULL);
        for (unsigned columns = 40; columns <= 120; columns += 20) {
            char *is = fitted(text, columns);
            check_widths(is, columns);
            free(is);
        }
        free(text);
        sonde__report_destroy(reports[i]);
    }
}
