// SPDX-License-Identifier: Apache-2.0
/* The call sites of large programs against their code: where both answer "these frames", the frames
 * are the same, and a call that both know enters the same function. Debian's libjvm and ceph-osd,
 * which `./dev test --long` fetches: gcc 12, C++ with all its clones, constructors and copies of
 * inline functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_file.h"
#include "image_elf.h"
#include "mem_heap.h"
#include "symindex.h"
#include "symindex_convert.h"
#include "tail_graph.h"
#include "test.h"

enum { PATH = 4096, REACHED_MAX = 4000 };

struct file {
    struct sonde__host_file map;
    struct sonde__elf elf;
};

struct graph {
    struct sonde__symindex_made made;
    struct sonde__symindex index;
    struct sonde__tail_graph graph;
    struct sonde__tail_origin origin;
};

static void open_file(const char *path, struct file *file)
{
    struct sonde_error error;
    CHECK_OK(sonde__host_file_map(NULL, path, (uint64_t)1 << 34, &file->map, &error));
    CHECK_OK(sonde__elf_open(file->map.data, file->map.size, &file->elf, &error));
}

static void make(const struct sonde__symindex_source *source, struct graph *ret)
{
    struct sonde_error error;
    memset(ret, 0, sizeof *ret);
    CHECK_OK(sonde__symindex_convert(source, &ret->made, &error));
    CHECK_OK(sonde__symindex_open(ret->made.data, ret->made.size, &ret->index, &error));
    sonde__symindex_tails(&ret->index, &ret->graph);
    sonde__symindex_tail_origin(&ret->index, &ret->origin);
}

/* Entries of the functions that tail calls reach from a node. */
static unsigned reach(const struct sonde__tail_graph *graph, uint32_t from, uint32_t *ret_nodes)
{
    unsigned count = 1;
    ret_nodes[0] = from;
    for (unsigned i = 0; i < count; i++) {
        struct sonde__tail_node node;
        CHECK(sonde__tail_node(graph, ret_nodes[i], &node));
        for (uint32_t k = 0; k < node.edge_count && count < REACHED_MAX; k++) {
            uint32_t place;
            uint32_t to = sonde__tail_edge(graph, node.first_edge + k, &place);
            bool met = false;
            CHECK(to != UINT32_MAX);
            for (unsigned m = 0; m < count; m++) {
                met = met || ret_nodes[m] == to;
            }
            if (!met) {
                ret_nodes[count++] = to;
            }
        }
    }
    return count;
}

struct tally {
    unsigned asked, same, different;
};

static void ask_both(const struct graph *a, const struct graph *b, uint32_t entry, uint32_t inner,
                     struct tally *tally)
{
    struct sonde__tail_found x, y;
    tally->asked++;
    if (sonde__tail_between(&a->graph, entry, inner, &x) == SONDE__TAIL_FRAMES &&
        sonde__tail_between(&b->graph, entry, inner, &y) == SONDE__TAIL_FRAMES) {
        bool same = x.count == y.count;
        for (uint32_t i = 0; same && i < x.count; i++) {
            same = x.frames[i].entry == y.frames[i].entry;
        }
        tally->same += same;
        tally->different += !same;
    }
}

static void compare_frames(const struct graph *a, const struct graph *b, struct tally *tally)
{
    static uint32_t nodes[REACHED_MAX];
    struct sonde__tail_node from, to;
    for (uint32_t i = 0; sonde__tail_node(&a->graph, i, &from); i++) {
        unsigned count = from.owner == i ? reach(&a->graph, i, nodes) : 0;
        for (unsigned k = 1; k < count; k++) {
            CHECK(sonde__tail_node(&a->graph, nodes[k], &to));
            ask_both(a, b, from.start, to.start, tally);
        }
    }
}

static void compare_sites(const struct graph *a, const struct graph *b, struct tally *tally)
{
    for (uint32_t at = 0; at < a->index.code_bytes; at++) {
        uint32_t x, y;
        bool x_is_main, y_is_main;
        if (sonde__tail_site(&a->graph, at, &x, &x_is_main) &&
            sonde__tail_site(&b->graph, at, &y, &y_is_main)) {
            tally->asked++;
            tally->same += x == y && x_is_main == y_is_main;
            tally->different += x != y || x_is_main != y_is_main;
        }
    }
}

static void first_line(const char *command, char *ret_line)
{
    const char *const argv[] = {"bash", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    snprintf(ret_line, PATH, "%.*s", (int)strcspn(run.out, "\n"), run.out);
    if (run.status != 0 || access(ret_line, R_OK) != 0) {
        SKIP("not fetched: %s", command);
    }
    test_run_done(&run);
}

static void check_corpus(const char *name, const char *where, unsigned least_frames,
                         unsigned least_sites)
{
    char command[PATH], debug_path[PATH], image_path[PATH];
    struct file debug, image;
    struct graph code, sites, both;
    struct tally frames = {0}, calls = {0};
    if (!test_long()) {
        SKIP("only with --long");
    }
    snprintf(command, sizeof command,
             "ls ${SONDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde}/inflated/%s.debug", name);
    first_line(command, debug_path);
    snprintf(command, sizeof command,
             "ls ${SONDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde}/deb/%s/%s", where, name);
    first_line(command, image_path);
    open_file(debug_path, &debug);
    open_file(image_path, &image);
    struct sonde__symindex_source source = {.debug = &debug.elf};
    make(&source, &sites);
    source.image = &image.elf;
    make(&source, &both);
    source.symbols_only = true;
    make(&source, &code);
    CHECK_EQ(sites.origin.sources, SONDE__TAIL_FROM_SITES);
    CHECK_EQ(code.origin.sources, SONDE__TAIL_FROM_CODE);
    compare_frames(&code, &sites, &frames);
    compare_frames(&sites, &code, &frames);
    compare_frames(&code, &both, &frames);
    compare_sites(&sites, &code, &calls);
    dprintf(STDOUT_FILENO,
            "    %s: jumps %u of call sites, %u of code, %u of both; functions in dispute %u; "
            "frames same %u of %u, different %u; sites same %u, different %u\n",
            name, sites.graph.edge_count, code.graph.edge_count, both.graph.edge_count,
            both.origin.functions, frames.same, frames.asked, frames.different, calls.same,
            calls.different);
    CHECK_EQ(frames.different, 0);
    CHECK_EQ(calls.different, 0);
    CHECK(frames.same >= least_frames);
    CHECK(calls.same >= least_sites);
    CHECK(both.origin.functions * 50 < code.graph.edge_count);
    sonde__mem_free(sites.made.data);
    sonde__mem_free(code.made.data);
    sonde__mem_free(both.made.data);
    sonde__host_file_unmap(&debug.map);
    sonde__host_file_unmap(&image.map);
}

TEST_TIMEOUT(libjvm, 200)
{
    check_corpus("libjvm.so", "openjdk-17-jre-headless/usr/lib/jvm/*/lib/server", 20000, 45000);
}

TEST_TIMEOUT(ceph_osd, 200)
{
    check_corpus("ceph-osd", "ceph-osd/usr/bin", 6000, 9000);
}
