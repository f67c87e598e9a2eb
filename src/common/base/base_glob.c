// SPDX-License-Identifier: Apache-2.0
#include "base_glob.h"

#include <stddef.h>

/* Where to go on after a mismatch: the pattern behind a star, and the text that the star has not
 * taken yet. What an earlier star takes need not be tried again: the later one can take as much,
 * but not over a slash, for which `deep`, the last **, is kept too. */
struct retry {
    const char *pattern, *text;
};

static bool take_more(struct retry *retry, bool of_paths)
{
    if (retry->pattern == NULL || *retry->text == '\0' || (of_paths && *retry->text == '/')) {
        return false;
    }
    retry->text++;
    return true;
}

bool sonde__base_glob(const char *pattern, const char *text, bool of_paths)
{
    struct retry star = {NULL, NULL}, deep = {NULL, NULL};
    while (true) {
        if (of_paths && pattern[0] == '*' && pattern[1] == '*') {
            pattern += 2;
            deep = (struct retry){pattern, text};
            star.pattern = NULL;
        } else if (*pattern == '*') {
            pattern++;
            star = (struct retry){pattern, text};
        } else if (*text != '\0' &&
                   (*pattern == *text || (*pattern == '?' && !(of_paths && *text == '/')))) {
            pattern++;
            text++;
        } else if (*pattern == '\0' && *text == '\0') {
            return true;
        } else if (take_more(&star, of_paths)) {
            pattern = star.pattern;
            text = star.text;
        } else if (take_more(&deep, false)) {
            pattern = deep.pattern;
            text = deep.text;
            star.pattern = NULL;
        } else {
            return false;
        }
    }
}
