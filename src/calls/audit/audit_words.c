// SPDX-License-Identifier: Apache-2.0
#include "audit_words.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base_old_stat.h"
#include "when.h"

/* Each word: its name, its type (i, t) and its argument from 1. Functions that are other forms of
 * these (audit_fortified.h) have the same arguments, those of base_old_stat.h behind another. */
static const struct {
    const char *function, *words;
} signatures[] = {
    {"getenv", "name:t1"},
    {"secure_getenv", "name:t1"},
    {"setenv", "name:t1 value:t2"},
    {"unsetenv", "name:t1"},
    {"open", "file:t1 flags:i2"},
    {"openat", "file:t2 flags:i3"},
    {"creat", "file:t1"},
    {"fopen", "file:t1 mode:t2"},
    {"freopen", "file:t1 mode:t2"},
    {"stat", "file:t1"},
    {"lstat", "file:t1"},
    {"fstat", "fd:i1"},
    {"fstatat", "file:t2 flags:i4"},
    {"access", "file:t1 mode:i2"},
    {"faccessat", "file:t2 mode:i3"},
    {"opendir", "file:t1"},
    {"unlink", "file:t1"},
    {"readlink", "file:t1"},
    {"statfs", "file:t1"},
    {"statvfs", "file:t1"},
    {"execve", "file:t1"},
    {"execv", "file:t1"},
    {"execvp", "file:t1"},
    {"execvpe", "file:t1"},
    {"system", "command:t1"},
    {"popen", "command:t1"},
    {"dlopen", "file:t1 flags:i2"},
    {"dlsym", "name:t2"},
    {"getaddrinfo", "name:t1 service:t2"},
    {"gethostbyname", "name:t1"},
    {"getpwnam", "name:t1"},
    {"getpwuid", "uid:i1"},
    {"sysctlbyname", "name:t1"},
    {"sysconf", "name:i1"},
    {"socket", "family:i1 type:i2 protocol:i3"},
    {"socketpair", "family:i1 type:i2 protocol:i3"},
    {"setsockopt", "fd:i1 level:i2 name:i3"},
    {"connect", "fd:i1"},
    {"bind", "fd:i1"},
    {"kill", "pid:i1 signal:i2"},
    {"killpg", "pid:i1 signal:i2"},
    {"ioctl", "fd:i1 request:i2"},
    {"fcntl", "fd:i1 request:i2"},
    {"ptrace", "request:i1 pid:i2"},
    {"prctl", "request:i1"},
    {"mmap", "protection:i3 flags:i4 fd:i5"},
    {"mprotect", "protection:i3"},
    {"clock_gettime", "clock:i1"},
    {"setuid", "uid:i1"},
    {"setgid", "gid:i1"},
};

#define CONSTANT(name)                                                                             \
    {                                                                                              \
#        name, name                                                                                \
    }
static const struct {
    const char *name;
    int64_t value;
} constants[] = {
    CONSTANT(O_ACCMODE),   CONSTANT(O_RDONLY),    CONSTANT(O_WRONLY),    CONSTANT(O_RDWR),
    CONSTANT(O_CREAT),     CONSTANT(O_EXCL),      CONSTANT(O_TRUNC),     CONSTANT(O_APPEND),
    CONSTANT(O_NONBLOCK),  CONSTANT(O_CLOEXEC),   CONSTANT(O_DIRECTORY), CONSTANT(O_NOFOLLOW),
    CONSTANT(AF_UNSPEC),   CONSTANT(AF_UNIX),     CONSTANT(AF_INET),     CONSTANT(AF_INET6),
    CONSTANT(SOCK_STREAM), CONSTANT(SOCK_DGRAM),  CONSTANT(SOCK_RAW),    CONSTANT(SOL_SOCKET),
    CONSTANT(PROT_NONE),   CONSTANT(PROT_READ),   CONSTANT(PROT_WRITE),  CONSTANT(PROT_EXEC),
    CONSTANT(MAP_SHARED),  CONSTANT(MAP_PRIVATE), CONSTANT(MAP_FIXED),   CONSTANT(SIGHUP),
    CONSTANT(SIGINT),      CONSTANT(SIGQUIT),     CONSTANT(SIGABRT),     CONSTANT(SIGKILL),
    CONSTANT(SIGSEGV),     CONSTANT(SIGTERM),     CONSTANT(SIGUSR1),     CONSTANT(SIGUSR2),
    CONSTANT(SIGCHLD),     CONSTANT(SIGSTOP),     CONSTANT(SIGCONT),     CONSTANT(AT_FDCWD),
    CONSTANT(F_DUPFD),     CONSTANT(F_GETFL),     CONSTANT(F_SETFL),     CONSTANT(F_SETLK),
};

static bool is_word(const char *name, const char *word, size_t size)
{
    return strlen(name) == size && memcmp(name, word, size) == 0;
}

bool sonde__audit_constant(const char *word, size_t size, uint64_t *ret_value)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (is_word(constants[i].name, word, size)) {
            *ret_value = (uint64_t)constants[i].value;
            return true;
        }
    }
    return false;
}

/* "arg2.text" */
static bool take_number(const char *word, size_t size, struct sonde__audit_argument *ret_argument)
{
    static const char *const types[] = {"", ".long", ".text"};
    if (size < 4 || memcmp(word, "arg", 3) != 0 || word[3] < '1' ||
        word[3] > '0' + SONDE__WHEN_ARGUMENTS) {
        return false;
    }
    for (unsigned type = 0; type < sizeof types / sizeof *types; type++) {
        if (is_word(types[type], word + 4, size - 4)) {
            *ret_argument = (struct sonde__audit_argument){(uint32_t)(word[3] - '1'),
                                                           (enum sonde__audit_type)type};
            return true;
        }
    }
    return false;
}

/* In "name:t1 value:t2". */
static bool find_in(const char *words, const char *word, size_t size,
                    struct sonde__audit_argument *ret_argument)
{
    while (*words != '\0') {
        const char *colon = strchr(words, ':');
        if ((size_t)(colon - words) == size && memcmp(words, word, size) == 0) {
            *ret_argument = (struct sonde__audit_argument){
                (uint32_t)(colon[2] - '1'), colon[1] == 't' ? SONDE__AUDIT_TEXT : SONDE__AUDIT_INT};
            return true;
        }
        words = colon + 3 + (colon[3] == ' ');
    }
    return false;
}

/* Null: none. */
static const char *words_of(const char *function)
{
    const char *current = sonde__base_old_stat(function, strlen(function));
    function = current != NULL ? current : function;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        if (strcmp(signatures[i].function, function) == 0) {
            return signatures[i].words;
        }
    }
    return NULL;
}

bool sonde__audit_has_words(const char *function)
{
    return words_of(function) != NULL;
}

bool sonde__audit_word(const char *function, const char *word, size_t size,
                       struct sonde__audit_argument *ret_argument)
{
    const char *words = words_of(function);
    if (!take_number(word, size, ret_argument) &&
        (words == NULL || !find_in(words, word, size, ret_argument))) {
        return false;
    }
    /* behind the version */
    ret_argument->index += sonde__base_old_stat(function, strlen(function)) != NULL;
    return ret_argument->index < SONDE__WHEN_ARGUMENTS;
}
