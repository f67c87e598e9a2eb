// SPDX-License-Identifier: Apache-2.0
#include "corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { BLOCKS = 256, PATH_BYTES = 600, COMMAND_BYTES = 8000 };

/* Parallel tests build the corpus once, under a lock of its folder. It is fresh if it is younger
 * than all sources. */
const char *corpus_built(const char *level, const char *parts)
{
    static char folder[PATH_BYTES];
    char command[COMMAND_BYTES];
    snprintf(folder, sizeof folder, "%s/tests/integration/blocks/corpus%s-%s", test_build_dir(),
             level, parts);
    for (char *at = strrchr(folder, '/'); *at != '\0'; at++) {
        *at = *at == ' ' ? '+' : *at;
    }
    snprintf(command, sizeof command,
             "command -v clang-19 ld.lld-19 >/dev/null || exit 77\n"
             "case '%s' in *debian*) ls ${SONDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde}/deb/"
             "libblocksruntime0/usr/lib/*/libBlocksRuntime.so.0 >/dev/null || exit 77;; esac\n"
             "mkdir -p '%s' && exec 9>'%s/.lock' && flock 9\n"
             "[ -e '%s/.done' ] && [ -z \"$(find '%s/tests/integration/blocks/corpus' "
             "-newer '%s/.done')\" ] && exit 0\n"
             "'%s/tests/integration/blocks/corpus/build.sh' '%s' %s %s && touch '%s/.done'",
             parts, folder, folder, folder, test_source_dir(), folder, test_source_dir(), folder,
             level, parts, folder);
    const char *argv[] = {"sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 200);
    if (run.status == 77) {
        SKIP("clang-19, lld-19 or libblocksruntime0 is not there (./dev setup test)");
    }
    if (run.status != 0) {
        FAIL("the corpus does not build: %s", run.err);
    }
    test_run_done(&run);
    return folder;
}

/* kind, offset, ".SIZE" of data; behind "rOFFSET." when it is in that byref. */
static const char *parse_capture(const char *at, struct corpus_capture *ret_capture)
{
    char *end;
    *ret_capture = (struct corpus_capture){.kind = *at, .byref = -1};
    ret_capture->offset = (uint32_t)strtoul(at + 1, &end, 10);
    if (*end == '.' && *at == 'r') {
        uint32_t byref = ret_capture->offset;
        end = (char *)parse_capture(end + 1, ret_capture);
        ret_capture->byref = (int32_t)byref;
    } else if (*end == '.') {
        ret_capture->size = (uint32_t)strtoul(end + 1, &end, 10);
    }
    return end;
}

const struct corpus_block *corpus_truth(size_t *ret_count)
{
    static struct corpus_block blocks[BLOCKS];
    static size_t count;
    char path[PATH_BYTES];
    if (count == 0) {
        snprintf(path, sizeof path, "%s/tests/integration/blocks/corpus/truth.txt",
                 test_source_dir());
        char *text = test_read_file(path, NULL), *rest = text;
        for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
            struct corpus_block *block = &blocks[count];
            int used = 0;
            if (line[0] == '#' || line[0] == '\0') {
                continue;
            }
            CHECK(count < BLOCKS);
            CHECK_EQ(sscanf(line, "%39s %7s %u%n", block->name, block->where, &block->size, &used),
                     3);
            for (const char *at = line + used; *at == ' ';) {
                CHECK(block->count < CORPUS_CAPTURES);
                at = parse_capture(at + 1, &block->captures[block->count++]);
            }
            count++;
        }
        free(text);
    }
    *ret_count = count;
    return blocks;
}

const struct corpus_block *corpus_find(const char *name)
{
    size_t count;
    const struct corpus_block *blocks = corpus_truth(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(blocks[i].name, name) == 0) {
            return &blocks[i];
        }
    }
    return NULL;
}

const char *core_of_program(int pid)
{
    static char path[PATH_BYTES];
    char prefix[PATH_BYTES], number[16];
    const char *const argv[] = {"gcore", "-o", prefix, number, NULL};
    snprintf(prefix, sizeof prefix, "%s/core", test_folder());
    snprintf(number, sizeof number, "%d", pid);
    struct test_run run = test_run(argv, NULL, NULL, 120);
    if (run.status == 127) {
        SKIP("no gcore");
    }
    if (run.status != 0) {
        FAIL("gcore: %s%s", run.out, run.err);
    }
    test_run_done(&run);
    CHECK(snprintf(path, sizeof path, "%s.%s", prefix, number) < PATH_BYTES);
    return path;
}
