// SPDX-License-Identifier: Apache-2.0
/* The checks of every harness. */
#include <string.h>

#include "test.h"

void test_check_eq(const char *file, int line, const char *a_text, const char *b_text, int64_t a,
                   int64_t b)
{
    if (a != b) {
        test_fail(file, line, "%s == %s: %lld (0x%llx) against %lld (0x%llx)", a_text, b_text,
                  (long long)a, (unsigned long long)a, (long long)b, (unsigned long long)b);
    }
}

void test_check_str(const char *file, int line, const char *a_text, const char *a, const char *b)
{
    if (a == NULL || b == NULL || strcmp(a, b) != 0) {
        test_fail(file, line, "%s is \"%s\", expected \"%s\"", a_text, a != NULL ? a : "(null)",
                  b != NULL ? b : "(null)");
    }
}

void test_check_contains(const char *file, int line, const char *text, const char *part)
{
    if (text == NULL || strstr(text, part) == NULL) {
        test_fail(file, line, "\"%s\" not found in: %s", part, text != NULL ? text : "(null)");
    }
}
