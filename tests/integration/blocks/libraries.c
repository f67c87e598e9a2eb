// SPDX-License-Identifier: Apache-2.0
#include "libraries.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "darwin.h"
#include "test.h"

const struct library_target library_targets[LIBRARY_TARGETS] = {
    {"arm64-apple-macos13", ""},
    {"arm64e-apple-macos13", ""},
    {"x86_64-apple-macos13", ""},
    {"aarch64-linux-gnu", "-fobjc-runtime=macosx-10.15 -mbranch-protection=standard"},
    {"x86_64-linux-gnu", "-fobjc-runtime=macosx-10.15"},
};
const char *const library_levels[LIBRARY_LEVELS] = {"-O0", "-O1", "-O2", "-Os", "-Oz"};

/* A library of the corpus, in the test's folder. */
void library_build(const struct library_target *target, const char *level)
{
    const char *dash = strchr(target->triple, '-');
    bool is_macho = strstr(target->triple, "apple") != NULL;
    const char *corpus = "tests/integration/blocks/corpus";
    char link[300];
    snprintf(link, sizeof link,
             is_macho ? "ld64.lld-19 -arch %.*s -platform_version macos 13 13 -dylib "
                        "-undefined dynamic_lookup -o lib *.o"
                      : "ld.lld-19 -shared -o lib *.o",
             strncmp(target->triple, "arm64e", 6) == 0 ? 5 : (int)(dash - target->triple),
             target->triple);
    darwin_shell(
        "S='%s/%s'; rm -f *.o; "
        "F='-target %s %s %s -fPIC -w -fblocks -ffreestanding'; "
        "clang-19 $F -std=c11 -c $S/cases_c.c -o c.o & "
        "clang-19 $F -fobjc-arc -c $S/cases_arc.m -o arc.o & "
        "clang-19 $F -c $S/cases_mrc.m -o mrc.o & "
        "clang-19 $F -std=c++17 -fobjc-arc -c $S/cases_cxx.mm -o cxx.o & "
        "wait; "
        /* the linker does not support arm64e; the code equals arm64's, except for signatures */
        "case %s in arm64e*) for o in *.o; do "
        "printf '\\0\\0\\0\\0' | dd of=$o bs=1 seek=8 conv=notrunc 2>/dev/null; done;; esac; "
        "%s",
        test_source_dir(), corpus, target->triple, target->flags, level, target->triple, link);
}
