// SPDX-License-Identifier: Apache-2.0
#include "report_line.h"

#include <stdarg.h>
#include <stdio.h>

void sonde__report_line(struct sonde__report_lines lines, const char *format, ...)
{
    char line[512];
    va_list list;
    if (lines.line == NULL) {
        return;
    }
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    lines.line(lines.ctx, line);
}
