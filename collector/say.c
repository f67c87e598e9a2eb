// SPDX-License-Identifier: Apache-2.0
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static void say(const char *level, const char *format, va_list list)
{
    char text[1024], line[1400];
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    vsnprintf(text, sizeof text, format, list);
    size_t used = strftime(line, sizeof line, "time=%Y-%m-%dT%H:%M:%S", &parts);
    used += (size_t)snprintf(line + used, sizeof line - used, ".%03ldZ level=%s msg=\"",
                             now.tv_nsec / 1000000, level);
    for (const char *c = text; *c != '\0' && used < sizeof line - 4; c++) {
        if (*c == '"' || *c == '\\') {
            line[used++] = '\\';
        }
        line[used++] = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
    }
    line[used++] = '"';
    line[used++] = '\n';
    fwrite(line, 1, used, stderr); /* one call, one line, also from several threads */
}

void say_info(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("info", format, list);
    va_end(list);
}

void say_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("error", format, list);
    va_end(list);
}
