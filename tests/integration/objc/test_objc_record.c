// SPDX-License-Identifier: Apache-2.0
/* Calls of Objective-C methods, by name, in the GNU runtime: by `sonde run --record` in a program,
 * and in this process, where removing the hooks must restore everything. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "darwin.h"
#include "hook.h"
#include "hook_method.h"
#include "probe_hook.h"
#include "test.h"

static const struct {
    const char *name;
    unsigned calls;
} methods[] = {
    {"-[Root plain:]", CALLS_PLAIN + CALLS_INHERITED + CALLS_SUPER},
    {"-[Derived bySuper:]", CALLS_SUPER},
    {"-[Root bigWith:and:]", CALLS_BIG},
    {"+[Root sum:]", CALLS_SUM},
    {"-[Root added:]", CALLS_ADDED},
    {"-[Root replaced]", CALLS_ADDED}, /* replaced by a category */
    {"-[Derived own]", 1},
    {"+[Root make]", 2},
    /* absent methods */
    {"-[Derived plain:]", 0},
    {"+[Derived sum:]", 0},
    {"-[Nobody nothing]", 0},
};
enum { METHODS = sizeof methods / sizeof methods[0], FOUND = METHODS - 3 };

static void build(const char *source, const char *output, const char *options)
{
    darwin_shell("clang-19 -w -fobjc-runtime=gcc -fPIC -O1 -g %s -o '%s' "
                 "'%s/tests/integration/objc/%s' -ldl "
                 "$(ldconfig -p | sed -n 's/.*libobjc.so.4.* => //p' | head -1)",
                 options, output, test_source_dir(), source);
}

/* The whole path of a built file. */
static const char *built(const char *name)
{
    static char paths[2][600];
    static unsigned turn;
    turn ^= 1;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", test_folder(), name);
    return paths[turn];
}

/* "-[Root plain:]  36 calls from 3 stacks" */
static unsigned said_calls(const char *text, const char *name)
{
    char line[128];
    unsigned calls = 0;
    snprintf(line, sizeof line, "\n%s  ", name);
    const char *at = strstr(text, line);
    return at != NULL && sscanf(at + strlen(line), "%u call", &calls) == 1 ? calls : 0;
}

TEST_TIMEOUT(records_methods_by_name, 100)
{
    char sonde[600], list[600], text[2048] = "+[Later ping:]\n";
    build("calls.m", "program", "");
    build("later.m", "later.so", "-shared");
    for (unsigned i = 0; i < METHODS; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", methods[i].name);
    }
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, text, strlen(text));
    const char *plain_argv[] = {built("program"), built("later.so"), NULL};
    const char *argv[] = {sonde, "run", "--record", list, "--", plain_argv[0], plain_argv[1], NULL};
    struct test_run plain = test_run(plain_argv, NULL, NULL, 20);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_EQ(plain.status, 0);
    CHECK_STR(run.out, plain.out);
    for (unsigned i = 0; i < METHODS; i++) {
        CHECK_EQ(said_calls(run.err, methods[i].name), methods[i].calls);
    }
    CHECK_EQ(said_calls(run.err, "+[Later ping:]"), CALLS_LATER);
    CHECK_CONTAINS(run.err, "-[Derived plain:]: the class has no such method of its own");
    CHECK_CONTAINS(run.err, "+[Derived sum:]: the class has no such method of its own");
    CHECK_CONTAINS(run.err, "-[Nobody nothing]: no class of this name is loaded");
    CHECK_CONTAINS(run.err, "-[Root added:]: subclass Quiet overrides it: calls of that method are "
                            "not counted, unless it calls super");
    CHECK_CONTAINS(run.err, "#0  run_calls+");
    CHECK_CONTAINS(run.err, "#0  -[Derived bySuper:]+"); /* it calls super's method */
    test_run_done(&plain);
    test_run_done(&run);
}

static struct test_run run_sonde(const char *const arguments[5])
{
    char sonde[600];
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    const char *const argv[] = {sonde,        arguments[0], arguments[1], arguments[2],
                                arguments[3], arguments[4], NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    return run;
}

/* Classes that were there when an app began its audit, and had been used. */
TEST_TIMEOUT(an_app_audits_its_methods, 100)
{
    char options[2048], text[4096] = "", ini[600], rules[600], report[600];
    snprintf(options, sizeof options, "-I'%s/include' '%s/src/libsonde.so' -Wl,-rpath,'%s/src'",
             test_source_dir(), test_build_dir(), test_build_dir());
    build("audited.m", "audited", options);
    for (unsigned i = 0; i < METHODS; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "[rule \"r%u\"]\napi = %s\n", i,
                 methods[i].name);
    }
    snprintf(ini, sizeof ini, "%s/rules.ini", test_folder());
    snprintf(rules, sizeof rules, "%s/rules.audit", test_folder());
    snprintf(report, sizeof report, "%s/report", test_folder());
    test_write_file(ini, text, strlen(text));
    struct test_run run = run_sonde((const char *const[5]){"audit", "compile", ini, "-o", rules});
    test_run_done(&run);
    const char *const argv[] = {built("audited"), rules, report, NULL};
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    run = run_sonde((const char *const[5]){"show", report});
    for (unsigned i = 0; i < METHODS; i++) {
        char rule[64];
        unsigned calls = 0;
        snprintf(rule, sizeof rule, "\nwarning  r%u  pack rules\n  ", i);
        const char *at = strstr(run.out, rule);
        CHECK((at != NULL) == (methods[i].calls != 0));
        CHECK(at == NULL || sscanf(at + strlen(rule), "%u call", &calls) == 1);
        CHECK_EQ(calls, methods[i].calls);
    }
    test_run_done(&run);
}

static unsigned counts[METHODS];

static uint64_t count(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    (void)regs;
    counts[hook->function]++;
    return atomic_load_explicit(&hook->target, memory_order_relaxed);
}

/* The runtime's implementation of each method of the list. */
static void read_implementations(const struct sonde__hooks *hooks, void *ret[METHODS])
{
    void *(*implementation)(void *) =
        (void *(*)(void *))dlsym(RTLD_DEFAULT, "method_getImplementation");
    uint32_t all = 0;
    const struct sonde__hook_method *list = sonde__hook_methods(hooks, &all);
    CHECK_EQ(all, METHODS);
    for (uint32_t i = 0; i < FOUND; i++) {
        ret[i] = implementation(list[i].method);
    }
}

/* In a child: the runtime keeps its allocations. */
static void hook_and_give_back(void)
{
    static const char *names[METHODS];
    void *hooked[METHODS], *again[METHODS];
    struct sonde__hooks *hooks;
    build("calls.m", "library.so", "-shared -DLIBRARY");
    for (unsigned i = 0; i < METHODS; i++) {
        names[i] = methods[i].name;
    }
    sonde__probe_hook_set_recorder(count);
    CHECK_OK(sonde__hook_start(names, METHODS, 0, &hooks, NULL));
    CHECK_EQ(sonde__hook_look_for_methods(hooks), METHODS);
    void *library = dlopen(built("library.so"), RTLD_NOW | RTLD_GLOBAL);
    CHECK(library != NULL);
    CHECK_EQ(sonde__hook_look_for_methods(hooks), METHODS - FOUND);
    double (*run_calls)(void) = (double (*)(void))dlsym(library, "run_calls");
    double sum = run_calls();
    for (unsigned i = 0; i < METHODS; i++) {
        CHECK_EQ(counts[i], methods[i].calls);
    }
    read_implementations(hooks, hooked);
    void *own[METHODS];
    uint32_t all = 0;
    for (unsigned i = 0; i < FOUND; i++) {
        own[i] = (void *)(uintptr_t)sonde__hook_methods(hooks, &all)[i].old;
        CHECK(own[i] != hooked[i]);
    }
    sonde__hook_stop(hooks);
    memset(counts, 0, sizeof counts);
    CHECK(run_calls() == sum);
    for (unsigned i = 0; i < METHODS; i++) {
        CHECK_EQ(counts[i], 0);
    }
    CHECK_OK(sonde__hook_start(names, METHODS, 0, &hooks, NULL));
    CHECK_EQ(sonde__hook_look_for_methods(hooks), METHODS - FOUND);
    for (unsigned i = 0; i < FOUND; i++) { /* the implementation before the hooks */
        CHECK((void *)(uintptr_t)sonde__hook_methods(hooks, &all)[i].old == own[i]);
    }
    read_implementations(hooks, again);
    CHECK(memcmp(hooked, again, FOUND * sizeof hooked[0]) == 0); /* the same thunks */
    sonde__hook_stop(hooks);
}

TEST_TIMEOUT(restores_methods, 100)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        hook_and_give_back();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

TEST(parses_names_of_methods)
{
    static const char *const good[] = {"-[A b]", "+[A_1 b:c:]", "-[A.B ::]", "-[A$ _b2:]"};
    static const char *const bad[] = {"",        "-",        "-[",       "-[A",    "-[A ",
                                      "-[A b",   "[A b]",    "-[ b]",    "-[A ]",  "-[A b] ",
                                      "-[A  b]", "-[A b c]", "-[A:x b]", "*[A b]", "-[A b]]"};
    struct sonde__hook_method_name name;
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        CHECK(sonde__hook_method_parse(good[i], &name));
        CHECK_EQ(name.of_class, good[i][0] == '+');
        CHECK_EQ(name.class_size + name.selector_size, strlen(good[i]) - 4);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK(!sonde__hook_method_parse(bad[i], &name));
    }
}
