// SPDX-License-Identifier: Apache-2.0
/* As equals_faulthandler.py, with many stacks: a Python program is stopped at arbitrary instants,
 * and the script frames that are read are those that the interpreter's own faulthandler writes when
 * it goes on. Only stops count where one thread ran and had the interpreter's lock: the signal goes
 * to that thread, so no other one moves until its handler returns. */
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "python.h"
#include "target.h"
#include "target_script.h"

enum {
    FRAMES = 512,
    DUMP_FRAMES = 96, /* faulthandler shows no more than 100 */
    THREADS = 16,
    DUMP_BYTES = 1 << 18,
    NAME = 96,
};

struct frame {
    char function[NAME], file[NAME];
    unsigned line;
};

struct stack {
    struct frame frames[DUMP_FRAMES];
    unsigned count;
    bool is_taken;
    bool is_cut; /* 3.14 takes a frame without a line, or of its own, for a damaged one, and ends */
};

struct counts {
    unsigned stops, stacks, frames, joined, unread, wrong, ends;
};

/* What we read of the threads of a stop. */
struct ours {
    struct stack stacks[THREADS];
    unsigned count, joined;
    bool has_lock; /* the thread that ran has the lock */
};

static void sleep_ms(unsigned ms)
{
    (void)nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* From 3.12 on, calls of classes run through code of the interpreter's own, which tracebacks leave
 * out, but faulthandler shows: not script. */
static void put_frame(struct stack *stack, const char *function, const char *file, unsigned line)
{
    const char *dot = strrchr(function, '.'), *slash = strrchr(file, '/');
    bool is_shim = line == 0 && strcmp(function, "__init__") == 0 && strcmp(file, function) == 0;
    if (stack->count < DUMP_FRAMES && !is_shim) {
        struct frame *f = &stack->frames[stack->count++];
        snprintf(f->function, NAME, "%s", dot != NULL ? dot + 1 : function);
        snprintf(f->file, NAME, "%s", slash != NULL ? slash + 1 : file);
        f->line = line;
    }
}

/* --- the program --- */

static const char prelude[] =
    "import faulthandler, runpy, signal, sys\n"
    "sys.setrecursionlimit(5000)\n"
    "faulthandler.register(signal.SIGUSR1, file=open(sys.argv[1], 'a'), all_threads=True)\n"
    "sys.argv[:2] = []\n"
    "sys.path.insert(0, '')\n"
    "while True:\n"
    "    try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
    "    except SystemExit: pass\n";

static pid_t start(const char *python, const char *dump, const char *const *program)
{
    const char *argv[16] = {python, "-c", prelude, dump};
    for (unsigned i = 0; program[i] != NULL && i < 10; i++) {
        argv[4 + i] = program[i];
    }
    (void)unlink(dump);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        (void)dup2(null, 0);
        (void)dup2(null, 1);
        (void)dup2(null, 2);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    for (unsigned i = 0; i < 10000 && access(dump, F_OK) != 0; i++) {
        sleep_ms(1);
    }
    sleep_ms(300);
    return child;
}

/* Read a whole file of /proc, or the dump. (stdio's blocks would count as a leak.) */
static char *read_all(const char *path, char *ret, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 1;
    size_t size = 0;
    while (fd >= 0 && size + 1 < capacity && got > 0) {
        got = read(fd, ret + size, capacity - 1 - size);
        size += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    ret[size] = '\0';
    return ret;
}

/* Get what comes after a key at the start of a line. */
static bool find_line(pid_t pid, uint64_t tid, const char *file, const char *key, char ret[512])
{
    char path[96], text[4096];
    snprintf(path, sizeof path, "/proc/%d/task/%lu/%s", (int)pid, (unsigned long)tid, file);
    const char *at = read_all(path, text, sizeof text);
    while (at != NULL && strncmp(at, key, strlen(key)) != 0) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    snprintf(ret, 512, "%s", at != NULL ? at + strlen(key) : "");
    return at != NULL;
}

/* Stop it. Returns its one thread that is in no system call; 0: none, or several. */
static uint64_t stop(pid_t pid)
{
    char path[64], text[512];
    uint64_t runner = 0;
    unsigned runners = 0;
    kill(pid, SIGSTOP);
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        uint64_t tid = strtoull(e->d_name, NULL, 10);
        for (unsigned i = 0; tid != 0 && i < 10000; i++) {
            if (!find_line(pid, tid, "status", "State:\t", text) ||
                strchr("TtZX", text[0]) != NULL) {
                break;
            }
            sleep_ms(1);
        }
        if (tid != 0 && find_line(pid, tid, "syscall", "-1", text)) {
            runner = tid;
            runners++;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return runners == 1 ? runner : 0;
}

/* --- its own dump --- */

/* Is the signal pending, or its handler running, which blocks it? */
static bool is_handling(pid_t pid, uint64_t tid)
{
    char pending[512], blocked[512];
    uint64_t bit = (uint64_t)1 << (SIGUSR1 - 1);
    return find_line(pid, tid, "status", "SigPnd:\t", pending) &&
           find_line(pid, tid, "status", "SigBlk:\t", blocked) &&
           ((strtoull(pending, NULL, 16) | strtoull(blocked, NULL, 16)) & bit) != 0;
}

static unsigned parse(char *text, struct stack *stacks)
{
    unsigned count = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char file[512], function[256], number[16];
        if (strncmp(line, "Current thread 0x", 17) == 0 || strncmp(line, "Thread 0x", 9) == 0) {
            CHECK(count < THREADS);
            stacks[count] = (struct stack){.count = 0};
            count++;
        } else if (count > 0 &&
                   (strcmp(line, "  ...") == 0 || strstr(line, "<invalid frame>") != NULL)) {
            stacks[count - 1].is_cut = true;
        } else if (count > 0 && sscanf(line, "  File \"%511[^\"]\", line %15s in %255[^\n]", file,
                                       number, function) == 3) {
            put_frame(&stacks[count - 1], function, file, (unsigned)strtoul(number, NULL, 10));
        }
    }
    return count;
}

/* Does the thread live? One that dies shows neither pending nor blocked signals. */
static bool lives(pid_t pid, uint64_t tid)
{
    char state[512];
    return find_line(pid, tid, "status", "State:\t", state) && strchr("ZX", state[0]) == NULL;
}

static bool has_ended(pid_t pid)
{
    siginfo_t ended = {.si_pid = 0};
    (void)waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT);
    return ended.si_pid != 0;
}

/* Get the dump. *ret_whole false: the thread ended, and its dump may be cut. Returns false: the
 * program ended. */
static bool dump_of(pid_t pid, uint64_t tid, const char *path, struct stack *stacks,
                    unsigned *ret_count, bool *ret_whole)
{
    static char text[DUMP_BYTES];
    bool is_whole = false;
    CHECK_EQ(syscall(SYS_tgkill, pid, tid, SIGUSR1), 0);
    kill(pid, SIGCONT);
    for (unsigned i = 0; i < 20000 && !is_whole && !has_ended(pid); i++) {
        is_whole = strstr(read_all(path, text, sizeof text), "Current thread") != NULL &&
                   !is_handling(pid, tid) && lives(pid, tid);
        if (!is_whole) {
            sleep_ms(1);
        }
        if (!is_whole && i > 1000 && !lives(pid, tid)) {
            break;
        }
    }
    read_all(path, text, sizeof text);
    *ret_count = parse(text, stacks);
    *ret_whole = is_whole;
    return is_whole || !has_ended(pid);
}

/* --- ours --- */

static void add_ours(const struct sonde__target_script *read, struct ours *ours)
{
    struct stack *stack = &ours->stacks[ours->count++];
    *stack = (struct stack){.count = 0};
    for (uint32_t f = 0; f < read->script.count; f++) {
        const struct sonde__script_frame *frame = &read->script.frames[f];
        put_frame(stack, frame->function, frame->file, frame->line);
    }
    ours->joined += read->joined;
}

static void read_ours(struct sonde__target *target, uint64_t runner, struct ours *ours)
{
    const struct sonde__thread *threads = NULL;
    uint32_t thread_count = 0;
    ours->count = ours->joined = 0;
    ours->has_lock = false;
    CHECK_OK(sonde__target_refresh(target, NULL));
    CHECK_OK(sonde__target_threads(target, &threads, &thread_count, NULL));
    for (uint32_t i = 0; i < thread_count && ours->count < THREADS; i++) {
        struct sonde__thread thread = threads[i];
        uint64_t pcs[FRAMES];
        uint8_t how[FRAMES];
        struct sonde_stack stack = {0};
        struct sonde__capture capture = {0};
        stack.pcs = pcs;
        stack.how = how;
        stack.capacity = FRAMES;
        sonde__target_capture(target, &thread, &stack, &capture);
        const struct sonde__target_script *read = sonde__target_script(target);
        ours->has_lock |= thread.tid == runner && read->script.lock == SONDE__SCRIPT_LOCK_HELD;
        if (read->script.state == SONDE__SCRIPT_READ) {
            add_ours(read, ours);
        }
    }
}

/* Equal, but for a frame that is being entered, which only faulthandler shows: `skip`. */
static bool equals(const struct stack *theirs, unsigned skip, const struct stack *ours)
{
    unsigned n = theirs->count - skip < ours->count ? theirs->count - skip : ours->count;
    bool may_differ = n >= DUMP_FRAMES - 1 || (theirs->is_cut && ours->count > n);
    if (n == 0 || (theirs->count - skip != ours->count && !may_differ)) {
        return false;
    }
    return memcmp(theirs->frames + skip, ours->frames, n * sizeof(struct frame)) == 0;
}

static void print_stack(const char *whose, const struct stack *stack)
{
    fprintf(stderr, "  %s, %u frames:", whose, stack->count);
    for (unsigned i = 0; i < stack->count && i < 6; i++) {
        const struct frame *f = &stack->frames[i];
        fprintf(stderr, " %s %s:%u", f->function, f->file, f->line);
    }
    fprintf(stderr, "\n");
}

static void compare(const struct stack *theirs, unsigned their_count, struct ours *ours,
                    struct counts *counts)
{
    unsigned unread = 0,
             undecided = 0; /* undecided: cut at once, by a frame that is being entered */
    for (unsigned i = 0; i < their_count; i++) {
        bool is_found = theirs[i].count == 0 && !theirs[i].is_cut;
        for (unsigned j = 0; j < ours->count && !is_found; j++) {
            struct stack *stack = &ours->stacks[j];
            is_found =
                !stack->is_taken && (equals(&theirs[i], 0, stack) || equals(&theirs[i], 1, stack));
            stack->is_taken |= is_found;
        }
        unread += !is_found;
        undecided += !is_found && theirs[i].is_cut && theirs[i].count <= 1;
        counts->stacks += theirs[i].count > 0;
        counts->frames += theirs[i].count;
    }
    for (unsigned j = 0; j < ours->count; j++) {
        if (!ours->stacks[j].is_taken && undecided > 0) {
            undecided--;
        } else if (!ours->stacks[j].is_taken) {
            counts->wrong++;
            print_stack("ours", &ours->stacks[j]);
            for (unsigned i = 0; i < their_count; i++) {
                print_stack("theirs", &theirs[i]);
            }
        }
    }
    counts->unread += unread;
    counts->joined += ours->joined;
    counts->stops++;
}

/* Stop the program once, and count. False: it ended. */
static bool compare_once(struct sonde__target *target, pid_t child, const char *dump,
                         struct counts *counts)
{
    static struct stack theirs[THREADS];
    static struct ours ours;
    unsigned their_count = 0;
    bool is_whole = false;
    uint64_t runner = stop(child);
    if (runner != 0) {
        CHECK_EQ(truncate(dump, 0), 0);
        read_ours(target, runner, &ours);
    }
    if (runner == 0 || !ours.has_lock) {
        kill(child, SIGCONT);
        return true;
    }
    if (!dump_of(child, runner, dump, theirs, &their_count, &is_whole)) {
        return false;
    }
    if (is_whole) {
        compare(theirs, their_count, &ours, counts);
    }
    return true;
}

/* Run the program until it ends, or there are enough stacks. */
static void run_once(const char *python, const char *const *program, unsigned stacks,
                     struct counts *counts)
{
    static const struct sonde__target_options options = {.scripts = true};
    struct sonde__target *target = NULL;
    struct sonde_error error = {0};
    bool runs = true;
    char dump[512];
    snprintf(dump, sizeof dump, "%s/dump", test_folder());
    pid_t child = start(python, dump, program);
    CHECK_OK(sonde__target_open_process(child, &options, &target, &error));
    for (unsigned i = 0; i < 20 * stacks && counts->stacks < stacks && runs; i++) {
        sleep_ms(1 + i % 7);
        runs = compare_once(target, child, dump, counts);
    }
    sonde__target_close(target);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    counts->ends += !runs;
}

/* 2 % of a few stacks is less than one: what a few cannot prove is asked of more. */
static unsigned wanted_of(const struct counts *counts, unsigned stacks)
{
    unsigned wanted = 100 * counts->unread;
    wanted = wanted > 1800 ? 1800 : wanted;
    return wanted > stacks ? wanted : stacks;
}

static void run(const char *python, const char *const *program, unsigned stacks, unsigned ends)
{
    struct counts counts = {0};
    unsigned before = 0;
    do {
        before = counts.stacks;
        run_once(python, program, wanted_of(&counts, stacks), &counts);
    } while (counts.stacks < wanted_of(&counts, stacks) && counts.ends <= ends &&
             (counts.ends != 0 || counts.stacks > before));
    fprintf(stderr, "%s: %u stops, %u stacks, %u frames, %u joined, %u unread, %u wrong, %u ends\n",
            program[0], counts.stops, counts.stacks, counts.frames, counts.joined, counts.unread,
            counts.wrong, counts.ends);
    CHECK(counts.ends <= ends);
    CHECK(counts.stacks >= stacks);
    CHECK_EQ(counts.wrong, 0);
    CHECK(50 * counts.unread <= counts.stacks); /* it enters the loop: 2 % */
}

/* --- the programs --- */

static void compare_program(const char *python, const char *const *program)
{
    if (access(python, X_OK) != 0 || access(program[0], R_OK) != 0) {
        SKIP("no %s, or no %s", python, program[0]);
    }
    /* 3.13.0's faulthandler dies of a frame that is being made */
    run(python, program, test_long() ? 1800 : 20, strstr(python, "/3.13.0/") != NULL ? 200 : 0);
}

#define LIBRARY "/usr/lib/python3.11/"

enum { TIMEOUT_S = 1800 };

/* A target's self-test starts a thread, whose arena glibc keeps: the harness would count it. */
static __attribute__((constructor)) void keep_one_arena(void)
{
    (void)mallopt(M_ARENA_MAX, 1);
}

TEST_TIMEOUT(tabnanny, TIMEOUT_S)
{
    compare_program(PYTHON_OF_DEBIAN,
                    (const char *[]){LIBRARY "tabnanny.py", LIBRARY "asyncio", NULL});
}

TEST_TIMEOUT(ast, TIMEOUT_S)
{
    compare_program(PYTHON_OF_DEBIAN,
                    (const char *[]){LIBRARY "ast.py", LIBRARY "typing.py", NULL});
}

TEST_TIMEOUT(dis, TIMEOUT_S)
{
    compare_program(PYTHON_OF_DEBIAN,
                    (const char *[]){LIBRARY "dis.py", LIBRARY "typing.py", NULL});
}

TEST_TIMEOUT(traced, TIMEOUT_S)
{
    compare_program(PYTHON_OF_DEBIAN,
                    (const char *[]){LIBRARY "trace.py", "--trace", LIBRARY "tabnanny.py",
                                     LIBRARY "json", NULL});
}

TEST_TIMEOUT(profiled, TIMEOUT_S)
{
    compare_program(PYTHON_OF_DEBIAN,
                    (const char *[]){LIBRARY "cProfile.py", "-o", "/dev/null", LIBRARY "pyclbr.py",
                                     LIBRARY "ast.py", NULL});
}

/* A program of this folder. version: find_python() */
static void compare_own(const char *version, const char *name)
{
    char path[4096], python[1024];
    snprintf(path, sizeof path, "%s/tests/integration/script/%s", test_source_dir(), name);
    find_python(version, python);
    compare_program(python, (const char *[]){path, NULL});
}

/* Threads, coroutines, generators, exceptions, callbacks; and code objects that take each other's
 * place in memory. */
#define OWN_PROGRAMS(name, version)                                                                \
    TEST_TIMEOUT(mixed_##name, TIMEOUT_S)                                                          \
    {                                                                                              \
        compare_own(version, "mixed.py");                                                          \
    }                                                                                              \
    TEST_TIMEOUT(made_anew_##name, TIMEOUT_S)                                                      \
    {                                                                                              \
        compare_own(version, "made_anew.py");                                                      \
    }

OWN_PROGRAMS(3_8, "3.8.18")
OWN_PROGRAMS(3_9, "3.9.18")
OWN_PROGRAMS(3_10, "3.10.13")
OWN_PROGRAMS(3_11, PYTHON_OF_DEBIAN)
OWN_PROGRAMS(3_12, "3.12.1")
OWN_PROGRAMS(3_13, "3.13.0")
OWN_PROGRAMS(3_14, "3.14")
