// SPDX-License-Identifier: Apache-2.0
/* --follow over all ways of the C library to start a program: the result equals that without sonde,
 * and the started program is watched, or a message says why not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs.h"
#include "test.h"

enum { WORDS_MAX = 16 };

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        n++;
    }
    return n;
}

/* Run run_starts with `words` plain and followed. `watched`: programs besides run_starts itself
 * that get a supervisor. `said`: the message about the one without, or null. */
static void check_start(unsigned watched, const char *said, const char *const words[])
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "ONE=1", "TWO=", NULL};
    const char *plain[WORDS_MAX] = {program_built("run/run_starts")};
    const char *followed[WORDS_MAX] = {program_sonde(), "run", "--follow",
                                       "--verbose",     "--",  plain[0]};
    for (size_t i = 0; words[i] != NULL; i++) {
        plain[i + 1] = words[i];
        followed[i + 6] = words[i];
    }
    struct test_run a = test_run(plain, environment, NULL, 60);
    struct test_run b = test_run(followed, environment, NULL, 60);
    CHECK_STR(b.out, a.out);
    CHECK_EQ(b.status, a.status);
    if (count(b.err, " watches process ") != watched + 1) {
        FAIL("%s %s: %u programs watched: %s", words[0], words[1],
             count(b.err, " watches process "), b.err);
    }
    if (said != NULL) {
        CHECK_CONTAINS(b.err, said);
    } else {
        CHECK(strstr(b.err, "without being followed") == NULL);
    }
    test_run_done(&a);
    test_run_done(&b);
}

#define START(watched, said, ...) check_start(watched, said, (const char *[]){__VA_ARGS__, NULL})

TEST(exec_family)
{
    START(1, NULL, "execv", "/usr/bin/env", "-0");
    START(1, NULL, "execvp", "env", "-0");
    START(1, NULL, "execve", "/usr/bin/env", "-0");
    START(1, NULL, "execvpe", "env", "-0");
    START(1, NULL, "execl", "/usr/bin/env", "-0");
    START(1, NULL, "execlp", "env", "-0");
    START(1, NULL, "execle", "/usr/bin/env", "-0");
    START(1, NULL, "vfork", "env", "-0");
    START(0, "1 program was started without being followed: executed by descriptor", "fexecve",
          "/usr/bin/env", "-0");
    START(0, "1 program was started without being followed: executed by descriptor", "execveat",
          "env", "-0");
}

TEST(starts_that_fail)
{
    static const char *const ways[] = {"execv", "execvp", "execl", "fexecve", "spawn", "spawnp"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        START(0, NULL, ways[i], "/nonexistent/x");
        START(0, NULL, ways[i], "/etc/passwd");
    }
    START(0, NULL, "execvp", "no-such-program");
    START(0, NULL, "spawnp", "no-such-program");
    START(0, NULL, "vfork", "no-such-program");
    START(0, NULL, "execvp", "");
    START(0, NULL, "execv", "/tmp");
}

TEST(spawn)
{
    START(1, NULL, "spawn", "/usr/bin/env");
    START(1, NULL, "spawnp", "env");
    START(1, NULL, "spawn-elsewhere", "/usr", "/usr/bin/env");
    START(1, NULL, "spawnp-elsewhere", "/usr", "env");
    START(0, "a relative path with file actions of posix_spawn()", "spawn-elsewhere", "/usr/bin",
          "./env");
    START(0, NULL, "spawn-elsewhere", "/usr/bin", "./no-such-program");
}

TEST(system_and_popen)
{
    char *long_command = malloc(131100);
    START(2, NULL, "system", "env; exit 3");
    START(1, NULL, "system", "echo \"$0\" 'it'\\''s' $#; kill -TERM $$");
    START(1, NULL, "system", "no-such-program; echo $?\necho '\nx");
    START(1, NULL, "system", "");
    START(0, NULL, "system", "-x");
    START(2, NULL, "popen", "env; exit 4");
    START(2, NULL, "popen-to", "cat; exit 5");
    /* as long as the kernel allows, and too long with sonde's words */
    memset(long_command, 'x', 131100);
    memcpy(long_command, "echo ", 5);
    memcpy(long_command + 131050, " | wc -c", 9);
    START(0, "too many arguments", "system", long_command);
    memcpy(long_command + 130000, " | wc -c", 9);
    START(2, NULL, "system", long_command);
    free(long_command);
}

/* A program that gains privileges starts unchanged: the loader would ignore the probe. */
TEST(privileged)
{
    char path[512];
    struct stat st;
    size_t size;
    if (geteuid() != 0) {
        SKIP("only root can make a program privileged");
    }
    snprintf(path, sizeof path, "%s/privileged", test_folder());
    char *program = test_read_file("/usr/bin/id", &size);
    test_write_file(path, program, size);
    free(program);
    CHECK_EQ(chown(path, 65534, 65534), 0);
    CHECK_EQ(chmod(path, 06755), 0);
    CHECK(stat(path, &st) == 0 && (st.st_mode & S_ISUID) != 0);
    START(1, "it gains privileges when it starts", "execv", path, "-u");
}

/* Text that several processes write through one open file stays in order and whole: the program's
 * stderr, and messages about followed programs. */
TEST(stderr_in_a_file)
{
    char path[512], script[2048];
    snprintf(path, sizeof path, "%s/stderr", test_folder());
    snprintf(script, sizeof script,
             "exec 2>%s; %s run --follow --verbose -- sh -c '/bin/echo one >&2; "
             "/bin/echo two >&2; %s idle:1 burn:600 >/dev/null; /bin/echo three >&2'",
             path, program_sonde(), program_built("run/run_loop"));
    struct test_run run = test_run((const char *[]){"sh", "-c", script, NULL}, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    char *text = test_read_file(path, NULL);
    unsigned lines = 0;
    for (char *line = text; *line != '\0'; lines++) {
        size_t size = strcspn(line, "\n");
        CHECK_EQ(line[size], '\n');
        line[size] = '\0';
        bool known = strncmp(line, "sonde run: ", 11) == 0 || strcmp(line, "one") == 0 ||
                     strcmp(line, "two") == 0 || strcmp(line, "three") == 0 || *line == '\0' ||
                     strncmp(line, "  ", 2) == 0 || strncmp(line, "stall 1: ", 9) == 0;
        if (!known) {
            FAIL("a damaged line: %s", line);
        }
        line += size + 1;
    }
    CHECK(lines > 20);
    free(text);
}
