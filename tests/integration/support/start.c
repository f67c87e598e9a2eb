// SPDX-License-Identifier: Apache-2.0
#include "start.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { READY_MS = 20000, BLOCKED_TRIES = 2000 };

pid_t start_program(const char *const argv[])
{
    int out[2];
    char line[256];
    struct pollfd p;
    pid_t child;
    if (pipe2(out, O_CLOEXEC) != 0) {
        FAIL("pipe2");
    }
    fflush(NULL);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], 1);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(out[1]);
    p = (struct pollfd){out[0], POLLIN, 0};
    if (poll(&p, 1, READY_MS) != 1 || read(out[0], line, sizeof line) <= 0) {
        stop_program(child);
        FAIL("%s did not say that it is ready", argv[0]);
    }
    close(out[0]);
    return child;
}

void stop_program(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) == -1 && kill(pid, 0) == 0) {
    }
}

static bool is_blocked(pid_t pid, const char *tid)
{
    char path[64];
    char text[512] = "";
    const char *after;
    FILE *file;
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/stat", (int)pid, tid);
    file = fopen(path, "re");
    if (file == NULL) {
        return true; /* ended */
    }
    (void)fgets(text, sizeof text, file);
    fclose(file);
    after = strrchr(text, ')');
    return after != NULL && after[1] == ' ' && after[2] == 'S';
}

void wait_blocked(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    for (int i = 0; i < BLOCKED_TRIES; i++) {
        struct timespec pause = {0, 5000000};
        struct dirent *entry;
        bool all = true;
        DIR *dir = opendir(path);
        if (dir == NULL) {
            FAIL("%s: gone", path);
        }
        while ((entry = readdir(dir)) != NULL) {
            all = all && (entry->d_name[0] == '.' || is_blocked(pid, entry->d_name));
        }
        closedir(dir);
        if (all) {
            return;
        }
        nanosleep(&pause, NULL);
    }
    FAIL("process %d does not become idle", (int)pid);
}

const char *sonde_program(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/cli/sonde", test_build_dir());
    return path;
}

const char *test_program(const char *folder, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/integration/%s/%s", test_build_dir(), folder, name);
    return path;
}

struct test_run shell(const char *line)
{
    char sonde[600], folder[600], cache[600];
    const char *const argv[] = {"sh", "-c", line, NULL};
    const char *const env[] = {sonde, folder, cache, NULL};
    snprintf(sonde, sizeof sonde, "SONDE=%s", sonde_program());
    snprintf(folder, sizeof folder, "DIR=%s", test_folder());
    snprintf(cache, sizeof cache, "XDG_CACHE_HOME=%s/cache", test_folder());
    return test_run(argv, env, NULL, 60);
}

void check_one_line(const char *message, const char *part)
{
    size_t length = strlen(message);
    if (length == 0 || message[length - 1] != '\n' ||
        strchr(message, '\n') != message + length - 1) {
        FAIL("not one line: \"%s\"", message);
    }
    for (size_t i = 0; i + 1 < length; i++) {
        if ((unsigned char)message[i] < 0x20) {
            FAIL("control character %d in: \"%s\"", message[i], message);
        }
    }
    CHECK_CONTAINS(message, part);
}

void check_json(const char *text)
{
    const char *const argv[] = {"python3", "-m", "json.tool", NULL};
    struct test_run run = test_run(argv, NULL, text, 30);
    if (run.status != 0) {
        FAIL("no JSON: %s in: %.400s", run.err, text);
    }
    test_run_done(&run);
}
