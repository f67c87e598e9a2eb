// SPDX-License-Identifier: Apache-2.0
/* The inference against simulated programs: random functions that jump to each other, and random
 * walks over them. Each inferred frame must be on the walk. Where only one way exists, the
 * inference must find it. */
#include <stdlib.h>
#include <string.h>

#include "mem_heap.h"
#include "tail_graph.h"
#include "tail_make.h"
#include "test.h"

enum { FUNCTIONS_MAX = 40, JUMPS_MAX = 120, SIZE = 16, SITE = 1000000 };

static uint64_t state = 1;

static uint32_t rnd(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

struct world {
    struct sonde__tail_function functions[FUNCTIONS_MAX];
    struct sonde__tail_jump jumps[JUMPS_MAX], sorted[JUMPS_MAX];
    struct sonde__tail_call calls[FUNCTIONS_MAX];
    uint32_t count, jump_count;
    bool external[FUNCTIONS_MAX], open[FUNCTIONS_MAX];
    struct sonde__tail_bytes bytes;
    struct sonde__tail_graph graph;
};

static void make_graph(struct world *w)
{
    struct sonde__tail_input input = {.functions = w->functions,
                                      .function_count = w->count,
                                      .jumps = w->sorted,
                                      .jump_count = w->jump_count,
                                      .calls = w->calls,
                                      .call_count = w->count,
                                      .main = SONDE__TAIL_NONE};
    memcpy(w->sorted, w->jumps, sizeof w->jumps);
    for (uint32_t i = 0; i < w->count; i++) {
        w->functions[i].start = 100 + i * SIZE;
        w->functions[i].end = w->functions[i].start + SIZE;
        w->functions[i].owner = i;
        w->functions[i].flags =
            (w->open[i] ? (uint32_t)(SONDE__TAIL_OPEN | SONDE__TAIL_INDIRECT) : 0) |
            (w->external[i] ? (uint32_t)SONDE__TAIL_EXTERNAL : 0);
        w->calls[i] = (struct sonde__tail_call){SITE + i, i};
    }
    CHECK_OK(sonde__tail_make(&input, &w->bytes));
    CHECK(sonde__tail_open(w->bytes.graph, w->bytes.graph_size, w->bytes.sites, w->bytes.sites_size,
                           &w->graph));
}

static void add_jump(struct world *w, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < w->jump_count; i++) {
        if (w->jumps[i].from == from && w->jumps[i].to == to) {
            return;
        }
    }
    w->jumps[w->jump_count] =
        (struct sonde__tail_jump){from, to, 100 + from * SIZE + 1 + rnd(SIZE - 1)};
    w->jump_count++;
}

static void make_world(struct world *w)
{
    bool rounds = rnd(4) == 0;
    uint32_t jumps;
    memset(w, 0, sizeof *w);
    w->count = 2 + rnd(FUNCTIONS_MAX - 1);
    jumps = rnd(w->count * 2 < JUMPS_MAX ? w->count * 2 : JUMPS_MAX);
    for (uint32_t i = 0; i < jumps; i++) {
        uint32_t from = rnd(w->count), to = rnd(w->count);
        if (rounds || from < to) {
            add_jump(w, from, to);
        }
    }
    for (uint32_t i = 0; i < w->count; i++) {
        w->open[i] = rnd(40) == 0;
        w->external[i] = rnd(20) == 0;
    }
    make_graph(w);
}

/* Walk from function `at`: along jumps of the graph, through an external function back to any
 * function, or by an open jump to any function. Returns the number of functions; the last one has
 * the frame. */
static uint32_t play(const struct world *w, uint32_t at, uint32_t *ret_walk, bool *ret_known)
{
    uint32_t n = 0;
    *ret_known = true;
    ret_walk[n++] = at;
    while (n < 30 && rnd(5) != 0) {
        uint32_t ways[JUMPS_MAX], count = 0;
        for (uint32_t i = 0; i < w->jump_count; i++) {
            if (w->jumps[i].from == at) {
                ways[count++] = w->jumps[i].to;
            }
        }
        if ((w->open[at] || w->external[at]) && rnd(2) == 0) {
            at = rnd(w->count);
            *ret_known = false;
        } else if (count == 0) {
            break;
        } else {
            at = ways[rnd(count)];
        }
        ret_walk[n++] = at;
    }
    return n;
}

/* Count the ways from one function to another: of one jump, of two, and so on, up to a limit. */
static uint32_t count_ways(const struct world *w, uint32_t from, uint32_t to)
{
    uint32_t here[FUNCTIONS_MAX] = {0}, total = 0;
    here[from] = 1;
    for (uint32_t jumps = 0; jumps < 2 * FUNCTIONS_MAX; jumps++) {
        uint32_t next[FUNCTIONS_MAX] = {0};
        for (uint32_t i = 0; i < w->jump_count; i++) {
            next[w->jumps[i].to] += here[w->jumps[i].from];
        }
        for (uint32_t i = 0; i < w->count; i++) {
            here[i] = next[i] < 1000000 ? next[i] : 1000000;
        }
        total += here[to];
    }
    return total;
}

static bool reaches_flag(const struct world *w, uint32_t from, uint32_t stop, const bool *flags)
{
    bool met[FUNCTIONS_MAX] = {false};
    uint32_t queue[FUNCTIONS_MAX], n = 0;
    met[stop] = met[from] = true;
    queue[n++] = from;
    for (uint32_t i = 0; i < n; i++) {
        if (flags[queue[i]]) {
            return true;
        }
        for (uint32_t k = 0; k < w->jump_count; k++) {
            if (w->jumps[k].from == queue[i] && !met[w->jumps[k].to]) {
                met[w->jumps[k].to] = true;
                queue[n++] = w->jumps[k].to;
            }
        }
    }
    return false;
}

static uint32_t function_at(uint32_t entry)
{
    return (entry - 100) / SIZE;
}

/* The inferred frames are functions of the walk, in its order. */
static void check_frames(const struct sonde__tail_found *found, const uint32_t *walk, uint32_t n)
{
    uint32_t at = 0;
    for (uint32_t i = found->count; i > 0; i--) {
        uint32_t function = function_at(found->frames[i - 1].entry);
        while (at + 1 < n && walk[at] != function) {
            at++;
        }
        CHECK(at + 1 < n); /* the last one is the physical frame */
        CHECK_EQ(function_at(found->frames[i - 1].place), function);
        at++;
    }
}

static enum sonde__tail_answer ask(struct world *w, uint32_t from, uint32_t to,
                                   struct sonde__tail_found *found)
{
    uint32_t entry;
    bool is_main;
    return sonde__tail_site(&w->graph, SITE + from, &entry, &is_main)
               ? sonde__tail_between(&w->graph, entry, 100 + to * SIZE + 3, found)
               : SONDE__TAIL_NOTHING;
}

struct tally {
    uint32_t walks, frames, several, nothing;
};

static void check_walk(struct world *w, struct tally *tally)
{
    uint32_t walk[32], entry = 0;
    bool known, is_main = true;
    struct sonde__tail_found found;
    uint32_t n = play(w, rnd(w->count), walk, &known);
    uint32_t first = walk[0], last = walk[n - 1];
    bool is_site = sonde__tail_site(&w->graph, SITE + first, &entry, &is_main);
    enum sonde__tail_answer answer = SONDE__TAIL_NOTHING;
    tally->walks++;
    if (is_site) {
        CHECK(!is_main);
        CHECK_EQ(entry, 100 + first * SIZE);
        answer = sonde__tail_between(&w->graph, entry, 100 + last * SIZE + rnd(SIZE), &found);
    }
    if (first == last) {
        CHECK_EQ(answer, SONDE__TAIL_NOTHING);
        return;
    }
    if (answer == SONDE__TAIL_FRAMES) {
        CHECK_EQ(count_ways(w, first, last), 1);
        check_frames(&found, walk, n);
        if (known) { /* all of them, and nothing else */
            CHECK_EQ(found.count, n - 1);
        }
        /* none after a function that may have left for somewhere else */
        for (uint32_t i = 1; i < found.count; i++) {
            uint32_t function = function_at(found.frames[i].entry);
            CHECK(!w->open[function] && !w->external[function]);
        }
    }
    if (answer == SONDE__TAIL_SEVERAL) {
        CHECK(found.ways >= 2);
        CHECK_EQ(found.count, 1); /* the called function, whatever came after it */
        CHECK_EQ(function_at(found.frames[0].entry), first);
        if (reaches_flag(w, first, last, w->open)) {
            CHECK(found.ways == UINT32_MAX);
        } else if (found.ways != UINT32_MAX && !reaches_flag(w, first, last, w->external)) {
            CHECK_EQ(found.ways, count_ways(w, first, last));
        }
    }
    if (answer == SONDE__TAIL_NOTHING && (known || reaches_flag(w, first, last, w->open))) {
        FAIL("%u functions were jumped over and nothing was said", n - 1);
    }
    tally->frames += answer == SONDE__TAIL_FRAMES;
    tally->several += answer == SONDE__TAIL_SEVERAL;
}

/* Between functions that no jumps connect, the answer is nothing. */
static void check_apart(struct world *w, struct tally *tally)
{
    struct sonde__tail_found found;
    uint32_t first = rnd(w->count), last = rnd(w->count);
    if (first != last && count_ways(w, first, last) == 0 &&
        !reaches_flag(w, first, last, w->open)) {
        CHECK_EQ(ask(w, first, last, &found), SONDE__TAIL_NOTHING);
        tally->nothing++;
    }
}

TEST_TIMEOUT(frames_put_in_were_there, 120)
{
    struct tally tally = {0};
    uint32_t worlds = test_long() ? 20000 : 1500;
    for (uint32_t i = 0; i < worlds; i++) {
        static struct world world;
        make_world(&world);
        for (int walk = 0; walk < 40; walk++) {
            check_walk(&world, &tally);
            check_apart(&world, &tally);
        }
        sonde__tail_bytes_done(&world.bytes);
    }
    /* each kind of answer occurred */
    CHECK(tally.frames > tally.walks / 50);
    CHECK(tally.several > tally.walks / 50);
    CHECK(tally.nothing > tally.walks / 50);
}

TEST(one_way_is_put_in_innermost_first)
{
    static struct world w;
    struct sonde__tail_found found;
    w.count = 4;
    add_jump(&w, 0, 1);
    add_jump(&w, 1, 3);
    add_jump(&w, 0, 2);
    make_graph(&w);
    CHECK_EQ(ask(&w, 0, 3, &found), SONDE__TAIL_FRAMES);
    CHECK_EQ(found.count, 2);
    CHECK_EQ(found.frames[0].entry, 100 + SIZE);
    CHECK_EQ(found.frames[1].entry, 100);
    CHECK_EQ(ask(&w, 0, 0, &found), SONDE__TAIL_NOTHING);
    CHECK_EQ(ask(&w, 2, 3, &found), SONDE__TAIL_NOTHING); /* no way leads there */
    add_jump(&w, 2, 3);
    sonde__tail_bytes_done(&w.bytes);
    make_graph(&w);
    CHECK_EQ(ask(&w, 0, 3, &found), SONDE__TAIL_SEVERAL);
    CHECK_EQ(found.ways, 2);
    w.open[2] = true;
    sonde__tail_bytes_done(&w.bytes);
    make_graph(&w);
    CHECK_EQ(ask(&w, 0, 3, &found), SONDE__TAIL_SEVERAL);
    CHECK(found.ways == UINT32_MAX);
    sonde__tail_bytes_done(&w.bytes);
}

/* The called function has left; the target of an indirect jump is unknown. */
TEST(an_exit_by_an_unknown_jump_is_reported)
{
    static struct world w;
    struct sonde__tail_found found;
    w.count = 4;
    add_jump(&w, 0, 1);
    w.open[1] = true; /* reachable */
    w.open[3] = true; /* has no known jump */
    make_graph(&w);
    for (uint32_t from = 0; from < 4; from++) {
        enum sonde__tail_answer answer = ask(&w, from, 2, &found);
        CHECK_EQ(answer, from == 2 ? SONDE__TAIL_NOTHING : SONDE__TAIL_SEVERAL);
        if (from != 2) {
            CHECK_EQ(found.count, 1);
            CHECK_EQ(found.frames[0].entry, 100 + from * SIZE);
            CHECK(found.ways == UINT32_MAX);
        }
    }
    sonde__tail_bytes_done(&w.bytes);
}

TEST(ways_that_go_round_have_no_number)
{
    static struct world w;
    struct sonde__tail_found found;
    w.count = 4;
    add_jump(&w, 0, 1);
    add_jump(&w, 1, 2);
    add_jump(&w, 2, 1);
    add_jump(&w, 2, 3);
    make_graph(&w);
    CHECK_EQ(ask(&w, 0, 3, &found), SONDE__TAIL_SEVERAL);
    CHECK(found.ways == UINT32_MAX);
    CHECK_EQ(ask(&w, 0, 1, &found), SONDE__TAIL_SEVERAL); /* 1 is on a circle */
    CHECK(found.ways == UINT32_MAX);
    sonde__tail_bytes_done(&w.bytes);
}

/* A function that may also leave for another image is certain itself; its successors are not. */
TEST(ways_over_other_images_are_not_certain)
{
    static struct world w;
    struct sonde__tail_found found;
    w.count = 3;
    add_jump(&w, 0, 1);
    add_jump(&w, 1, 2);
    w.external[1] = true;
    make_graph(&w);
    CHECK_EQ(ask(&w, 0, 2, &found), SONDE__TAIL_FRAMES);
    CHECK_EQ(found.count, 2);
    w.external[0] = true;
    sonde__tail_bytes_done(&w.bytes);
    make_graph(&w);
    CHECK_EQ(ask(&w, 0, 2, &found), SONDE__TAIL_SEVERAL);
    CHECK_EQ(ask(&w, 1, 2, &found), SONDE__TAIL_FRAMES);
    sonde__tail_bytes_done(&w.bytes);
}

/* Jumps and frames of a part count for its function. */
TEST(parts_are_their_functions)
{
    static struct world w;
    struct sonde__tail_found found;
    struct sonde__tail_input input = {.functions = w.functions,
                                      .function_count = 3,
                                      .jumps = w.jumps,
                                      .jump_count = 1,
                                      .calls = w.calls,
                                      .call_count = 1,
                                      .main = 0};
    uint32_t entry;
    w.functions[0] = (struct sonde__tail_function){10, 20, 0, 0};
    w.functions[1] = (struct sonde__tail_function){20, 30, 1, 0};
    w.functions[2] = (struct sonde__tail_function){50, 60, 0, 0}; /* a part of function 0 */
    w.jumps[0] = (struct sonde__tail_jump){2, 1, 55};
    w.calls[0] = (struct sonde__tail_call){70, 0};
    CHECK_OK(sonde__tail_make(&input, &w.bytes));
    CHECK(sonde__tail_open(w.bytes.graph, w.bytes.graph_size, w.bytes.sites, w.bytes.sites_size,
                           &w.graph));
    CHECK_EQ(sonde__tail_between(&w.graph, 10, 25, &found), SONDE__TAIL_FRAMES);
    CHECK_EQ(found.count, 1);
    CHECK_EQ(found.frames[0].entry, 10);
    CHECK_EQ(found.frames[0].place, 55);
    CHECK_EQ(sonde__tail_between(&w.graph, 10, 52, &found), SONDE__TAIL_NOTHING);
    CHECK(sonde__tail_main(&w.graph, &entry));
    CHECK_EQ(entry, 10);
    sonde__tail_bytes_done(&w.bytes);
}

/* More functions than one query visits: nothing, or several; the search always ends. */
TEST(large_graphs_end)
{
    enum { N = 5000 };
    struct sonde__tail_function *functions = calloc(N, sizeof *functions);
    struct sonde__tail_jump *jumps = calloc(3 * N, sizeof *jumps);
    struct sonde__tail_call call = {1, 0};
    struct sonde__tail_bytes bytes;
    struct sonde__tail_graph graph;
    struct sonde__tail_found found;
    size_t n = 0;
    CHECK(functions != NULL && jumps != NULL);
    for (uint32_t i = 0; i < N; i++) {
        functions[i] = (struct sonde__tail_function){100 + i * 10, 110 + i * 10, i, 0};
        for (uint32_t k = 1; k <= 3 && i + k < N; k++) {
            jumps[n++] = (struct sonde__tail_jump){i, i + k, 101 + i * 10};
        }
    }
    struct sonde__tail_input input = {functions, N, jumps, n, &call, 1, SONDE__TAIL_NONE};
    CHECK_OK(sonde__tail_make(&input, &bytes));
    CHECK(sonde__tail_open(bytes.graph, bytes.graph_size, bytes.sites, bytes.sites_size, &graph));
    CHECK_EQ(sonde__tail_between(&graph, 100, 100 + (N - 1) * 10, &found), SONDE__TAIL_NOTHING);
    sonde__tail_bytes_done(&bytes);
    free(functions);
    free(jumps);
}

/* Every failed allocation gives a clean status. */
TEST(memory_may_run_out)
{
    static struct world w;
    struct sonde__tail_function functions[2] = {{10, 20, 0, 0}, {20, 30, 1, 0}};
    struct sonde__tail_jump jump = {0, 1, 15};
    struct sonde__tail_call call = {70, 0};
    struct sonde__tail_input input = {functions, 2, &jump, 1, &call, 1, SONDE__TAIL_NONE};
    for (uint64_t i = 0;; i++) {
        sonde__mem_fail_from(i);
        enum sonde_status status = sonde__tail_make(&input, &w.bytes);
        sonde__mem_fail_from(UINT64_MAX);
        if (status == SONDE_OK) {
            CHECK(i >= 4);
            sonde__tail_bytes_done(&w.bytes);
            return;
        }
        CHECK_EQ(status, SONDE_MEMORY);
    }
}
