// SPDX-License-Identifier: Apache-2.0
/* Follows programs: instead of PROGRAM, the process executes `sonde run ... -- PROGRAM argv...`,
 * which inspects the program's file and then executes it in the same process.
 *
 * Invariant: if the real call would fail, the real call is made. So the file is checked first, as
 * far as a vfork child can: no heap, no lock, no write to the parent's memory except a counter, no
 * cancellation point. Context: handler. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base_text.h"
#include "os_confined.h"
#include "preload_wrap.h"

struct sonde__probe_follow *preload_follow;
bool preload_follow_all;
static int seccomp_at_start;
static bool traced_at_start;

static bool is_traced(void);
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

void preload_learn_follow(int fd, const struct sonde__probe_page *page)
{
    void *at = mmap(NULL, sizeof *preload_follow, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    (off_t)SONDE__PROBE_FOLLOW_OFFSET);
    if (at != MAP_FAILED) {
        seccomp_at_start = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
        traced_at_start = is_traced(); /* by what runs around sonde, which has seen it execute */
        preload_follow = at;
        preload_follow_all = page->follows == SONDE__PROBE_FOLLOWS_ALL;
    }
}

/* A fork child has no page, or its own (workers.c); a vfork child has its parent's. */
static bool is_own_process(void)
{
    const struct sonde__probe_page *page = preload_page();
    return page != NULL && atomic_load(&page->pid) == (int32_t)syscall(SYS_getpid);
}

bool preload_follows_exec(void)
{
    return preload_follow != NULL && (preload_follow_all || is_own_process());
}

/* Wake the supervisor: if it sleeps until a thread is busy, it does not notice the end of the
 * program. */
void preload_leave_program(void)
{
    struct sonde__probe_page *page = preload_page();
    if (page == NULL || atomic_load(&page->confined) != 0 || !is_own_process()) {
        return;
    }
    atomic_store_explicit(&page->replaced, 1, memory_order_relaxed);
    if (atomic_exchange_explicit(&page->sleeping, 0, memory_order_seq_cst) != 0) {
        preload_wake(page);
    }
}

void preload_stay_in_program(void)
{
    struct sonde__probe_page *page = preload_page();
    if (page != NULL) {
        atomic_store_explicit(&page->replaced, 0, memory_order_relaxed);
    }
}

static bool contains(const char *text, const char *part)
{
    for (; *text != '\0'; text++) {
        if (sonde__base_starts_with(text, part)) {
            return true;
        }
    }
    return false;
}

/* Is there a variable that would make the loader treat sonde as the program? Or AddressSanitizer,
 * which must be the first library? */
static bool is_for_the_loader(char *const envp[])
{
    static const char *const names[] = {
        "LD_TRACE_LOADED_OBJECTS=", "LD_DEBUG=", "LD_AUDIT=", "LD_SHOW_AUXV=", "LD_PROFILE="};
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++) {
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
            if (sonde__base_starts_with(envp[i], names[n])) {
                return true;
            }
        }
        if (sonde__base_starts_with(envp[i], "LD_PRELOAD=") && contains(envp[i], "libasan")) {
            return true;
        }
    }
    return false;
}

/* The kernel checks PT_INTERP and a script's interpreter; we check only the latter. */
static bool has_interpreter(char *head)
{
    char *from = head + 2;
    while (*from == ' ' || *from == '\t') {
        from++;
    }
    char *to = from;
    while (*to != '\0' && *to != ' ' && *to != '\t' && *to != '\n') {
        to++;
    }
    bool whole = *to != '\0';
    *to = '\0';
    return whole && *from != '\0' && syscall(SYS_faccessat, AT_FDCWD, from, X_OK) == 0;
}

/* The kernel may run programs of a smaller word size; sonde reports them as not watched. */
static bool is_of_this_family(const char *head)
{
    unsigned machine = (unsigned char)head[18] | (unsigned)(unsigned char)head[19] << 8;
    unsigned own = __ehdr_start.e_machine;
    if (head[EI_CLASS] == (char)__ehdr_start.e_ident[EI_CLASS]) {
        return machine == own;
    }
    return head[EI_CLASS] == ELFCLASS32 &&
           ((own == EM_X86_64 && machine == EM_386) || (own == EM_AARCH64 && machine == EM_ARM));
}

/* Would the kernel execute this file, as far as we can tell? */
static bool is_program(const char *path)
{
    char head[257];
    if (syscall(SYS_faccessat, AT_FDCWD, path, X_OK) != 0) {
        return false;
    }
    int fd =
        (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) {
        return false;
    }
    long n = syscall(SYS_read, fd, head, sizeof head - 1);
    (void)syscall(SYS_close, fd);
    if (n < 3) {
        return false;
    }
    head[n] = '\0';
    if (head[0] == '#' && head[1] == '!') {
        return has_interpreter(head);
    }
    return n >= 20 && sonde__base_starts_with(head, "\177ELF") && is_of_this_family(head);
}

/* A seccomp filter installed after the start may kill the process for sonde's system calls. */
static bool is_newly_confined(void)
{
    return sonde__os_is_confined() ||
           (seccomp_at_start == 0 && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0);
}

/* Is this thread traced? gdb counts its child's execs up to the program to debug, and strace shows
 * each system call. */
static bool is_traced(void)
{
    static const char field[] = "\nTracerPid:\t";
    char text[1024];
    int fd =
        (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0);
    long n = fd >= 0 ? syscall(SYS_read, fd, text, sizeof text - 1) : 0;
    if (fd >= 0) {
        (void)syscall(SYS_close, fd);
    }
    text[n > 0 ? n : 0] = '\0';
    for (const char *c = text; *c != '\0'; c++) {
        if (sonde__base_starts_with(c, field)) {
            return c[sizeof field - 1] != '0';
        }
    }
    return false;
}

void preload_count_missed(enum sonde__probe_missed reason)
{
    atomic_fetch_add_explicit(&preload_follow->missed, 1, memory_order_relaxed);
    atomic_fetch_or_explicit(&preload_follow->reasons, (uint32_t)reason, memory_order_relaxed);
}

void preload_count_stranger(void)
{
    if (preload_follow != NULL && !preload_follow_all) {
        atomic_fetch_add_explicit(&preload_follow->strangers, 1, memory_order_relaxed);
    }
}

bool preload_begin_stranger(void)
{
    if (preload_follow == NULL || preload_follow_all || is_own_process()) {
        return false;
    }
    preload_count_stranger();
    return true;
}

void preload_end_stranger(bool begun)
{
    if (begun) {
        atomic_fetch_sub_explicit(&preload_follow->strangers, 1, memory_order_relaxed);
    }
}

bool preload_may_follow(char *const envp[])
{
    if (is_newly_confined()) {
        preload_count_missed(SONDE__PROBE_CONFINED);
        return false;
    }
    if (is_for_the_loader(envp)) {
        preload_count_missed(SONDE__PROBE_FOR_LOADER);
        return false;
    }
    if (!traced_at_start && is_traced()) {
        preload_count_missed(SONDE__PROBE_TRACED);
        return false;
    }
    return true;
}

static bool fill(const char *path, char *const argv[], struct preload_command *command)
{
    const char *word = preload_follow->text;
    size_t n = 0, i = 0;
    while (n < preload_follow->words && n < SONDE__PROBE_FOLLOW_WORDS) {
        command->words[n++] = word;
        while (*word++ != '\0') {
        }
    }
    command->words[n++] = path;
    for (i = 0; argv[i] != NULL; i++) {
        if (i == PRELOAD_ARGUMENTS_MAX) {
            preload_count_missed(SONDE__PROBE_TOO_LONG);
            return false;
        }
        command->words[n++] = argv[i];
    }
    command->words[n] = NULL;
    return true;
}

/* Does the path depend on the process (its executable, its descriptors)? It would mean another file
 * once the process is sonde. */
static bool is_of_process(const char *path)
{
    return sonde__base_starts_with(path, "/proc/") || sonde__base_starts_with(path, "/dev/fd/");
}

bool preload_make_command(const char *path, char *const argv[], char *const envp[],
                          struct preload_command *ret_command)
{
    int saved = errno;
    bool known = path != NULL && path[0] != '\0' && argv != NULL && argv[0] != NULL;
    bool made = known && is_program(path) && preload_may_follow(envp);
    if (made && is_of_process(path)) {
        preload_count_missed(SONDE__PROBE_BY_FILE);
        made = false;
    }
    made = made && fill(path, argv, ret_command);
    errno = saved;
    return made;
}

static const char *find_search_path(void)
{
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (sonde__base_starts_with(*e, "PATH=")) {
            return *e + sizeof "PATH=" - 1;
        }
    }
    return "/bin:/usr/bin"; /* confstr(_CS_PATH) of glibc */
}

/* Make "folder/name"; folder ends at a colon, and an empty one is the current folder. */
static bool join(const char *folder, const char *name, char *ret_path)
{
    size_t n = 0;
    while (folder[n] != '\0' && folder[n] != ':') {
        if (n == PRELOAD_PATH_MAX - 2) {
            return false;
        }
        ret_path[n] = folder[n];
        n++;
    }
    if (n > 0) {
        ret_path[n++] = '/';
    }
    for (; *name != '\0'; name++) {
        if (n == PRELOAD_PATH_MAX - 1) {
            return false;
        }
        ret_path[n++] = *name;
    }
    ret_path[n] = '\0';
    return true;
}

bool preload_find(const char *name, char *ret_path)
{
    int saved = errno;
    bool found = false;
    const char *folder = find_search_path();
    for (const char *c = name; c != NULL && *c != '\0'; c++) {
        if (*c == '/') {
            found = join("", name, ret_path);
            errno = saved;
            return found;
        }
    }
    while (name != NULL && name[0] != '\0' && !found) {
        found = join(folder, name, ret_path) &&
                syscall(SYS_faccessat, AT_FDCWD, ret_path, X_OK) == 0 && is_program(ret_path);
        while (*folder != '\0' && *folder != ':') {
            folder++;
        }
        if (*folder++ == '\0') {
            break;
        }
    }
    errno = saved;
    return found;
}
