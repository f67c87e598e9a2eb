// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test_machine.h"

enum { ARGUMENTS_MAX = 64, PATHS = 8, LOOK_MS = 20 };

static char *next_path(void)
{
    static char paths[PATHS][4096];
    static unsigned next;
    return paths[next++ % PATHS];
}

const char *program_sonde(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/cli/sonde", test_build_dir());
    return path;
}

const char *program_built(const char *name)
{
    char *path = next_path();
    snprintf(path, 4096, "%s/tests/integration/%s", test_build_dir(), name);
    return path;
}

const char *program_source(const char *name)
{
    char *path = next_path();
    snprintf(path, 4096, "%s/tests/integration/%s", test_source_dir(), name);
    return path;
}

/* A file in the cache folder of tools/dev/common.sh; null: it is not there. */
static const char *find_cached(const char *folder, const char *package, const char *file)
{
    char *path = next_path();
    const char *cache = getenv("SONDE_CACHE");
    const char *base = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (cache != NULL) {
        snprintf(path, 4096, "%s/%s/%s/%s", cache, folder, package, file);
    } else if (base != NULL) {
        snprintf(path, 4096, "%s/sonde/%s/%s/%s", base, folder, package, file);
    } else {
        snprintf(path, 4096, "%s/.cache/sonde/%s/%s/%s", home != NULL ? home : "", folder, package,
                 file);
    }
    return access(path, R_OK) == 0 ? path : NULL;
}

const char *program_unpacked(const char *package, const char *file)
{
    return find_cached("deb", package, file);
}

const char *program_npm(const char *package, const char *file)
{
    return find_cached("npm", package, file);
}

bool program_on_path(const char *name)
{
    char path[4096];
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        size_t size = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)size, at, name);
        if (access(path, X_OK) == 0) {
            return true;
        }
        at += at[size] == ':' ? size + 1 : size;
    }
    return false;
}

static void watch_arguments(const char *list[ARGUMENTS_MAX], const char *const options[],
                            const char *report, const char *const argv[])
{
    size_t n = 0;
    list[n++] = program_sonde();
    list[n++] = "run";
    list[n++] = "--equal=0"; /* report each stall */
    for (; options != NULL && *options != NULL; options++) {
        list[n++] = *options;
    }
    if (report != NULL) {
        list[n++] = "--report";
        list[n++] = report;
    }
    list[n++] = "--";
    for (; *argv != NULL && n + 1 < ARGUMENTS_MAX; argv++) {
        list[n++] = *argv;
    }
    list[n] = NULL;
}

struct test_run program_watch(const char *const options[], const char *report,
                              const char *const argv[], unsigned timeout_s)
{
    const char *list[ARGUMENTS_MAX];
    watch_arguments(list, options, report, argv);
    return test_run(list, NULL, NULL, timeout_s);
}

struct program program_start(const char *const argv[])
{
    static unsigned number;
    struct program program = {0};
    snprintf(program.output, sizeof program.output, "%s/output.%u", test_folder(), number++);
    fflush(NULL);
    program.pid = fork();
    if (program.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* a check that fails ends the test, with --no-fork too */
        int in = open("/dev/null", O_RDONLY);
        int out = open(program.output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
        dup2(in, STDIN_FILENO);
        dup2(out, STDOUT_FILENO);
        dup2(out, STDERR_FILENO);
        close(in);
        close(out);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return program;
}

struct program program_start_watched(const char *const options[], const char *report,
                                     const char *const argv[])
{
    const char *list[ARGUMENTS_MAX];
    watch_arguments(list, options, report, argv);
    return program_start(list);
}

void program_pause_ms(unsigned ms)
{
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
    }
}

/* Pause. False after timeout_s of a quiet machine; each turn counts as LOOK_MS of it. */
static bool time_left(struct test_machine *machine, unsigned turn, unsigned timeout_s)
{
    if (turn % (TEST_MACHINE_LOOK_MS / LOOK_MS) == 0) {
        test_machine_look(machine);
    }
    program_pause_ms(LOOK_MS);
    return turn * LOOK_MS < timeout_s * 1000 * test_machine_slowdown(machine);
}

bool program_has_ended(struct program *program)
{
    int status;
    if (!program->ended && waitpid(program->pid, &status, WNOHANG) == program->pid) {
        program->ended = true;
        program->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return program->ended;
}

char *program_output(const struct program *program)
{
    return test_read_file(program->output, NULL);
}

void program_await(struct program *program, const char *text, unsigned timeout_s)
{
    struct test_machine machine = {0};
    for (unsigned i = 0; time_left(&machine, i, timeout_s); i++) {
        bool ended = program_has_ended(program);
        if (access(program->output, R_OK) == 0) {
            char *output = program_output(program);
            bool found = strstr(output, text) != NULL;
            if (!found && ended) {
                FAIL("ended with %d before it said \"%s\": %s", program->status, text, output);
            }
            free(output);
            if (found) {
                return;
            }
        }
    }
    kill(program->pid, SIGKILL);
    char *output = program_output(program);
    FAIL("did not say \"%s\" within %u s: %s", text, timeout_s, output);
}

int program_end(struct program *program, unsigned timeout_s)
{
    struct test_machine machine = {0};
    for (unsigned i = 0; !program_has_ended(program); i++) {
        if (!time_left(&machine, i, timeout_s)) {
            kill(program->pid, SIGKILL);
            FAIL("did not end within %u s: %s", timeout_s, program_output(program));
        }
    }
    return program->status;
}

int program_stop(struct program *program, unsigned timeout_s)
{
    if (!program_has_ended(program)) {
        kill(program->pid, SIGTERM);
    }
    return program_end(program, timeout_s);
}

int program_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        FAIL("no port on 127.0.0.1: %s", strerror(errno));
    }
    close(fd);
    return ntohs(address.sin_port);
}
