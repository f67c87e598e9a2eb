// SPDX-License-Identifier: Apache-2.0
/* Class names of blocking system calls. They are the same on all architectures (aarch64 has only
 * ppoll) and for all variants that C libraries use. */
#include <string.h>

#include "report_fingerprint.h"
#include "report_view.h"

/* Classes by the beginning of the names; the first match counts. A name without a class is its own
 * class. */
static const struct {
    const char *begin, *name;
} classes[] = {
    {"fsync", "sync"},           {"fdatasync", "sync"},  {"sync", "sync"},
    {"msync", "sync"},           {"nanosleep", "sleep"}, {"clock_nanosleep", "sleep"},
    {"pause", "sleep"},          {"poll", "poll"},       {"ppoll", "poll"},
    {"select", "poll"},          {"pselect", "poll"},    {"epoll_", "poll"},
    {"readlink", "path"},        {"readahead", "read"},  {"read", "read"},
    {"pread", "read"},           {"recv", "receive"},    {"write", "write"},
    {"pwrite", "write"},         {"sendfile", "write"},  {"send", "send"},
    {"wait4", "child"},          {"waitid", "child"},    {"vfork", "child"},
    {"accept", "accept"},        {"open", "path"},       {"stat", "path"},
    {"lstat", "path"},           {"newfstatat", "path"}, {"statx", "path"},
    {"access", "path"},          {"faccessat", "path"},  {"rename", "path"},
    {"unlink", "path"},          {"mkdir", "path"},      {"rmdir", "path"},
    {"getdents", "path"},        {"flock", "file lock"}, {"fcntl", "file lock"},
    {"sem", "semaphore"},        {"futex", "lock"},      {"rt_sigtimedwait", "signal"},
    {"rt_sigsuspend", "signal"},
};

const char *sonde__report_call_class(const struct sonde__report *report, int64_t number)
{
    const char *name = sonde__report_syscall_name(report, number);
    for (size_t i = 0; name != NULL && i < sizeof classes / sizeof *classes; i++) {
        if (strncmp(name, classes[i].begin, strlen(classes[i].begin)) == 0) {
            return classes[i].name;
        }
    }
    return name;
}
