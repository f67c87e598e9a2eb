// SPDX-License-Identifier: Apache-2.0
/* SQLite's one large unit (the amalgamation, of the npm package better-sqlite3, which
 * `./dev test --long` fetches) in all forms of debug information, against llvm-symbolizer. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agree.h"
#include "test.h"

/* Their first allocations are no leak of the test. */
__attribute__((constructor)) static void load_libraries(void)
{
    (void)dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    (void)dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
}

enum { ADDRESSES = 20000, PATH = 4096 };

/* Build `program`, and `plain` where llvm-symbolizer cannot read that form. */
static void check(const char *what, const char *build, bool has_plain)
{
    char command[PATH], program[PATH], plain[PATH];
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct test_run run;
    if (!test_long()) {
        SKIP("only with --long");
    }
    snprintf(command, sizeof command,
             "N=${SONDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde}/npm/better-sqlite3@12.4.1\n"
             "S=$N/deps/sqlite3/sqlite3.c; O='-O2 -w -shared -fPIC -DSQLITE_ENABLE_FTS5 "
             "-DSQLITE_ENABLE_RTREE'\n"
             "[ -r $S ] || { echo not fetched: $S; exit 77; }; set -e; cd %s; %s",
             test_folder(), build);
    run = test_run(argv, NULL, NULL, 800);
    if (run.status == 77 || run.status == 127) {
        SKIP("%s %s", run.out, run.err);
    }
    if (run.status != 0) {
        FAIL("%s: %s", build, run.err);
    }
    test_run_done(&run);
    snprintf(program, sizeof program, "%s/program", test_folder());
    snprintf(plain, sizeof plain, "%s/plain", test_folder());
    struct agreement a = compare(program, has_plain ? plain : NULL, NULL, ADDRESSES);
    CHECK(a.known > ADDRESSES * 9 / 10);
    must_agree(what, a);
}

#define FORM(name, build, has_plain)                                                               \
    TEST_TIMEOUT(name, 900)                                                                        \
    {                                                                                              \
        check(#name, build, has_plain);                                                            \
    }
FORM(sqlite_gcc_4, "gcc $O -gdwarf-4 -o program $S", false)
FORM(sqlite_gcc_5, "gcc $O -gdwarf-5 -o program $S", false)
FORM(sqlite_clang_4, "clang-19 $O -gdwarf-4 -o program $S", false)
FORM(sqlite_clang_5, "clang-19 $O -gdwarf-5 -o program $S", false)
FORM(sqlite_split, "gcc $O -gdwarf-5 -gsplit-dwarf -o program $S", false)
FORM(sqlite_split_clang_4, "clang-19 $O -gdwarf-4 -gsplit-dwarf -o program $S", false)
FORM(sqlite_dwz, "gcc $O -gdwarf-5 -o plain $S; cp plain program; dwz program", true)
FORM(sqlite_zlib, "gcc $O -gdwarf-5 -gz=zlib -o program $S", false)
FORM(sqlite_zstd,
     "clang-19 $O -gdwarf-5 -o plain $S; "
     "llvm-objcopy-19 --compress-debug-sections=zstd plain program",
     true)
FORM(sqlite_aarch64, "aarch64-linux-gnu-gcc $O -gdwarf-5 -o program $S", false)
