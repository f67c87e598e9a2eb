// SPDX-License-Identifier: Apache-2.0
/* Starts a program in the way that argv[1] names and prints how it ended: each way that the C
 * library has. The rest of argv is the program's. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *const own_environment[] = {(char[]){"ONLY=1"}, NULL};

/* The first word of argv is the folder of the child. */
static int spawn(const char *how, char **argv)
{
    posix_spawn_file_actions_t actions;
    bool moved = strstr(how, "elsewhere") != NULL;
    pid_t child;
    int status = -1, error;
    posix_spawn_file_actions_init(&actions);
    if (moved) {
        posix_spawn_file_actions_addchdir_np(&actions, *argv++);
    }
    if (strncmp(how, "spawnp", 6) == 0) {
        error = posix_spawnp(&child, argv[0], moved ? &actions : NULL, NULL, argv, environ);
    } else {
        error = posix_spawn(&child, argv[0], moved ? &actions : NULL, NULL, argv, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        printf("error %d\n", error);
        return 1;
    }
    waitpid(child, &status, 0);
    printf("status %x\n", (unsigned)status);
    return 0;
}

static int command(const char *how, const char *text)
{
    char line[4096];
    int status;
    if (strcmp(how, "system") == 0) {
        status = system(text);
    } else {
        FILE *stream = popen(text, how[5] == '-' ? "w" : "re");
        if (stream == NULL) {
            printf("error %d\n", errno);
            return 1;
        }
        if (how[5] == '-') {
            fputs("to the command\n", stream);
        }
        while (how[5] != '-' && fgets(line, sizeof line, stream) != NULL) {
            fputs(line, stdout);
        }
        status = pclose(stream);
    }
    printf("status %x\n", (unsigned)status);
    return 0;
}

/* In a function without variables that vfork's two returns could confuse. */
__attribute__((noinline)) static pid_t start_by_vfork(char *const argv[])
{
    pid_t child = vfork();
    if (child == 0) {
        execvp(argv[0], argv);
        _exit(77);
    }
    return child;
}

static void become(const char *how, char **argv)
{
    if (strcmp(how, "execv") == 0) {
        execv(argv[0], argv);
    } else if (strcmp(how, "execvp") == 0) {
        execvp(argv[0], argv);
    } else if (strcmp(how, "execve") == 0) {
        execve(argv[0], argv, own_environment);
    } else if (strcmp(how, "execvpe") == 0) {
        execvpe(argv[0], argv, own_environment);
    } else if (strcmp(how, "execl") == 0) {
        execl(argv[0], argv[0], argv[1], (char *)NULL);
    } else if (strcmp(how, "execlp") == 0) {
        execlp(argv[0], argv[0], argv[1], (char *)NULL);
    } else if (strcmp(how, "execle") == 0) {
        execle(argv[0], argv[0], argv[1], (char *)NULL, own_environment);
    } else if (strcmp(how, "fexecve") == 0) {
        fexecve(open(argv[0], O_RDONLY | O_CLOEXEC), argv, environ);
    } else if (strcmp(how, "execveat") == 0) {
        execveat(open("/usr/bin", O_RDONLY | O_CLOEXEC), argv[0], argv, environ, 0);
    }
    printf("error %d\n", errno);
}

int main(int argc, char **argv)
{
    int status = -1;
    if (argc < 3) {
        return 2;
    }
    if (strncmp(argv[1], "spawn", 5) == 0) {
        return spawn(argv[1], argv + 2);
    }
    if (strcmp(argv[1], "system") == 0 || strncmp(argv[1], "popen", 5) == 0) {
        return command(argv[1], argv[2]);
    }
    if (strcmp(argv[1], "vfork") == 0) {
        waitpid(start_by_vfork(argv + 2), &status, 0);
        printf("status %x\n", (unsigned)status);
        return 0;
    }
    become(argv[1], argv + 2);
    return 1;
}
