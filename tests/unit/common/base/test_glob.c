// SPDX-License-Identifier: Apache-2.0
/* Patterns against fnmatch() of libc, for all short patterns and texts. */
#include <fnmatch.h>
#include <string.h>

#include "base_glob.h"
#include "test.h"

/* Text number `index` of this many characters. */
static void make(unsigned index, unsigned size, const char *alphabet, char *ret_text)
{
    size_t letters = strlen(alphabet);
    for (unsigned i = 0; i < size; i++) {
        ret_text[i] = alphabet[index % letters];
        index /= (unsigned)letters;
    }
    ret_text[size] = '\0';
}

static unsigned power(unsigned base, unsigned exponent)
{
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

static unsigned compare_all(const char *in_pattern, const char *in_text, bool of_paths)
{
    char pattern[8], text[8];
    unsigned matches = 0;
    for (unsigned p = 0; p <= 4; p++) {
        for (unsigned i = 0; i < power((unsigned)strlen(in_pattern), p); i++) {
            make(i, p, in_pattern, pattern);
            for (unsigned t = 0; t <= 5; t++) {
                for (unsigned k = 0; k < power((unsigned)strlen(in_text), t); k++) {
                    make(k, t, in_text, text);
                    bool other = fnmatch(pattern, text, of_paths ? FNM_PATHNAME : 0) == 0;
                    if (of_paths && strstr(pattern, "**") != NULL) {
                        continue; /* fnmatch() has none */
                    }
                    if (sonde__base_glob(pattern, text, of_paths) != other) {
                        FAIL("%s %s: libc says %d", pattern, text, other);
                    }
                    matches += other;
                }
            }
        }
    }
    return matches;
}

TEST(globs_are_those_of_libc)
{
    CHECK(compare_all("ab*?", "ab", false) > 1000);
    CHECK(compare_all("a/*?", "a/", true) > 300);
}

TEST(two_stars_take_slashes)
{
    CHECK(sonde__base_glob("/a/**", "/a/b/c", true));
    CHECK(sonde__base_glob("/a/**", "/a/", true));
    CHECK(!sonde__base_glob("/a/*", "/a/b/c", true));
    CHECK(!sonde__base_glob("/a/**", "/a", true));
    CHECK(sonde__base_glob("**/key*", "/x/y/key1", true));
    CHECK(!sonde__base_glob("**/key*", "/x/key1/y", true));
    CHECK(sonde__base_glob("/h/*/.ssh/**", "/h/me/.ssh/a/b", true));
    CHECK(!sonde__base_glob("/h/*/.ssh/**", "/h/me/too/.ssh/a", true));
    CHECK(sonde__base_glob("**a*b**c", "/a/ab/x/c", true));
    CHECK(sonde__base_glob("*wallet*", "my-wallet.dat", true));
    CHECK(!sonde__base_glob("?", "/", true));
    CHECK(sonde__base_glob("", "", true) && !sonde__base_glob("", "a", true));
}

TEST(many_stars_end_in_time)
{
    char pattern[401], text[2001];
    for (unsigned i = 0; i < 400; i++) {
        pattern[i] = i % 2 == 0 ? '*' : 'a';
    }
    pattern[400] = '\0';
    memset(text, 'a', 2000);
    text[2000] = '\0';
    CHECK(sonde__base_glob(pattern, text, false));
    pattern[399] = 'b';
    CHECK(!sonde__base_glob(pattern, text, false));
    CHECK(!sonde__base_glob(pattern, text, true));
}
