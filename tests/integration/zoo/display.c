// SPDX-License-Identifier: Apache-2.0
#include "display.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static struct program server;
static bool runs;

static int find_number(void)
{
    char *output = program_output(&server);
    int number = -1;
    for (char *line = strtok(output, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        size_t digits = strspn(line, "0123456789");
        number = digits > 0 && line[digits] == '\0' ? atoi(line) : number;
    }
    free(output);
    return number;
}

/* setenv() would keep memory for good, a leak in a test. */
void environment_add(const char *assignment)
{
    static char texts[4][64];
    static char *list[1024];
    static unsigned added;
    size_t n = 0;
    CHECK_ALWAYS(added < 4 && strlen(assignment) < sizeof texts[0]);
    strcpy(texts[added], assignment);
    size_t name = strcspn(assignment, "=") + 1;
    for (char **e = environ; *e != NULL && n < 1022; e++) {
        if (strncmp(*e, assignment, name) != 0) {
            list[n++] = *e;
        }
    }
    list[n++] = texts[added++];
    list[n] = NULL;
    environ = list;
}

bool display_start(void)
{
    char name[32];
    if (!program_on_path("Xvfb")) {
        return false;
    }
    server = program_start((const char *[]){"Xvfb", "-displayfd", "1", "-screen", "0", "640x480x24",
                                            "-nolisten", "tcp", "-noreset", NULL});
    runs = true;
    int number = -1;
    for (int i = 0; i < 200 && number < 0; i++) {
        program_pause_ms(50);
        number = find_number();
    }
    CHECK_ALWAYS(number >= 0);
    snprintf(name, sizeof name, "DISPLAY=:%d", number);
    environment_add(name);
    return true;
}

pid_t display_pid(void)
{
    return server.pid;
}

void display_end(void)
{
    if (runs) {
        (void)program_stop(&server, 20);
        runs = false;
    }
}
