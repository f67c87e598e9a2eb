// SPDX-License-Identifier: Apache-2.0
#include "audit_words.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base_old_stat.h"
#include "when.h"

/* Each word: its name, its type and its argument from 1. Functions that are other forms of these
 * (audit_fortified.h) have the same arguments, those of base_old_stat.h behind another. Types: i a
 * number; t a text, and a path if the call opens it as one; s a text that may be searched for in
 * several folders; a an address, whose size is the next argument; m a message with an address. A
 * path is relative to the folder in the argument before it, if that is named "dir". */
static const struct {
    const char *function, *words;
} signatures[] = {
    {"getenv", "name:t1"},
    {"secure_getenv", "name:t1"},
    {"setenv", "name:t1 value:t2"},
    {"unsetenv", "name:t1"},
    {"open", "file:t1 flags:i2"},
    {"openat", "dir:i1 file:t2 flags:i3"},
    {"creat", "file:t1"},
    {"fopen", "file:t1 mode:t2"},
    {"freopen", "file:t1 mode:t2"},
    {"stat", "file:t1"},
    {"lstat", "file:t1"},
    {"fstat", "fd:i1"},
    {"fstatat", "dir:i1 file:t2 flags:i4"},
    {"access", "file:t1 mode:i2"},
    {"faccessat", "dir:i1 file:t2 mode:i3"},
    {"opendir", "file:t1"},
    {"unlink", "file:t1"},
    {"unlinkat", "dir:i1 file:t2 flags:i3"},
    {"remove", "file:t1"},
    {"rename", "file:t1 to:t2"},
    {"renameat", "dir:i1 file:t2 dir:i3 to:t4"},
    {"renameat2", "dir:i1 file:t2 dir:i3 to:t4 flags:i5"},
    {"link", "file:t1 to:t2"},
    {"linkat", "dir:i1 file:t2 dir:i3 to:t4 flags:i5"},
    {"mkdir", "file:t1 mode:i2"},
    {"mkdirat", "dir:i1 file:t2 mode:i3"},
    {"rmdir", "file:t1"},
    {"chdir", "file:t1"},
    {"chmod", "file:t1 mode:i2"},
    {"syscall:fchmodat", "dir:i1 file:t2 mode:i3"},
    {"fchmodat", "dir:i1 file:t2 mode:i3 flags:i4"},
    {"chown", "file:t1 uid:i2 gid:i3"},
    {"lchown", "file:t1 uid:i2 gid:i3"},
    {"fchownat", "dir:i1 file:t2 uid:i3 gid:i4 flags:i5"},
    {"truncate", "file:t1"},
    {"statx", "dir:i1 file:t2 flags:i3"},
    {"readlink", "file:t1"},
    {"readlinkat", "dir:i1 file:t2"},
    {"statfs", "file:t1"},
    {"statvfs", "file:t1"},
    {"execve", "file:t1"},
    {"execv", "file:t1"},
    {"execvp", "file:s1"},
    {"execvpe", "file:s1"},
    {"system", "command:t1"},
    {"popen", "command:t1"},
    {"dlopen", "file:s1 flags:i2"},
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
    {"connect", "fd:i1 addr:a2"},
    {"bind", "fd:i1 addr:a2"},
    {"sendto", "fd:i1 size:i3 flags:i4 addr:a5"},
    {"sendmsg", "fd:i1 addr:m2 flags:i3"},
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

/* A word of a signature: "name:t1". */
struct known {
    const char *name;
    size_t size;
    char type;      /* 0: not known */
    uint32_t index; /* from 0 */
};

static bool next_known(const char **words, struct known *ret_known)
{
    const char *colon = *words != NULL ? strchr(*words, ':') : NULL;
    if (colon == NULL) {
        return false;
    }
    *ret_known =
        (struct known){*words, (size_t)(colon - *words), colon[1], (uint32_t)(colon[2] - '1')};
    *words = colon + 3 + (colon[3] == ' ');
    return true;
}

static bool find_name(const char *words, const char *name, size_t size, struct known *ret_known)
{
    while (next_known(&words, ret_known)) {
        if (ret_known->size == size && memcmp(ret_known->name, name, size) == 0) {
            return true;
        }
    }
    return false;
}

static struct known find_index(const char *words, uint32_t index)
{
    struct known known;
    while (next_known(&words, &known)) {
        if (known.index == index) {
            return known;
        }
    }
    return (struct known){.index = index};
}

/* Null: none. */
static const char *words_of(const char *function)
{
    /* what is listed has the same arguments as system call, unless that is listed itself */
    static const char by_number[] = "syscall:";
    const char *current = sonde__base_old_stat(function, strlen(function));
    bool is_number = strncmp(function, by_number, sizeof by_number - 1) == 0;
    const char *name = current != NULL ? current
                       : is_number     ? function + sizeof by_number - 1
                                       : function;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        if (strcmp(signatures[i].function, function) == 0 ||
            strcmp(signatures[i].function, name) == 0) {
            return signatures[i].words;
        }
    }
    return NULL;
}

bool sonde__audit_has_words(const char *function)
{
    return words_of(function) != NULL;
}

/* Null: neither "arg" nor "arg1" to "arg6". *ret_index may be too large. */
static const char *read_number(const char *word, size_t size, uint32_t chosen, uint32_t *ret_index)
{
    if (size < 3 || memcmp(word, "arg", 3) != 0) {
        return NULL;
    }
    bool has_digit = size > 3 && word[3] >= '1' && word[3] <= '0' + SONDE__WHEN_ARGUMENTS;
    if (!has_digit && chosen == 0) {
        return NULL;
    }
    *ret_index = has_digit ? (uint32_t)(word[3] - '1') : chosen - 1;
    return word + 3 + has_digit;
}

/* What an argument without a suffix is. */
static enum sonde__audit_type natural_type(char type)
{
    return type == 't' || type == 's'   ? SONDE__AUDIT_TEXT
           : type == 'a' || type == 'm' ? SONDE__AUDIT_ADDRESS
                                        : SONDE__AUDIT_INT;
}

/* Has an argument of this kind such a part? Of an unknown one, only what needs no other. */
static bool has_type(char type, enum sonde__audit_type wanted)
{
    bool is_address = type == 'a' || type == 'm';
    return wanted == SONDE__AUDIT_PATH      ? type == 't' || type == '\0'
           : wanted >= SONDE__AUDIT_ADDRESS ? is_address
                                            : true;
}

static bool read_suffix(const char *suffix, size_t size, enum sonde__audit_type *type)
{
    static const struct {
        const char *text;
        enum sonde__audit_type type;
    } suffixes[] = {
        {".long", SONDE__AUDIT_LONG},     {".text", SONDE__AUDIT_TEXT},
        {".path", SONDE__AUDIT_PATH},     {".addr", SONDE__AUDIT_ADDRESS},
        {".family", SONDE__AUDIT_FAMILY}, {".port", SONDE__AUDIT_PORT},
    };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (is_word(suffixes[i].text, suffix, size)) {
            *type = suffixes[i].type;
            return true;
        }
    }
    return size == 0;
}

/* The argument that a second one belongs to has this one. */
static uint32_t other_of(const char *words, const struct known *known, enum sonde__audit_type type)
{
    if (type == SONDE__AUDIT_PATH && known->index > 0) {
        struct known before = find_index(words, known->index - 1);
        return before.type != '\0' && before.size == 3 && memcmp(before.name, "dir", 3) == 0
                   ? before.index
                   : SONDE__WHEN_NONE;
    }
    return type >= SONDE__AUDIT_ADDRESS && known->type == 'a' ? known->index + 1 : SONDE__WHEN_NONE;
}

/* Folders of paths are not known of openat() and the like, unless they are listed. */
static bool has_folder(const char *function)
{
    size_t size = strlen(function);
    return size > 2 && strcmp(function + size - 2, "at") == 0;
}

bool sonde__audit_word(const char *function, uint32_t chosen, const char *word, size_t size,
                       struct sonde__audit_argument *ret_argument)
{
    const char *words = words_of(function), *end = word + size, *suffix;
    struct known known = {.type = '\0'};
    enum sonde__audit_type type;
    uint32_t index;
    if (is_word("path", word, size)) {
        type = SONDE__AUDIT_PATH;
        suffix = end;
        if (!find_name(words, "file", 4, &known)) {
            return false;
        }
    } else if ((suffix = read_number(word, size, chosen, &index)) != NULL) {
        known = find_index(words, index);
        bool is_chosen = suffix == word + 3;
        type = is_chosen ? natural_type(known.type) : SONDE__AUDIT_INT;
    } else {
        suffix = memchr(word, '.', size);
        suffix = suffix != NULL ? suffix : end;
        if (!find_name(words, word, (size_t)(suffix - word), &known)) {
            return false;
        }
        type = natural_type(known.type);
    }
    bool is_good = read_suffix(suffix, (size_t)(end - suffix), &type) &&
                   known.index < SONDE__WHEN_ARGUMENTS && has_type(known.type, type) &&
                   !(type == SONDE__AUDIT_PATH && words == NULL && has_folder(function));
    uint32_t other = other_of(words, &known, type);
    /* behind the version */
    bool is_old = sonde__base_old_stat(function, strlen(function)) != NULL;
    *ret_argument = (struct sonde__audit_argument){
        .index = known.index + is_old,
        .other = other + (is_old && other != SONDE__WHEN_NONE),
        .type = type,
        .is_message = known.type == 'm',
    };
    return is_good && ret_argument->index < SONDE__WHEN_ARGUMENTS;
}
