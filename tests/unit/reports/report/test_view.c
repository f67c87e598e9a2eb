// SPDX-License-Identifier: Apache-2.0
/* The views against tests/golden/report/. SONDE_UPDATE_GOLDEN=1 writes these files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/thread.h>

#include "mem_heap.h"
#include "report_analyse.h"
#include "report_read.h"
#include "sample.h"
#include "test.h"

static void check_golden(const char *name, char *text)
{
    char path[64];
    snprintf(path, sizeof path, "report/%s", name);
    test_check_golden(path, text);
    free(text);
}

TEST(view_stacks_text)
{
    struct sonde__report *r = sample_stacks();
    check_golden("stacks.txt", sample_text(r, &(struct sonde__report_view){.images = true}));
    check_golden("stacks-unfolded.txt",
                 sample_text(r, &(struct sonde__report_view){.unfolded = true}));
    sonde__report_destroy(r);
}

static char *styled(const struct sonde__report *r, enum sonde_style style)
{
    struct sample_bytes bytes = {0};
    sonde__report_style_view(r, style, sample_sink(&bytes));
    return bytes.data;
}

TEST(view_in_the_formats_of_other_tools)
{
    struct sonde__report *r = sample_stacks();
    check_golden("stacks-callstack.txt", styled(r, SONDE_STYLE_CALLSTACK));
    check_golden("stacks-bs.txt", styled(r, SONDE_STYLE_BS));
    check_golden("stacks-glibc.txt", styled(r, SONDE_STYLE_GLIBC));
    sonde__report_destroy(r);
    r = sample_watch();
    check_golden("watch-bs.txt", styled(r, SONDE_STYLE_BS));
    check_golden("watch-callstack.txt", styled(r, SONDE_STYLE_CALLSTACK));
    sonde__report_destroy(r);
}

TEST(view_stacks_json)
{
    struct sonde__report *r = sample_stacks();
    check_golden("stacks.json", sample_json(r, NULL));
    sonde__report_destroy(r);
}

TEST(view_watch_text)
{
    struct sonde__report *r = sample_watch();
    check_golden("watch.txt", sample_text(r, NULL));
    sonde__report_destroy(r);
}

TEST(view_heap_blocks)
{
    struct sonde__report *r = sample_heap_blocks();
    check_golden("heap-blocks.txt", sample_text(r, NULL));
    check_golden("heap-blocks.json", sample_json(r, NULL));
    sonde__report_destroy(r);
}

TEST(view_every_field)
{
    struct sonde__report *r = sample_all();
    check_golden("all.txt", sample_text(r, &(struct sonde__report_view){.images = true}));
    check_golden("all-groups.txt", sample_text(r, &(struct sonde__report_view){.group = true}));
    check_golden("all.json", sample_json(r, NULL));
    sonde__report_destroy(r);
}

/* Each way of capturing has its public name. */
TEST(view_json_names_how_threads_were_captured)
{
#define TEXT(name, text) text,
    static const char *const names[] = {SONDE_CAPTURED_MAP(TEXT)};
#undef TEXT
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sonde__report *r;
        char expected[64];
        CHECK_OK(sonde__report_create(&r));
        sonde__report_add_thread(r, &(struct sonde__report_thread){.tid = 7, .captured_by = i});
        char *json = sample_json(r, NULL);
        snprintf(expected, sizeof expected, "\"captured_by\": \"%s\"", names[i]);
        CHECK_CONTAINS(json, expected);
        free(json);
        sonde__report_destroy(r);
    }
}

TEST(view_watch_json)
{
    struct sonde__report *r = sample_watch();
    check_golden("watch.json", sample_json(r, NULL));
    sonde__report_destroy(r);
}

/* Python's parser is the oracle: the output is JSON, its texts equal the model's, ids are valid. */
TEST_TIMEOUT(view_json_is_json, 60)
{
    static const char program[] =
        "import json,sys\n"
        "d = json.load(open(sys.argv[1], encoding='utf-8'))\n"
        "assert d['schema'] == 'sonde-report-1' and d['time'] == '2023-11-14T22:13:20.123456789Z'\n"
        "images = {i['id']: i for i in d['images']}\n"
        "names = [t['name'] for t in d['threads']]\n"
        "assert names == ['python3', 'worker', 'worker', 'worker', 'evil\\x1b[31m\\n', 'odd']\n"
        "for t in d['threads']:\n"
        "    for f in t['frames']:\n"
        "        assert 'left_out' in f or 'address' in f or f['image'] in images\n"
        "assert d['threads'][0]['syscall'] == {'number': 232, 'name': 'epoll_wait'}\n"
        "assert d['threads'][5]['syscall'] == {'number': 9999}\n"
        "assert [f.get('index') for f in d['threads'][0]['frames']][:6] == [0, 1, 2, 3, None, "
        "12349]\n"
        "f = [f for f in d['threads'][0]['frames'] if f.get('function') == 'run_loop'][0]\n"
        "assert f['index'] == 12350 and (f['file'], f['line']) == ('/src/loop.c', 120)\n"
        "assert [c['function'] for c in f['inlined']] == "
        "['list_is_empty', 'loop_next']\n"
        "assert f['tail_calls'][0]['function'] == 'enter' and f['tail_calls'][1] == "
        "{'alternatives': 3}\n"
        "s = d['stalls'][0]\n"
        "stacks = {k['id'] for k in s['stacks']}\n"
        "assert all(x['stack'] in stacks for x in s['samples']) and len(s['samples']) == 10\n"
        "assert sum(x['weight_ns'] for x in s['samples']) == s['duration_ns']\n"
        "assert [p['state'] for p in s['phases']] == ['running', 'disk']\n";
    char path[512];
    struct sonde__report *r = sample_stacks();
    sample_add_stall(r);
    char *json = sample_json(r, NULL);
    snprintf(path, sizeof path, "%s/report.json", test_folder());
    test_write_file(path, json, strlen(json));
    const char *const argv[] = {"python3", "-c", program, path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_STR(run.err, "");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    free(json);
    sonde__report_destroy(r);
}

TEST(view_shows_no_control_character_from_outside)
{
    struct sonde__report *r = sample_stacks();
    char *text = sample_text(r, NULL);
    CHECK_CONTAINS(text, "\"evil\\x1b[31m\\x0a\"");
    CHECK(strchr(text, '\x1b') == NULL);
    free(text);
    text = sample_text(r, &(struct sonde__report_view){.color = true});
    CHECK(strchr(text, '\x1b') != NULL);
    free(text);
    sonde__report_destroy(r);
}

/* Text has demangled names, JSON both. */
TEST(view_shows_names_of_blocks_and_cpp_decoded)
{
    struct sonde__report *r = sample_stacks();
    struct sonde__report_thread thread = {.tid = 77, .state = 'S', .frame_count = 1};
    char *text, *raw, *json;
    thread.stack = sample_push(r, 0, 1, "__12-[C m]_block_invoke", 0x1234, SONDE_FOUND_CFI);
    sonde__report_add_thread(r, &thread);
    text = sample_text(r, NULL);
    raw = sample_text(r, &(struct sonde__report_view){.raw_names = true});
    json = sample_json(r, NULL);
    CHECK_CONTAINS(text, "  block in -[C m]+0x34   ");
    CHECK(strstr(text, "block_invoke") == NULL);
    CHECK_CONTAINS(raw, "  __12-[C m]_block_invoke+0x34   ");
    CHECK_CONTAINS(json, "\"function\": \"__12-[C m]_block_invoke\"");
    CHECK_CONTAINS(json, "\"demangled\": \"block in -[C m]\"");
    free(text);
    free(raw);
    free(json);
    sonde__report_destroy(r);
}

/* Threads with the same stack but different states are separate groups. A line shows their
 * waits. */
TEST(view_folds_only_what_is_the_same)
{
    struct sonde__report *r = NULL;
    CHECK_OK(sonde__report_create(&r));
    struct sonde__report_thread t = {.stack = sample_push(r, 0, 0, "f", 1, 0), .state = 'S'};
    for (int i = 0; i < 12; i++) {
        t.tid = 10 + i;
        t.detail = i < 6 ? 0 : sonde__report_string(r, i < 9 ? "fd 3" : "fd 4");
        t.end = i == 5 ? SONDE_END_MOVED : SONDE_END_ROOT;
        t.syscall = i == 4 ? 1 : 0;
        t.state = i == 3 ? 'R' : 'S';
        sonde__report_add_thread(r, &t);
    }
    char *text = sample_text(r, NULL);
    CHECK_CONTAINS(text, "9 threads  blocked\n  10 11 12\n  16 17 18  fd 3\n  19 20 21  fd 4\n");
    CHECK_CONTAINS(text, "thread 13  running\n");
    CHECK_CONTAINS(text, "thread 14  blocked in system call 0\n");
    CHECK_CONTAINS(text, "thread 15  blocked\n");
    CHECK_CONTAINS(text, "stack ends here: moved\n");
    free(text);
    sonde__report_destroy(r);
}

TEST(view_folds_a_crowd_that_waits_for_many_things)
{
    struct sonde__report *r = NULL;
    CHECK_OK(sonde__report_create(&r));
    struct sonde__report_thread t = {.stack = sample_push(r, 0, 0, "f", 1, 0), .state = 'S'};
    for (int i = 0; i < 40; i++) {
        char text[32];
        snprintf(text, sizeof text, "fd %d", i % 20);
        t.tid = 10 + i;
        t.detail = sonde__report_string(r, text);
        sonde__report_add_thread(r, &t);
    }
    char *text = sample_text(r, NULL);
    CHECK_CONTAINS(text,
                   "40 threads  blocked  for 20 different things (--unfolded shows them)\n  10 ");
    CHECK(strstr(text, "fd 7") == NULL);
    free(text);
    text = sample_text(r, &(struct sonde__report_view){.unfolded = true});
    CHECK_CONTAINS(text, "thread 17  blocked  fd 7\n");
    free(text);
    sonde__report_destroy(r);
}

/* The text of a wait for a child names its process. */
TEST(view_names_a_child_once)
{
    struct sonde__report *r = NULL;
    CHECK_OK(sonde__report_create(&r));
    sonde__report_set_header(
        r, &(struct sonde__report_header){.kind = SONDE__REPORT_WATCH, .pid = 10});
    uint32_t child = sonde__report_add_process(r, &(struct sonde__report_process){.pid = 11});
    struct sonde__report_wait wait = {.tid = 10,
                                      .kind = SONDE__REPORT_WAIT_CHILD,
                                      .resource =
                                          sonde__report_string(r, "child process 11 (make)"),
                                      .owner_process = child};
    sonde__report_add_wait(r, &wait);
    wait.resource = 0;
    sonde__report_add_wait(r, &wait);
    wait.kind = SONDE__REPORT_WAIT_PIPE;
    wait.resource = sonde__report_string(r, "pipe 12");
    sonde__report_add_wait(r, &wait);
    wait.owner_process = sonde__report_add_process(r, &(struct sonde__report_process){.pid = 10});
    sonde__report_add_wait(r, &wait);
    char *text = sample_text(r, NULL);
    CHECK_CONTAINS(text, "thread 10 for child process 11 (make)\n");
    CHECK_CONTAINS(text, "thread 10 for a child, of process 11\n");
    CHECK_CONTAINS(text, "thread 10 for pipe 12, of process 11\n");
    CHECK_CONTAINS(text, "thread 10 for pipe 12, of this process itself\n");
    free(text);
    sonde__report_destroy(r);
}

TEST(view_stops_when_the_sink_has_enough)
{
    struct sonde__report *r = sample_stacks();
    int calls = 0;
    sample_add_stall(r);
    sonde__report_text_view(r, NULL, sample_stop_sink(&calls));
    CHECK_EQ(calls, 1);
    sonde__report_json_view(r, NULL, sample_stop_sink(&calls));
    CHECK_EQ(calls, 2);
    sonde__report_destroy(r);
}

/* -- analysis -- */

static const char *name_of(const struct sonde__report *r, uint32_t frame)
{
    return sonde__report_text(r, sonde__report_frame(r, frame)->name);
}

/* Add samples of 10 ms each, of an interpreter that goes from function to function, or of
 * phases. */
static void add_running(struct sonde__report *r, unsigned (*function_of)(unsigned i),
                        unsigned count)
{
    struct sonde__report_sample samples[100];
    uint32_t image = sonde__report_add_image(
        r, &(struct sonde__report_image){.path = sonde__report_string(r, "/usr/bin/python3"),
                                         .start = 0x1000,
                                         .bias = 0x1000});
    uint32_t eval = sample_push(r, 0, image, "eval", 0x100, 0);
    for (unsigned i = 0; i < count; i++) {
        char name[16];
        unsigned f = function_of(i);
        snprintf(name, sizeof name, "f%u", f);
        samples[i] = (struct sonde__report_sample){
            .time_ns = i * 10000000ull,
            .weight_ns = 10000000,
            .stack = sample_push(r, eval, image, name, 0x1000 + f * 0x100, 0),
            .phase = SONDE__REPORT_PHASE_RUNNING,
            .captured_by = 2,
        };
    }
    const struct sonde__report_stall stall = {
        .tid = 1, .duration_ns = count * 10000000ull, .samples = samples, .sample_count = count};
    sonde__report_add_stall(r, &stall);
}

static unsigned by_chance(unsigned i)
{
    return i * 2654435761u >> 29; /* eight functions */
}

static unsigned two_of_them(unsigned i)
{
    return i >= 50;
}

TEST(an_interpreter_has_one_phase)
{
    struct sonde__report *r;
    struct sonde__report_analysis a;
    for (unsigned count = 10; count <= 100; count += 30) {
        CHECK_OK(sonde__report_create(&r));
        add_running(r, by_chance, count);
        CHECK_OK(sonde__report_analyse(r, sonde__report_stall(r, 0), &a));
        CHECK_EQ(a.phase_count, 1);
        CHECK_EQ(a.phases[0].duration_ns, count * 10000000ull);
        sonde__report_analysis_done(&a);
        sonde__report_destroy(r);
    }
    CHECK_OK(sonde__report_create(&r));
    add_running(r, two_of_them, 100);
    CHECK_OK(sonde__report_analyse(r, sonde__report_stall(r, 0), &a));
    CHECK_EQ(a.phase_count, 2);
    sonde__report_analysis_done(&a);
    sonde__report_destroy(r);
}

TEST(analysis_of_a_stall)
{
    struct sonde__report *r = sample_watch();
    struct sonde__report_analysis a;
    CHECK_OK(sonde__report_analyse(r, sonde__report_stall(r, 0), &a));
    CHECK_EQ(a.weight_ns, 905000000);
    CHECK_EQ(a.running_ns, 205000000);
    CHECK_EQ(a.disk_ns, 700000000);
    /* 200 ms of work, then fsync; the 5 ms between two fsyncs are no phase */
    CHECK_EQ(a.phase_count, 2);
    CHECK_EQ(a.phases[0].duration_ns, 200000000);
    CHECK_EQ(a.phases[0].syscall, 0);
    CHECK_STR(name_of(r, a.phases[0].frame), "sqlite3_prepare_v2");
    CHECK_EQ(a.phases[1].begin_ns, 200000000);
    CHECK_EQ(a.phases[1].duration_ns, 705000000);
    CHECK_EQ(a.phases[1].own_ns, 700000000);
    CHECK_EQ(a.phases[1].syscall, 75);
    CHECK_STR(sonde__report_text(r, a.phases[1].detail), "fd 7 /data/app.db");
    /* 700 of 905 ms: the path continues into fsync */
    CHECK_EQ(a.path_count, 8);
    CHECK_STR(name_of(r, a.path[0].frame), "_start");
    CHECK_STR(name_of(r, a.path[7].frame), "fsync");
    CHECK_EQ(a.path[7].weight_ns, 700000000);
    CHECK_EQ(a.path[4].weight_ns, 905000000);
    CHECK_STR(name_of(r, a.heaviest.frame), "fsync");
    CHECK_EQ(a.heaviest.weight_ns, 700000000);
    CHECK_EQ(sonde__report_frame(r, a.heaviest_app.frame)->offset, 0x1d64b4);
    CHECK_EQ(a.heaviest_app.weight_ns, 905000000);
    CHECK_EQ(a.stack_ns, 700000000);
    sonde__report_analysis_done(&a);
    sonde__report_destroy(r);
}

/* Calls from two places of one function count together; the path ends at a function without a heavy
 * child. */
TEST(analysis_merges_calls_of_one_function)
{
    struct sonde__report *r = NULL;
    struct sonde__report_analysis a;
    struct sonde__report_sample samples[4];
    CHECK_OK(sonde__report_create(&r));
    struct sonde__report_image image = {.path = sonde__report_string(r, "/opt/p"), .flags = 1};
    sonde__report_add_image(r, &image);
    static const char *const leaves[] = {"red", "green", "blue", "red"};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t node = sample_push(r, 0, 1, "main", 0x100 + i, SONDE_FOUND_CFI);
        node = sample_push(r, node, 1, "work", 0x200 + i, SONDE_FOUND_CFI);
        node = sample_push(r, node, 1, leaves[i], 0x300 + i, SONDE_HOW_EXACT);
        samples[i] = (struct sonde__report_sample){
            .time_ns = i * 100u, .weight_ns = 100, .stack = node, .phase = 1};
    }
    sonde__report_add_stall(r,
                            &(struct sonde__report_stall){.samples = samples, .sample_count = 4});
    CHECK_OK(sonde__report_analyse(r, sonde__report_stall(r, 0), &a));
    CHECK_EQ(a.path_count, 2);
    CHECK_STR(name_of(r, a.path[1].frame), "work");
    CHECK_EQ(a.path[1].weight_ns, 400);
    CHECK_STR(name_of(r, a.heaviest.frame), "red");
    CHECK_EQ(a.heaviest.weight_ns, 200);
    CHECK_EQ(a.phase_count, 4);
    sonde__report_analysis_done(&a);
    sonde__report_destroy(r);
}

TEST(analysis_of_nothing)
{
    struct sonde__report *r = NULL;
    struct sonde__report_analysis a;
    struct sonde__report_stall none = {0};
    CHECK_OK(sonde__report_create(&r));
    CHECK_OK(sonde__report_analyse(r, &none, &a));
    CHECK_EQ(a.phase_count, 0);
    CHECK_EQ(a.path_count, 0);
    const struct sonde__report_sample sample = {.stack = 12345, .weight_ns = UINT64_MAX};
    none.samples = &sample;
    none.sample_count = 1;
    CHECK_OK(sonde__report_analyse(r, &none, &a));
    CHECK_EQ(a.path_count, 0);
    CHECK_EQ(a.heaviest.frame, 0);
    CHECK_EQ(a.phase_count, 1);
    sonde__report_analysis_done(&a);
    sonde__report_destroy(r);
}

TEST(analysis_app_images)
{
    static const struct {
        const char *path;
        uint32_t flags;
        bool app;
    } cases[] = {
        {"/usr/bin/python3.11", SONDE__IMAGE_MAIN, true},
        {"/usr/lib/firefox/firefox", SONDE__IMAGE_MAIN, true},
        {"/usr/lib/x86_64-linux-gnu/libc.so.6", 0, false},
        {"/lib64/ld-linux-x86-64.so.2", 0, false},
        {"/opt/app/plugin.so", 0, true},
        {"/usr/local/lib/libmine.so", 0, true},
        {"[vdso]", SONDE__IMAGE_VDSO, false},
        {"", 0, false},
    };
    struct sonde__report *r = NULL;
    CHECK_OK(sonde__report_create(&r));
    CHECK(!sonde__report_is_app(r, 0));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sonde__report_image image = {.path = sonde__report_string(r, cases[i].path),
                                            .flags = cases[i].flags};
        CHECK_EQ(sonde__report_is_app(r, sonde__report_add_image(r, &image)), cases[i].app);
    }
    sonde__report_destroy(r);
}

TEST(analysis_app_scripts)
{
    static const struct {
        const char *file;
        bool app;
    } cases[] = {
        {"/srv/shop/orders.py", true},
        {"orders.py", true},
        {"<string>", true}, /* python -c */
        {"<stdin>", true},
        {"[eval]", true}, /* node -e */
        {"<frozen importlib._bootstrap>", false},
        {"/opt/python/lib/python3.11/asyncio/events.py", false},
        {"/srv/shop/node_modules/express/lib/router.js", false},
        {"node:internal/timers", false},
        {"", false},
    };
    struct sonde__report *r = NULL;
    CHECK_OK(sonde__report_create(&r));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sonde__report_frame frame = {
            .kind = SONDE__REPORT_FRAME_SCRIPT,
            .file = sonde__report_string(r, cases[i].file),
        };
        CHECK_EQ(sonde__report_frame_is_app(r, &frame), cases[i].app);
    }
    sonde__report_destroy(r);
}
