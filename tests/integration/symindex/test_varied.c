// SPDX-License-Identifier: Apache-2.0
/* Random addresses of a varied set of files, against llvm-symbolizer: one program in the forms of
 * compilers and linkers, and with --long installed programs. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agree.h"
#include "test.h"

/* Load it before the harness counts the heap: its memory is no leak of ours. */
__attribute__((constructor)) static void load_library(void)
{
    (void)dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
}

struct form {
    const char *name, *build; /* $S: the sources; the program is "out" */
    bool is_long;
};

static const struct form forms[] = {
    {"gcc -O2", "g++ -O2 -g -o out $S", false},
    {"clang -g1", "clang-19 -x c++ -O2 -g1 -lstdc++ -o out $S", false},
    {"symbols only", "g++ -O1 -o out $S", false},
    {"aarch64",
     "clang-19 -target aarch64-linux-gnu -O2 -g -ffreestanding -nostdlib -shared -fuse-ld=lld "
     "-o out $C",
     false},
    {"gcc -O0 -gdwarf-4", "g++ -O0 -gdwarf-4 -o out $S", true},
    {"gcc -O3 -g3 -fno-plt", "g++ -O3 -g3 -fno-plt -o out $S", true},
    {"gcc -Os -no-pie", "g++ -Os -g -no-pie -fno-pie -o out $S", true},
    {"gcc -flto", "g++ -O2 -g -flto -o out $S", true},
    {"gcc -static", "g++ -O2 -g -static -o out $S", true},
    {"gcc -gz", "g++ -O2 -g -gz=zlib -o out $S", true},
    {"gcc -ffunction-sections", "g++ -O2 -g -ffunction-sections -Wl,--gc-sections -o out $S", true},
    {"gcc -fcf-protection=full", "g++ -O2 -g -fcf-protection=full -o out $S", true},
    {"clang -O0", "clang-19 -x c++ -O0 -g -lstdc++ -o out $S", true},
    {"clang -O3 -gdwarf-4", "clang-19 -x c++ -O3 -gdwarf-4 -lstdc++ -o out $S", true},
    {"clang line tables", "clang-19 -x c++ -O2 -gline-tables-only -lstdc++ -o out $S", true},
    {"clang -flto", "clang-19 -x c++ -O2 -g -flto -fuse-ld=lld -lstdc++ -o out $S", true},
    {"clang icf",
     "clang-19 -x c++ -O2 -g -ffunction-sections -fuse-ld=lld -Wl,--icf=all -lstdc++ -o out $S",
     true},
    {"stripped", "g++ -O2 -s -rdynamic -o out $S", true},
};

static bool build(const struct form *form)
{
    char command[2048];
    snprintf(command, sizeof command,
             "cd '%s' && S='%s/tests/integration/symindex/outer.cc'; "
             "printf 'int f(int x) { return x * 3; }\\nint g(int x) { return f(x) + f(x + 1); "
             "}\\n' > c.c; "
             "C=c.c; %s",
             test_folder(), test_source_dir(), form->build);
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 200);
    bool done = run.status == 0;
    if (!done) {
        dprintf(STDOUT_FILENO, "    %s cannot be built here: %.200s\n", form->name, run.err);
    }
    test_run_done(&run);
    return done;
}

TEST_TIMEOUT(varied_forms_of_one_program, 900)
{
    unsigned built = 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char path[600];
        if ((forms[i].is_long && !test_long()) || !build(&forms[i])) {
            continue;
        }
        snprintf(path, sizeof path, "%s/out", test_folder());
        must_agree(forms[i].name, compare(path, NULL, NULL, test_long() ? 2000 : 1000));
        built++;
    }
    CHECK(built >= 3);
}

/* llvm-symbolizer finds an installed debug file by itself: skip such programs. */
TEST_TIMEOUT(varied_files_of_the_machine, 3600)
{
    static const char list[] =
        "for f in /usr/bin/* /usr/lib/x86_64-linux-gnu/lib*.so.*; do [ -L $f ] && continue; "
        "head -c 4 $f 2>/dev/null | grep -q ELF || continue; "
        "id=$(readelf -n $f 2>/dev/null | sed -n 's/.*Build ID: //p'); "
        "[ -e /usr/lib/debug/.build-id/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-).debug ] && "
        "continue; "
        "{ nm -D --defined-only $f; nm --defined-only $f; } 2>/dev/null | grep -qc ' [TtWi] ' || "
        "continue; "
        "echo $f; done | awk 'NR % 23 == 1' | head -60";
    char *line, *rest = NULL;
    unsigned files = 0;
    if (!test_long()) {
        SKIP("60 files: with SONDE_TEST_LONG=1");
    }
    const char *const argv[] = {"sh", "-c", list, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 300);
    for (line = strtok_r(run.out, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        struct agreement a = compare(line, NULL, NULL, 2000);
        if (a.known >= 100) {
            must_agree(line, a);
        }
        files++;
    }
    test_run_done(&run);
    CHECK(files >= 20);
}
