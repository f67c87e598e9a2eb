// SPDX-License-Identifier: Apache-2.0
/* Prints what a program can see of the process that it was started in, one fact a line.
 *
 * Two runs from the same parent print the same text; a run under `sonde run --` must too. Numbers
 * that must differ from run to run (its pid, inode numbers of pipes) are left out or replaced;
 * everything else is printed as the kernel gives it. The program looks before it uses the heap: a
 * preloaded library must not hide behind its start-up. */
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* "pipe:[1234]" -> "pipe:[N]": the object's number differs in each run. */
static void mask_inode(char *text)
{
    char *open_bracket = strchr(text, '[');
    if (open_bracket != NULL && strchr(open_bracket, ']') != NULL) {
        strcpy(open_bracket, "[N]");
    }
}

static void print_descriptors(void)
{
    for (int fd = 0; fd < 256; fd++) {
        char link[64];
        char to[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, to, sizeof to - 1);
        if (n >= 0) {
            to[n] = '\0';
            mask_inode(to);
            printf("fd %d %s\n", fd, to);
        }
    }
}

static void print_status(void)
{
    static const char *const wanted[] = {
        "Umask:",           "TracerPid:",   "Uid:",        "Gid:",    "Groups:",     "FDSize:",
        "Threads:",         "SigPnd:",      "ShdPnd:",     "SigBlk:", "SigIgn:",     "SigCgt:",
        "CapInh:",          "CapPrm:",      "CapEff:",     "CapBnd:", "NoNewPrivs:", "Seccomp:",
        "Seccomp_filters:", "CoreDumping:", "THP_enabled:"};
    char line[512];
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0) {
                printf("status %s", line);
            }
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void print_limits(void)
{
    for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
        struct rlimit limit;
        getrlimit((__rlimit_resource_t)i, &limit);
        printf("rlimit %d %llx %llx\n", i, (unsigned long long)limit.rlim_cur,
               (unsigned long long)limit.rlim_max);
    }
}

static void print_signals(void)
{
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0) {
            printf("signal %d %s\n", i,
                   action.sa_handler == SIG_DFL   ? "default"
                   : action.sa_handler == SIG_IGN ? "ignored"
                                                  : "handled");
        }
    }
}

static void print_children(void)
{
    char path[64];
    char text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fgets(text, sizeof text, file) == NULL) {
            text[0] = '\0';
        }
        fclose(file);
    }
    printf("children '%s'\n", text);
}

static void print_identity(int argc, char **argv)
{
    char text[4096];
    ssize_t n = readlink("/proc/self/exe", text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    printf("exe %s\n", text);
    for (int i = 0; i < argc; i++) {
        printf("argv %d %s\n", i, argv[i]);
    }
    printf("cwd %s\n", getcwd(text, sizeof text));
    printf("comm %s\n", prctl(PR_GET_NAME, text) == 0 ? text : "?");
    printf("parent %d session %d leads-group %d foreground-group %d\n", (int)getppid(),
           (int)getsid(0), getpgid(0) == getpid(), getpgid(0) == tcgetpgrp(0));
    printf("dumpable %d personality %x\n", prctl(PR_GET_DUMPABLE), personality(0xffffffff));
    printf("parent-death-signal %d subreaper %d\n",
           prctl(PR_GET_PDEATHSIG, text) == 0 ? *(int *)(void *)text : -1,
           prctl(PR_GET_CHILD_SUBREAPER, text) == 0 ? *(int *)(void *)text : -1);
    printf("timerslack %d\n", prctl(PR_GET_TIMERSLACK));
    printf("priority %d\n", getpriority(PRIO_PROCESS, 0));
}

int main(int argc, char **argv)
{
    print_identity(argc, argv);
    print_children();
    print_descriptors();
    print_status();
    print_limits();
    print_signals();
    for (char **entry = environ; *entry != NULL; entry++) {
        printf("env %s\n", *entry);
    }
    return 7;
}
