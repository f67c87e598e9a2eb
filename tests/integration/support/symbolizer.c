// SPDX-License-Identifier: Apache-2.0
#include "symbolizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void symbolizer_ask(struct symbolizer *s, const char *object, const uint64_t *addresses,
                    size_t count)
{
    char option[600];
    char *input = malloc(count * 24 + 1);
    size_t used = 0;
    CHECK(input != NULL);
    input[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        used += (size_t)sprintf(input + used, "0x%llx\n", (unsigned long long)addresses[i]);
    }
    snprintf(option, sizeof option, "--obj=%s", object);
    const char *argv[] = {"llvm-symbolizer-19", "--no-demangle", "--functions=linkage",
                          "--inlines",          option,          NULL};
    s->run = test_run(argv, NULL, input, 300);
    CHECK_EQ(s->run.status, 0);
    s->cursor = s->run.out;
    free(input);
}

/* A function, then file:line:column; a blank line ends the frames of one address. */
size_t symbolizer_next(struct symbolizer *s, struct symbolizer_frame *frames, size_t max)
{
    size_t n = 0;
    while (*s->cursor != '\0' && *s->cursor != '\n') {
        char *name = s->cursor;
        char *place = strchr(name, '\n');
        char *end = place != NULL ? strchr(place + 1, '\n') : NULL;
        CHECK(end != NULL);
        *place++ = '\0';
        *end = '\0';
        s->cursor = end + 1;
        char *column = strrchr(place, ':');
        CHECK(column != NULL);
        *column = '\0';
        char *line = strrchr(place, ':');
        CHECK(line != NULL);
        *line++ = '\0';
        if (n < max) {
            frames[n].name = strcmp(name, "??") == 0 ? "" : name;
            frames[n].file = strcmp(place, "??") == 0 ? "" : place;
            frames[n].line = (unsigned)strtoul(line, NULL, 10);
            n++;
        }
    }
    s->cursor += *s->cursor == '\n';
    return n;
}

void symbolizer_done(struct symbolizer *s)
{
    test_run_done(&s->run);
}

bool symbolizer_same_name(const char *ours, const char *its)
{
    size_t length = strlen(ours);
    return length == 0 ||
           (strncmp(ours, its, length) == 0 && (its[length] == '\0' || its[length] == '.'));
}

const char *symbolizer_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}
