// SPDX-License-Identifier: Apache-2.0
/* Files that use others, and `sonde audit compile`. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "programs.h"
#include "test.h"

static char folder[512];

static void write_file(const char *name, const char *text)
{
    char path[600];
    snprintf(folder, sizeof folder, "%s", test_folder());
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write_file(path, text, strlen(text));
}

static struct test_run compile(const char *name, const char *program)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const char *const argv[] = {program_sonde(), "audit", "compile", path, program, NULL};
    return test_run(argv, NULL, NULL, 60);
}

TEST(packs_and_files_are_found)
{
    char path[600];
    write_file("team.ini", "[pack]\nuse = linux-process, ./more/own.ini, linux-process\n"
                           "[rule \"mine\"]\napi = setenv, dlopen\n");
    snprintf(path, sizeof path, "%s/more", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    write_file("more/own.ini", "[pack]\nuse = ../team.ini, ./next.ini\n[rule \"own\"]\napi = a\n");
    write_file("more/next.ini", "[rule \"next\"]\napi = b\nfrom = !module:c, symbol:d\n"
                                "[sdk \"e\"]\nmatch = module:f\n");
    struct test_run run = compile("team.ini", NULL);
    CHECK_STR(run.err, "");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out,
                   "error  inspect  pack linux-process  process  reads or changes another "
                   "process\n  ptrace, process_vm_readv, process_vm_writev, pidfd_getfd\n");
    CHECK_CONTAINS(run.out, "warning  mine  pack team\n  dlopen, setenv\n");
    CHECK_CONTAINS(run.out, "warning  own  pack own\n  a\n");
    CHECK_CONTAINS(run.out, "warning  next  pack next\n  b\n  from !module:c, symbol:d\n");
    CHECK_CONTAINS(run.out, "sdk  e\n  match module:f\n");
    test_run_done(&run);
}

TEST(every_pack_compiles_alone)
{
    static const char *const names[] = {"linux-identity", "linux-secrets", "linux-network",
                                        "linux-devices",  "linux-process", "apple-required-reason",
                                        "ios-privacy"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[100];
        snprintf(text, sizeof text, "[pack]\nuse = %s\n", names[i]);
        write_file("one.ini", text);
        struct test_run run = compile("one.ini", NULL);
        CHECK_STR(run.err, "");
        CHECK_EQ(run.status, 0);
        snprintf(text, sizeof text, "pack %s", names[i]);
        CHECK_CONTAINS(run.out, text);
        test_run_done(&run);
    }
}

TEST(with_a_program_the_other_names_are_printed)
{
    write_file("one.ini",
               "[rule \"x\"]\napi = open, getenv\n[rule \"y\"]\napi = pthread_mutex_*lock\n");
    struct test_run run = compile("one.ini", program_built("audit/ruled"));
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "open64");
    CHECK_CONTAINS(run.out, "__open_2");
    CHECK_CONTAINS(run.out, "pthread_mutex_trylock");
    test_run_done(&run);
}

/* A listed function also means the system call of its name. If its arguments may be others, a
 * condition on them cannot be evaluated. */
TEST(conditions_of_raw_system_calls_need_known_arguments)
{
    char path[600];
    write_file("one.ini", "[rule \"x\"]\napi = syslog\nwhen = arg1 == 0\n");
    snprintf(path, sizeof path, "%s/one.ini", folder);
    const char *const argv[] = {program_sonde(), "run", "--raw-syscalls", "--audit", path, "--",
                                "true",          NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 125);
    CHECK_CONTAINS(run.err, "syslog");
    CHECK_CONTAINS(run.err, "the arguments of this system call may be others");
    test_run_done(&run);
    write_file("one.ini", "[rule \"x\"]\napi = syslog\nkeep = arg1\n");
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 125);
    test_run_done(&run);
    write_file("one.ini", "[rule \"x\"]\napi = syslog\nlimit = 1/10s\n");
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    write_file("one.ini", "[rule \"x\"]\napi = open, syscall:syslog\nwhen = arg1 == 0\n");
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

TEST(errors_name_the_file_that_has_them)
{
    write_file("team.ini", "[pack]\n use = linux-proces, ./bad.ini , ./none.ini\n");
    write_file("bad.ini", "[rule \"x\"]\n api = 1x\n");
    struct test_run run = compile("team.ini", NULL);
    char line[1400];
    CHECK_EQ(run.status, 5);
    snprintf(line, sizeof line,
             "%s/team.ini:2:8: expected the name of a pack, or a path with a "
             "slash: linux-proces\n",
             folder);
    CHECK_CONTAINS(run.err, line);
    snprintf(line, sizeof line, "%s/./bad.ini:2:8: expected the name of a function: 1x\n", folder);
    CHECK_CONTAINS(run.err, line);
    snprintf(line, sizeof line, "%s/team.ini:2:34: expected a file of rules: %s/./none.ini", folder,
             folder);
    CHECK_CONTAINS(run.err, line);
    test_run_done(&run);
    write_file("empty.ini", "; nothing\n");
    run = compile("empty.ini", NULL);
    CHECK_EQ(run.status, 3);
    test_run_done(&run);
    run = compile("absent.ini", NULL);
    CHECK_EQ(run.status, 5);
    CHECK_CONTAINS(run.err, "expected a file of rules");
    test_run_done(&run);
}
