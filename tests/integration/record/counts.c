// SPDX-License-Identifier: Apache-2.0
#include "counts.h"

#include <stdio.h>
#include <string.h>

unsigned long long count_from(const char *text, const char *caller)
{
    unsigned long long sum = 0, count = 0;
    char name[256], frame[300];
    snprintf(frame, sizeof frame, "%s+", caller);
    for (const char *line = text; line != NULL && *line != '\0';
         line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        if (sscanf(line, "  %llu call%255s", &count, name) >= 1 && strncmp(line, "  ", 2) == 0 &&
            line[2] >= '0' && line[2] <= '9') {
            continue;
        }
        if (strncmp(line, "    #0 ", 7) == 0) {
            line += 7;
            line += strspn(line, " ");
            sum += strncmp(line, frame, strlen(frame)) == 0 ? count : 0;
        }
    }
    return sum;
}
