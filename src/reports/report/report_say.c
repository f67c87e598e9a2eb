// SPDX-License-Identifier: Apache-2.0
#include "report_say.h"

#include <stdarg.h>
#include <stdio.h>

void sonde__report_say(struct sonde__say say, const char *format, ...)
{
    char line[512];
    va_list list;
    if (say.line == NULL) {
        return;
    }
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    say.line(say.ctx, line);
}
