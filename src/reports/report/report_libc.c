// SPDX-License-Identifier: Apache-2.0
#include "report_libc.h"

#include <string.h>

#include "arch_syscall.h"

/* With other names than the call that they make; also do_system(), a static function of glibc. */
static const char *const waiting[] = {
    "closedir", "do_system", "fclose",    "fflush", "fgetc",   "fgets",    "fputc",   "fputs",
    "fread",    "fscanf",    "fwrite",    "getc",   "getchar", "getdelim", "getline", "lockf",
    "mkstemp",  "opendir",   "pclose",    "popen",  "printf",  "putc",     "putchar", "puts",
    "readdir",  "recv",      "scanf",     "send",   "sigwait", "sleep",    "syscall", "system",
    "tcdrain",  "usleep",    "vfprintf",  "wait",   "waitpid", "fprintf",  "vprintf", "fopen",
    "freopen",  "sigpause",  "getentropy"};
static const char *const families[] = {"pthread_", "sem_", "thrd_", "mtx_", "cnd_"};

static bool is_reserved(const char *name)
{
    bool mangled =
        strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0 || strncmp(name, "__Z", 3) == 0;
    return name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z')) && !mangled;
}

bool sonde__report_is_libc(const char *name)
{
    if (is_reserved(name) || sonde__arch_syscall_number(SONDE_ARCH_X86_64, name) >= 0 ||
        sonde__arch_syscall_number(SONDE_ARCH_AARCH64, name) >= 0) {
        return true;
    }
    for (unsigned i = 0; i < sizeof families / sizeof *families; i++) {
        if (strncmp(name, families[i], strlen(families[i])) == 0) {
            return true;
        }
    }
    for (unsigned i = 0; i < sizeof waiting / sizeof *waiting; i++) {
        if (strcmp(name, waiting[i]) == 0) {
            return true;
        }
    }
    return false;
}
