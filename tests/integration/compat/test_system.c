// SPDX-License-Identifier: Apache-2.0
/* System programs under `sonde run --`: name spaces, servers that drop root, fork workers, children
 * of another libc or word size, build tools, terminals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "same.h"

TEST(name_spaces)
{
    char *out = NULL;
    struct test_run able =
        test_run((const char *[]){"unshare", "--user", "true", NULL}, NULL, NULL, 30);
    if (able.status != 0) {
        SKIP("this machine refuses user name spaces: %s", able.err);
    }
    test_run_done(&able);
    check_same((const char *[]){"unshare", "--user", "true", NULL}, NULL, 0);
    check_script("\"$@\" unshare --user --map-root-user id -u\n"
                 "\"$@\" unshare --user --map-root-user --pid --fork --mount-proc sh -c 'echo $$; "
                 "ls /proc | grep -c ^1$'\n"
                 "\"$@\" unshare --user --map-root-user --mount --ipc --uts true; echo $?\n",
                 NULL, 0, &out);
    CHECK_CONTAINS(out, "0\n1\n");
    free(out);
}

TEST(dropped_privileges)
{
    if (geteuid() != 0) {
        SKIP("only root can drop root's rights");
    }
    check_script("\"$@\" setpriv --reuid 65534 --regid 65534 --clear-groups id -u; echo $?\n"
                 "\"$@\" setpriv --no-new-privs grep NoNewPrivs /proc/self/status\n"
                 "setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \"$@\" id -u "
                 "2>/dev/null; echo $?\n"
                 "\"$@\" /usr/bin/python3 -c 'import os, select, time\n"
                 "r, w = os.pipe()\n"
                 "for i in range(10): select.select([r], [], [], 0.01)\n"
                 "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
                 "for i in range(10): select.select([r], [], [], 0.01)\n"
                 "time.sleep(0.4)\n"
                 "for i in range(10): select.select([r], [], [], 0.01)\n"
                 "print(os.getuid(), os.geteuid())'\n",
                 NULL, 0, NULL);
}

TEST(nginx_with_workers)
{
    const char *nginx = program_unpacked("nginx", "usr/sbin/nginx");
    if (nginx == NULL) {
        SKIP("nginx is not unpacked (./dev setup test)");
    }
    char script[4400];
    char *out = NULL;
    snprintf(script, sizeof script, "PORT=%d SERVER=%s bash $SCRIPTS/nginx.sh \"$@\"",
             program_free_port(), nginx);
    check_script(script, NULL, 0, &out);
    CHECK_CONTAINS(out, "hello from a worker");
    CHECK_CONTAINS(out, "second configuration");
    free(out);
    check_followed(script, 0, NULL);
}

TEST_TIMEOUT(fork_workers, 120)
{
    char *out = NULL;
    check_script("\"$@\" /usr/bin/python3 $SCRIPTS/workers.py; echo $?", NULL, 0, &out);
    CHECK_CONTAINS(out, "pool [0, 1, 4, 9");
    free(out);
    check_followed("\"$@\" /usr/bin/python3 $SCRIPTS/workers.py; echo $?", 0, NULL);
}

/* Programs that cannot load the preloaded library. */
TEST(children_of_another_libc)
{
    static const char script[] =
        "cd $FOLDER\n"
        "cat >child.c <<'END'\n#include <stdio.h>\n#include <stdlib.h>\n#include <poll.h>\n"
        "int main(void) { for (int i = 0; i < 9; i++) poll(0, 0, 1);\n"
        "puts(getenv(\"LD_PRELOAD\") ? \"preload\" : \"clean\"); return 8; }\nEND\n"
        "musl-gcc -o musl child.c && gcc -static -o static child.c && gcc -o dynamic child.c || "
        "exit 1\n"
        "cat >script <<'END'\n#!/bin/sh\nfor p in musl static dynamic; do ./$p; echo $p $?; "
        "done\nexit 3\nEND\n"
        "chmod 755 script; \"$@\" ./script; echo $?\n"
        "\"$@\" ./musl; echo $?; \"$@\" ./static; echo $?\n";
    char *out = NULL;
    check_script(script, NULL, 0, &out);
    CHECK_CONTAINS(out, "clean\nmusl 8\nclean\nstatic 8\nclean\ndynamic 8\n3\n");
    free(out);
    check_followed(script, 0, NULL);
}

TEST(children_of_32_bits)
{
#if !defined(__x86_64__)
    SKIP("32-bit x86 programs run on x86-64 only");
#else
    static const char script[] =
        "cd $FOLDER\n"
        "cat >child.s <<'END'\n.globl _start\n_start:\nmov $4, %eax\nmov $1, %ebx\nmov "
        "$text, %ecx\n"
        "mov $8, %edx\nint $0x80\nmov $1, %eax\nmov $11, %ebx\nint $0x80\ntext: .ascii "
        "\"32 bits\\n\"\nEND\n"
        "as --32 -o child.o child.s && ld -m elf_i386 -o child child.o || exit 1\n"
        "./child >/dev/null 2>&1; [ $? = 11 ] || { echo refused; exit 0; }\n"
        "\"$@\" sh -c './child; echo $?'; \"$@\" ./child; echo $?\n";
    char *out = NULL;
    check_script(script, NULL, 0, &out);
    if (strncmp(out, "refused", 7) == 0) {
        SKIP("this kernel runs no 32-bit programs");
    }
    CHECK_STR(out, "32 bits\n11\n32 bits\n11\n");
    free(out);
    check_followed(script, 0, NULL);
#endif
}

static const char build_script[] =
    "cd $FOLDER\n"
    "printf 'all: a b c d\\n%%: ; @echo made $@ >$@; cat $@ >>log\\n' >Makefile\n"
    "\"$@\" make -s -j2; echo $?; sort log; rm log; \"$@\" make -q; echo $?\n"
    "printf 'rule touch\\n command = echo built $out; touch $out\\nbuild x: touch\\nbuild y: touch "
    "x\\n' >build.ninja\n"
    "if command -v ninja >/dev/null; then \"$@\" ninja -v; echo $?; \"$@\" ninja; echo $?; fi; rm "
    "-f .ninja*\n"
    "export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'\n"
    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
    "GIT_COMMITTER_EMAIL=a@b\n"
    "\"$@\" git init -q -b trunk . && \"$@\" git add . && \"$@\" git commit -q -m one; echo "
    "$?\n"
    "\"$@\" git log --stat --format=%H; \"$@\" git fsck 2>&1 | tail -1; \"$@\" git gc -q; echo "
    "$?\n"
    "GIT_PAGER='sed s/^/paged:/' \"$@\" git --paginate log --format=%s\n"
    "printf '#!/bin/sh\\necho hook $0 $PWD >>$FOLDER/hooks\\n' >.git/hooks/pre-commit\n"
    "chmod 755 .git/hooks/pre-commit; \"$@\" git commit -q --allow-empty -m two; cat hooks\n"
    "\"$@\" git clone -q --no-local . copy && \"$@\" git -C copy log --format=%H%s; echo $?\n"
    "\"$@\" git cat-file -t nothing; echo $?\n"
    "\"$@\" gcc -xc -o prog - <<<'int main(void) { return 21; }'; \"$@\" ./prog; echo $?\n";

TEST_TIMEOUT(build_tools, 120)
{
    check_script(build_script, NULL, 0, NULL);
}

TEST_TIMEOUT(build_tools_followed, 120)
{
    char *out = NULL;
    check_followed(build_script, 0, &out);
    CHECK_CONTAINS(out, "made a\n");
    CHECK_CONTAINS(out, "hook ");
    free(out);
}

TEST_TIMEOUT(job_control_on_a_terminal, 150)
{
    char *out = NULL;
    check_script("/usr/bin/python3 $SCRIPTS/job_control.py \"$@\"", NULL, 0, &out);
    CHECK_CONTAINS(out, "interrupted 130\nstopped 148\n");
    CHECK_CONTAINS(out, "hung up: gone\n");
    free(out);
}

static const char language_script[] =
    "\"$@\" /usr/bin/python3 -c 'import asyncio\nasync def f():\n"
    "  p = await asyncio.create_subprocess_exec(\"echo\", \"child\")\n"
    "  print(await p.wait())\nasyncio.run(f())'\n"
    "\"$@\" perl -e 'use IO::Select; for (1..9) { select(undef, undef, undef, 0.01) } "
    "system(\"echo perl\"); exit 5'; echo $?\n"
    "command -v node >/dev/null && \"$@\" node -e 'setTimeout(() => { "
    "console.log(require(\"child_process\").execSync(\"echo node\").toString(), "
    "Object.keys(process.env).filter(k => /SONDE|PRELOAD/.test(k))); process.exitCode "
    "= 6 }, 50)'; echo $?\n"
    "command -v tclsh >/dev/null && \"$@\" tclsh <<<'after 50 {set done 1}; vwait "
    "done; puts [exec echo tcl]'; echo $?\n";

TEST(many_languages)
{
    check_script(language_script, NULL, 0, NULL);
}

TEST(many_languages_followed)
{
    check_followed(language_script, 0, NULL);
}

/* The watch does not follow children: a program that outlives its parent keeps its output open. */
TEST(nothing_keeps_the_pipe_open)
{
    check_script("time_begin=$SECONDS; \"$@\" sh -c 'echo done' | cat; [ $((SECONDS - time_begin)) "
                 "-lt 20 ]; echo $?",
                 NULL, 0, NULL);
}
