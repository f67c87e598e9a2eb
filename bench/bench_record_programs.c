// SPDX-License-Identifier: Apache-2.0
/* `sonde run --record` on stock programs: the cost of a recorded call, and the size of a recorded
 * stack. Programs alternate; the kernel counts the CPU time of each. */
#include "bench_record_programs.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

extern char **environ;

enum { ROUNDS = 7, ARGUMENTS = 16, CALLS = 400000, TRACED_CALLS = 2000, HEAP_CALLS = 100000 };
#define HEAPTRACK "/usr/lib/heaptrack/libheaptrack_preload.so"

static char source[128], sonde[4096], folder[] = "/tmp/sonde-bench-XXXXXX", list[128], report[128],
                                      text[128];

/* CPU seconds of the program and its children that it waited for; negative: it failed. Its standard
 * error goes to `text`. */
static double run(const char *const argv[])
{
    struct rusage usage;
    int status = 0;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, text, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int error =
        posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
        return -1;
    }
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static int by_value(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static void write_file(const char *path, const char *bytes)
{
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fputs(bytes, file);
        fclose(file);
    }
}

static void write_list(const char *names)
{
    write_file(list, names);
}

static void write_loop(char ret_script[256], bool is_node, unsigned turns, const char *body)
{
    if (is_node) {
        snprintf(ret_script, 256,
                 "function f(n) { if (n > 0) return f(n - 1);"
                 " for (let i = 0; i < %u; i++) { %s } return 0; } f(10);",
                 turns, body);
    } else {
        snprintf(ret_script, 256, "for (1..%u) { %s }", turns, body);
    }
}

/* perl or node: nanoseconds that `before` adds to a call, from many calls in one place; a run with
 * one call gives the cost of starting, which is subtracted. */
static double script_ns(const char *program, const char *const *before, const char *body,
                        unsigned calls)
{
    char many[256], none[256];
    double ns[ROUNDS];
    bool is_node = strcmp(program, "node") == 0;
    write_loop(many, is_node, calls, body);
    write_loop(none, is_node, 1, body);
    for (unsigned i = 0; i < ROUNDS; i++) {
        double seconds[2][2];
        for (unsigned k = 0; k < 4; k++) {
            const char *argv[ARGUMENTS];
            unsigned n = 0;
            for (const char *const *word = before; k >= 2 && *word != NULL; word++) {
                argv[n++] = *word;
            }
            argv[n++] = program;
            argv[n++] = "-e";
            argv[n++] = k % 2 == 0 ? none : many;
            argv[n] = NULL;
            if ((seconds[k / 2][k % 2] = run(argv)) < 0) {
                return -1;
            }
        }
        ns[i] = (seconds[1][1] - seconds[1][0] - (seconds[0][1] - seconds[0][0])) / calls * 1e9;
    }
    return median(ns, ROUNDS);
}

static double perl_ns(const char *const *before, const char *body, unsigned calls)
{
    return script_ns("perl", before, body, calls);
}

/* A call of getppid() by a function of JavaScript, in 20 others. */
static void print_node(const char *const *record)
{
    double ns = script_ns("node", record, "process.ppid", CALLS);
    if (ns > 0) {
        bench_print(ns, "ns", "audit.node.ns_per_call");
    } else {
        bench_note("node is not here, or it could not be recorded");
    }
}

static struct {
    double stacks, memory, report;
} all; /* programs */

/* "sonde run: 84634 calls of 52 functions recorded, 8158 different stacks, 1234 bytes". */
static void print_sizes(const char *const *program)
{
    static const char *const often = "malloc\nfree\nrealloc\ncalloc\nstrlen\nmemcpy\n";
    const char *argv[ARGUMENTS] = {sonde, "run",      "--verbose", "--record",
                                   list,  "--report", report,      "--"};
    unsigned n = 8;
    unsigned long long calls, functions, stacks, bytes;
    struct stat file;
    char line[512];
    bool found = false;
    while (*program != NULL) {
        argv[n++] = *program++;
    }
    const char *name = strrchr(argv[8], '/') != NULL ? strrchr(argv[8], '/') + 1 : argv[8];
    write_list(often);
    if (run(argv) < 0) {
        return;
    }
    FILE *said = fopen(text, "r");
    while (said != NULL && !found && fgets(line, sizeof line, said) != NULL) {
        found = sscanf(line,
                       "sonde run: %llu calls of %llu functions recorded, %llu different stacks, "
                       "%llu bytes",
                       &calls, &functions, &stacks, &bytes) == 4;
    }
    if (said != NULL) {
        fclose(said);
    }
    if (!found || stacks == 0 || stat(report, &file) != 0) {
        bench_note("%s: nothing was recorded", name);
        return;
    }
    all.stacks += (double)stacks;
    all.memory += (double)bytes;
    all.report += (double)file.st_size;
    bench_print((double)stacks, "stacks", "audit.%s.stacks", name);
    bench_print((double)bytes / (double)stacks, "B", "audit.%s.memory.bytes_per_stack", name);
    bench_print((double)file.st_size / (double)stacks, "B", "audit.%s.report.bytes_per_stack",
                name);
}

/* The whole way of a call that fulfils a condition on a number, without and with a limit: the
 * conditions, the stack, when and by whom, the limit's clock, and the measurement of one in 64. */
static void print_rules(void)
{
    static const char *const rules[] = {
        "[rule \"r\"]\napi = kill\nwhen = signal == 0\n",
        "[rule \"r\"]\napi = kill\nwhen = signal == 0\nlimit = 100/1s\n",
    };
    static const char *const keys[] = {"audit.rule_number.perl.ns_per_call",
                                       "audit.rule_limit.perl.ns_per_call"};
    const char *const audit[] = {sonde, "run", "--audit", list, "--", NULL};
    for (unsigned i = 0; i < 2; i++) {
        write_list(rules[i]);
        double ns = perl_ns(audit, "kill 0, $$", CALLS);
        if (ns > 0) {
            bench_print(ns, "ns", "%s", keys[i]);
        }
    }
}

void bench_record_programs(void)
{
    const char *const record[] = {sonde, "run", "--record", list, "--", NULL};
    const char *const strace[] = {"strace", "-k", "-e", "trace=getppid", NULL};
    char dump[160];
    const char *const heaptrack[] = {"env", "LD_PRELOAD=" HEAPTRACK, dump, NULL};
    const char *const python[] = {"/usr/bin/python3", "-c", "import json, ssl, decimal", NULL};
    const char *const perl[] = {"perl", "-MPOSIX", "-e",
                                "my %h; $h{$_ % 97} .= join ',', sort split //, $_ x 3 for 1..3000",
                                NULL};
    const char *const clang[] = {"clang", "-c", "-o", "/dev/null", "-xc", source, NULL};
    const char *const git[] = {"git", "--version", NULL};
    const char *const gdb[] = {"gdb",       "-nx", "-batch", "-ex", "info functions main",
                               "/bin/true", NULL};
    ssize_t size = readlink("/proc/self/exe", sonde, sizeof sonde - 32);
    if (size <= 0 || mkdtemp(folder) == NULL) {
        return;
    }
    sonde[size] = '\0';
    strcpy(strrchr(sonde, '/'), "/../cli/sonde");
    snprintf(list, sizeof list, "%s/list", folder);
    snprintf(report, sizeof report, "%s/report", folder);
    snprintf(source, sizeof source, "%s/source.c", folder);
    write_file(source, "#include <stdio.h>\n#include <stdlib.h>\n"
                       "int main(int argc, char **argv)\n"
                       "{ for (int i = 0; i < argc; i++) { puts(argv[i]); } return 0; }\n");
    snprintf(text, sizeof text, "%s/text", folder);
    snprintf(dump, sizeof dump, "DUMP_HEAPTRACK_OUTPUT=%s", report);
    const char *const ltrace[] = {"ltrace", "-o", "/dev/null", "-e", "getppid", NULL};
    write_list("getppid\n");
    double ours = perl_ns(record, "$x = getppid()", CALLS);
    double traced = perl_ns(strace, "$x = getppid()", TRACED_CALLS);
    if (ours < 0) {
        bench_note("perl is not here, or it could not be recorded");
    } else {
        bench_print(ours, "ns", "audit.perl.ns_per_call");
        if (traced > 0) {
            bench_print(traced / ours, "x", "audit.vs_strace_k");
        } else {
            bench_note("strace -k is not here");
        }
        double counted = perl_ns(ltrace, "$x = getppid()", TRACED_CALLS);
        if (counted > 0) { /* without stacks */
            bench_print(counted / ours, "x", "audit.vs_ltrace");
        } else {
            bench_note("ltrace is not here");
        }
    }
    print_node(record);
    /* each turn allocates once, and heaptrack keeps the stack of the allocation */
    static const char *const allocate = "my $x = 'a' x 2000; undef $x";
    write_list("malloc\n");
    double recorded = perl_ns(record, allocate, HEAP_CALLS);
    double peer = access(HEAPTRACK, R_OK) == 0 ? perl_ns(heaptrack, allocate, HEAP_CALLS) : -1;
    if (recorded > 0 && peer > 0) {
        bench_print(recorded, "ns", "audit.perl_malloc.ns_per_call");
        bench_print(peer / recorded, "x", "audit.vs_heaptrack");
    } else {
        bench_note("heaptrack is not here");
    }
    print_rules();
    print_sizes(clang);
    print_sizes(python);
    print_sizes(perl);
    print_sizes(git);
    print_sizes(gdb);
    if (all.stacks > 0) {
        bench_print(all.memory / all.stacks, "B", "audit.memory.bytes_per_stack");
        bench_print(all.report / all.stacks, "B", "audit.report.bytes_per_stack");
    }
    (void)unlink(source);
    (void)unlink(list);
    (void)unlink(report);
    (void)unlink(text);
    (void)rmdir(folder);
}
