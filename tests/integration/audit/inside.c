// SPDX-License-Identifier: Apache-2.0
/* A program that audits itself: inside MODE RULES REPORT [SONDE or LIBRARY]. Lines of new calls and
 * of the end go to stdout. Modes:
 *   ruled   the calls of ruled.c
 *   phases  phases by `SONDE mark`, and by sonde_watch_phase()
 *   fork    a child calls, too
 *   load    calls in a library that is loaded later
 *   wait    goes on only when the first new call was told; the callback tries to finish the audit
 *   exec    a child lists its descriptors
 *   full    the report is larger than the limit of file sizes
 *   begun   the audit begins in a phase
 *   again   what cannot be started */
#include "inside.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/audit.h>
#include <sonde/depot.h>
#include <sonde/note.h>

int ruled_main(int argc, char **argv); /* ruled.c */

static unsigned char rules[1 << 16];
static size_t rules_size;
static _Atomic unsigned told;
static struct sonde_error error;
static struct sonde_audit_run *run;
static bool finishes_inside;

static void print_found(void *ctx, const struct sonde_audit_found *found)
{
    printf("new %u %s/%s [%s|%s] %s by %s in [%s] sdk [%s] %s\n", found->severity, found->pack,
           found->rule, found->category, found->message, found->function, found->callers,
           found->phase, found->sdk, found->tid == (uint64_t)getpid() ? "main" : "other");
    fflush(stdout);
    (void)!getenv("INSIDE"); /* not counted */
    if (finishes_inside && sonde_audit_finish(run, &error) != SONDE_OK) {
        exit(1);
    }
    atomic_fetch_add((_Atomic unsigned *)ctx, 1);
}

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    printf("line %s\n", line);
}

static struct sonde_audit_options options_of(char **argv)
{
    static const struct sonde_watch_tag tags[] = {{"tester", "ann"}, {"case", "7"}};
    return (struct sonde_audit_options){.struct_bytes = sizeof(struct sonde_audit_options),
                                        .report = argv[3],
                                        .build = "1.2.3",
                                        .device = "device-4",
                                        .tags = tags,
                                        .tag_count = 2,
                                        .on_found = print_found,
                                        .ctx = &told,
                                        .on_line = print_line};
}

static __attribute__((noinline)) void ask(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        (void)!getenv("INSIDE");
    }
}

static void run_child(void (*body)(char **argv), char **argv)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        body(argv);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "child: %d\n", status);
        exit(1);
    }
}

static void mark(char **argv)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getppid());
    execl(argv[4], argv[4], "mark", pid, "consent", (char *)NULL);
}

static void list(char **argv)
{
    (void)argv;
    execl("/bin/ls", "ls", "-l", "/proc/self/fd/", (char *)NULL);
}

static void call_in_child(char **argv)
{
    (void)argv;
    ask(CHILD_CALLS);
    sonde_watch_phase("of-child", SONDE_CONSENT_UNKNOWN);
    _exit(sonde_audit_finish(run, &error) == SONDE_OK ? 0 : 1);
}

static int load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*call)(unsigned) =
        library != NULL ? (void (*)(unsigned))dlsym(library, "ask_in_library") : NULL;
    if (call == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    call(MARKED_CALLS);
    return dlclose(library);
}

static int again(struct sonde_audit_options *options)
{
    struct sonde_audit_run *second;
    printf("again %s\n",
           sonde_status_name(sonde_audit_begin(rules, rules_size, options, &second, &error)));
    rules[rules_size - 1] ^= 1;
    printf("damaged %s\n",
           sonde_status_name(sonde_audit_begin(rules, rules_size, options, &second, &error)));
    options->report = "/no/such/folder/report";
    rules[rules_size - 1] ^= 1;
    printf("nowhere %s\n",
           sonde_status_name(sonde_audit_begin(rules, rules_size, options, &second, &error)));
    options->report = NULL;
    options->on_found = NULL;
    printf("nothing %s\n",
           sonde_status_name(sonde_audit_begin(rules, rules_size, options, &second, &error)));
    options->on_found = print_found;
    options->tag_count = 65;
    printf("tags %s\n",
           sonde_status_name(sonde_audit_begin(rules, rules_size, options, &second, &error)));
    options->tags = NULL;
    options->tag_count = 1;
    printf("none %s\n",
           sonde_status_name(sonde_audit_begin(rules, rules_size, options, &second, &error)));
    options->tag_count = 0;
    return 0;
}

/* While calls are recorded by names, there is no audit by rules. */
static void refuse_while_hooked(const struct sonde_audit_options *options)
{
    static const char *const names[] = {"getppid"};
    struct sonde_depot *depot;
    struct sonde_audit *by_names;
    if (sonde_depot_create(0, &depot) != SONDE_OK ||
        sonde_audit_start(depot, names, 1, &by_names, &error) != SONDE_OK ||
        sonde_audit_begin(rules, rules_size, options, &run, &error) != SONDE_BUSY) {
        fprintf(stderr, "by names: %s\n", error.what);
        exit(1);
    }
    sonde_audit_stop(by_names);
    sonde_depot_destroy(depot);
}

/* In pages of 4 KiB. */
static long address_space(void)
{
    char text[64] = "0";
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) {
        exit(1);
    }
    fclose(file);
    return strtol(text, NULL, 10);
}

/* A refused audit takes nothing, and leaves the report as it is. */
static int refuse_many(struct sonde_audit_options *options, const char *report)
{
    struct sonde_audit_run *second;
    long before = address_space();
    options->report = report;
    for (int i = 0; i < 20; i++) {
        if (sonde_audit_begin(rules, rules_size, options, &second, &error) != SONDE_BUSY) {
            return 1;
        }
    }
    long more = address_space() - before;
    printf("refused%s\n", more * 4096 < 100 << 20 ? "" : ", but its memory stays");
    return 0;
}

static __attribute__((noinline)) int act(char **argv, struct sonde_audit_options *options)
{
    const char *mode = argv[1];
    if (strcmp(mode, "ruled") == 0) {
        return ruled_main(1, argv) != 3;
    }
    if (strcmp(mode, "phases") == 0) {
        ask(EARLY_CALLS);
        run_child(mark, argv);
        ask(MARKED_CALLS);
        sonde_watch_phase("playing", SONDE_CONSENT_GIVEN);
        ask(PLAYING_CALLS);
        return 0;
    }
    if (strcmp(mode, "fork") == 0) {
        ask(PARENT_CALLS);
        run_child(call_in_child, argv);
        return 0;
    }
    if (strcmp(mode, "exec") == 0) {
        run_child(list, argv);
        return 0;
    }
    if (strcmp(mode, "load") == 0) {
        return load(argv[4]);
    }
    if (strcmp(mode, "begun") == 0) {
        ask(MARKED_CALLS);
        return 0;
    }
    if (strcmp(mode, "wait") == 0) {
        finishes_inside = true; /* before the call that is told */
        ask(1);
        while (atomic_load(&told) == 0) {
            usleep(1000);
        }
        puts("told while it runs");
        ask(1);
        return 0;
    }
    if (strcmp(mode, "full") == 0) {
        const struct rlimit limit = {64, 64};
        return setrlimit(RLIMIT_FSIZE, &limit);
    }
    return again(options);
}

int main(int argc, char **argv)
{
    FILE *file = argc > 3 ? fopen(argv[2], "rb") : NULL;
    if (file == NULL) {
        return 2;
    }
    rules_size = fread(rules, 1, sizeof rules, file);
    fclose(file);
    struct sonde_audit_options options = options_of(argv);
    if (strcmp(argv[1], "begun") == 0) {
        options.phase = "consent";
        options.consent = SONDE_CONSENT_GIVEN;
    }
    if (strcmp(argv[1], "again") == 0) {
        refuse_while_hooked(&options);
    }
    const void *unhooked = dlsym(RTLD_DEFAULT, "getenv");
    ask(1); /* not counted */
    if (sonde_audit_begin(rules, rules_size, &options, &run, &error) != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
        return 1;
    }
    memset(rules, rules[0] == 0, strcmp(argv[1], "again") == 0 ? 0 : sizeof rules);
    bool is_hooked = dlsym(RTLD_DEFAULT, "getenv") != unhooked;
    int failed = act(argv, &options);
    if (sonde_audit_finish(run, &error) != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
        return 1;
    }
    ask(1); /* not counted */
    if (!is_hooked || dlsym(RTLD_DEFAULT, "getenv") != unhooked) {
        fprintf(stderr, "getenv is %s\n", is_hooked ? "still hooked" : "not hooked");
        return 1;
    }
    return strcmp(argv[1], "again") == 0 ? refuse_many(&options, argv[3]) : failed;
}
