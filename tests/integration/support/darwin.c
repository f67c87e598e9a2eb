// SPDX-License-Identifier: Apache-2.0
#include "darwin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

enum { COMMAND_BYTES = 4096 };

static struct test_run run(const char *format, va_list arguments)
{
    char command[COMMAND_BYTES];
    int used = snprintf(command, sizeof command, "cd '%s' && ", test_folder());
    vsnprintf(command + used, sizeof command - (size_t)used, format, arguments);
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run result = test_run(argv, NULL, NULL, 200);
    if (result.status != 0) {
        FAIL("%s: %s", command, result.err);
    }
    return result;
}

void darwin_shell(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct test_run result = run(format, arguments);
    va_end(arguments);
    test_run_done(&result);
}

char *darwin_output(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct test_run result = run(format, arguments);
    va_end(arguments);
    char *text = strdup(result.out);
    CHECK(text != NULL);
    test_run_done(&result);
    return text;
}

void darwin_build(const char *source, const char *triple, const char *cflags, const char *lflags,
                  const char *name)
{
    const char *dash = strchr(triple, '-');
    const char *platform = strstr(triple, "watchos") != NULL ? "watchos 8 8"
                           : strstr(triple, "ios") != NULL   ? "ios 14 14"
                                                             : "macos 13 13";
    int length = dash != NULL ? (int)(dash - triple) : (int)strlen(triple);
    darwin_shell("clang-19 -target %s -fblocks -ffreestanding %s -c '%s/%s' -o %s.o && "
                 "ld64.lld-19 -arch %.*s -platform_version %s -undefined dynamic_lookup %s "
                 "-o %s %s.o",
                 triple, cflags, test_source_dir(), source, name, length, triple, platform, lflags,
                 name, name);
}

void darwin_npm(const char *file, const char *arch, char *ret_path, size_t size)
{
    const char *cache = getenv("SONDE_CACHE"), *folder = getenv("XDG_CACHE_HOME");
    if (cache != NULL) {
        snprintf(ret_path, size, "%s/npm/%s", cache, file);
    } else if (folder != NULL) {
        snprintf(ret_path, size, "%s/sonde/npm/%s", folder, file);
    } else {
        snprintf(ret_path, size, "%s/.cache/sonde/npm/%s", getenv("HOME"), file);
    }
    if (access(ret_path, R_OK) != 0) {
        SKIP("not fetched: %s", ret_path);
    }
    if (arch != NULL) {
        darwin_shell("llvm-lipo-19 -thin %s -output thin '%s'", arch, ret_path);
        snprintf(ret_path, size, "%s/thin", test_folder());
    }
}
