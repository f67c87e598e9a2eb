// SPDX-License-Identifier: Apache-2.0
/* What all formats have in common. Whether their readers understand them is tested by
 * tests/integration/export. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "export_series.h"
#include "mem_heap.h"
#include "sample.h"
#include "test.h"

enum { FORMATS = SONDE__EXPORT_PERFETTO + 1 };

/* Calls, one of them with a name of bytes that are no text; "\xff" is not valid UTF-8. */
static struct sonde__report *sample_calls(void)
{
    static const struct sonde__report_header header = {.kind = SONDE__REPORT_CALLS};
    struct sonde__report *r;
    struct sonde__report_call call = {.count = 3};
    CHECK_OK(sonde__report_create(&r));
    sonde__report_set_header(r, &header);
    call.function = sonde__report_string(r, "getenv");
    call.stack = sample_push(r, sample_push(r, 0, 0, "main", 0x10, SONDE_FOUND_CFI), 0,
                             "\"\\\n\x01\xff", 0x20, SONDE_FOUND_CFI);
    sonde__report_add_call(r, &call);
    call.stack = 0;
    sonde__report_add_call(r, &call);
    return r;
}

static struct sonde__report *sample_number(unsigned i)
{
    switch (i) {
    case 0:
        return sample_stacks();
    case 1:
        return sample_watch();
    case 2:
        return sample_heap_blocks();
    default:
        return sample_calls();
    }
}

static enum sonde_status export_to(const struct sonde__report *r, unsigned format,
                                   struct sample_bytes *ret_bytes)
{
    const struct sonde__export_options options = {(enum sonde__export_format)format, false};
    struct sonde_error error;
    *ret_bytes = (struct sample_bytes){0};
    return sonde__export(r, &options, sample_sink(ret_bytes), &error);
}

/* A time line is made of stalls only. */
static bool is_refused(unsigned sample, unsigned format)
{
    return format == SONDE__EXPORT_PERFETTO && sample != 1;
}

TEST(forms_are_the_same_each_time)
{
    for (unsigned sample = 0; sample < 4; sample++) {
        struct sonde__report *r = sample_number(sample), *again = sample_number(sample);
        for (unsigned format = 0; format < FORMATS; format++) {
            struct sample_bytes first, second;
            enum sonde_status expected = is_refused(sample, format) ? SONDE_UNSUPPORTED : SONDE_OK;
            CHECK_EQ(export_to(r, format, &first), expected);
            CHECK_EQ(export_to(again, format, &second), expected);
            CHECK_EQ(first.size, second.size);
            CHECK(first.size == 0 || memcmp(first.data, second.data, first.size) == 0);
            CHECK((first.size == 0) == (expected != SONDE_OK));
            sample_bytes_done(&first);
            sample_bytes_done(&second);
        }
        sonde__report_destroy(r);
        sonde__report_destroy(again);
    }
}

TEST(forms_say_when_memory_ran_out)
{
    for (unsigned sample = 0; sample < 4; sample++) {
        struct sonde__report *r = sample_number(sample);
        for (unsigned format = 0; format < FORMATS; format++) {
            enum sonde_status status = SONDE_MEMORY;
            uint64_t i = 0;
            for (; status == SONDE_MEMORY; i++) {
                struct sample_bytes bytes;
                sonde__mem_fail_from(i);
                status = export_to(r, format, &bytes);
                sonde__mem_fail_from(UINT64_MAX);
                sample_bytes_done(&bytes);
            }
            CHECK_EQ(status, is_refused(sample, format) ? SONDE_UNSUPPORTED : SONDE_OK);
            CHECK(i > 5 || status != SONDE_OK);
        }
        sonde__report_destroy(r);
    }
}

TEST(forms_stop_when_the_sink_has_enough)
{
    struct sonde__report *r = sample_watch();
    for (unsigned format = 0; format < FORMATS; format++) {
        const struct sonde__export_options options = {(enum sonde__export_format)format, false};
        int calls = 0;
        CHECK_OK(sonde__export(r, &options, sample_stop_sink(&calls), NULL));
        CHECK_EQ(calls, 1);
    }
    sonde__report_destroy(r);
}

/* A readable one for each reader: json.load() takes no bytes that are not UTF-8. */
TEST_TIMEOUT(forms_of_json_are_json, 60)
{
    static const char program[] = "import json,sys\n"
                                  "d = json.load(open(sys.argv[1], encoding='utf-8'))\n"
                                  "assert ('threads' in d and 'shared' in d) or 'profiles' in d\n";
    for (unsigned sample = 0; sample < 4; sample++) {
        struct sonde__report *r = sample_number(sample);
        for (unsigned format = SONDE__EXPORT_FIREFOX; format <= SONDE__EXPORT_SPEEDSCOPE;
             format++) {
            char path[512];
            struct sample_bytes bytes;
            CHECK_OK(export_to(r, format, &bytes));
            snprintf(path, sizeof path, "%s/x.json", test_folder());
            test_write_file(path, bytes.data, bytes.size);
            sample_bytes_done(&bytes);
            const char *const argv[] = {"python3", "-c", program, path, NULL};
            struct test_run run = test_run(argv, NULL, NULL, 30);
            CHECK_STR(run.err, "");
            CHECK_EQ(run.status, 0);
            test_run_done(&run);
        }
        sonde__report_destroy(r);
    }
}

/* --- series --- */

static struct sonde__report *stalled(uint64_t duration_ns,
                                     const struct sonde__report_sample *samples, uint32_t count)
{
    struct sonde__report *r;
    const struct sonde__report_stall stall = {
        .begin_ns = 7, .duration_ns = duration_ns, .samples = samples, .sample_count = count};
    CHECK_OK(sonde__report_create(&r));
    sonde__report_add_stall(r, &stall);
    return r;
}

struct line {
    uint64_t end_ns;
};

static bool follow(void *ctx, const struct sonde__export_sample *sample)
{
    struct line *line = ctx;
    CHECK_EQ(sample->at_ns, line->end_ns); /* one after another */
    CHECK(sample->weight != 0);
    line->end_ns += sample->weight;
    return true;
}

TEST(series_of_a_stall_adds_up_to_its_duration)
{
    srand(1);
    for (unsigned round = 0; round < 500; round++) {
        struct sonde__report_sample samples[8];
        struct sonde__export_set set;
        const struct sonde__export_series series = {SONDE__EXPORT_STALL, 0};
        uint64_t sum = 0, duration = (uint64_t)rand() % 4000;
        uint32_t count = (uint32_t)rand() % 9;
        for (uint32_t i = 0; i < count; i++) {
            samples[i] = (struct sonde__report_sample){.time_ns = (uint64_t)rand() % 4000,
                                                       .weight_ns = (uint64_t)rand() % 500};
            sum += samples[i].weight_ns;
        }
        struct sonde__report *r = stalled(duration, samples, count);
        struct line line = {7};
        CHECK_OK(sonde__export_set_make(&set, r, false));
        sonde__export_each(&set, &series, follow, &line);
        CHECK_EQ(line.end_ns - 7, sum > duration ? sum : duration);
        CHECK_EQ(sonde__export_sum(&set, &series).weight, line.end_ns - 7);
        sonde__export_set_done(&set);
        sonde__report_destroy(r);
    }
}

/* --- functions and stacks --- */

TEST(functions_are_those_of_the_analyses)
{
    struct sonde__report *r;
    struct sonde__export_functions t;
    CHECK_OK(sonde__report_create(&r));
    const struct sonde__report_image image = {.path = sonde__report_string(r, "/a")};
    uint32_t in = sonde__report_add_image(r, &image);
    const struct sonde__report_inlined inlined = {.name = sonde__report_string(r, "f")};
    struct sonde__report_frame frame = {.image = in, .name = inlined.name, .line = 4};
    uint32_t one = sonde__report_add_frame(r, &frame);
    frame.offset = 9;
    frame.line = 5;
    uint32_t two = sonde__report_add_frame(r, &frame); /* another place in it */
    frame.offset = 19;
    frame.name = sonde__report_string(r, "g");
    frame.inlined = &inlined;
    frame.inlined_count = 1;
    uint32_t three = sonde__report_add_frame(r, &frame); /* it is inlined here */
    frame = (struct sonde__report_frame){
        .image = in, .offset = 20, .name = inlined.name, .kind = SONDE__REPORT_FRAME_TAIL_CALL};
    uint32_t four = sonde__report_add_frame(r, &frame);
    frame = (struct sonde__report_frame){.image = in, .offset = 0x45, .name_offset = 5};
    uint32_t five = sonde__report_add_frame(r, &frame);
    frame = (struct sonde__report_frame){.image = in, .offset = 0x4f, .name_offset = 0xf};
    uint32_t six = sonde__report_add_frame(r, &frame); /* no name, the same bounds */
    CHECK_OK(sonde__export_functions_make(&t, r, false));
    CHECK_EQ(t.of_frame[one], t.of_frame[two]);
    CHECK_EQ(t.of_frame[one], t.of_inlined[t.first_inlined[three]]);
    CHECK(t.of_frame[one] != t.of_frame[three]);
    CHECK(t.of_frame[one] != t.of_frame[four]);
    CHECK_EQ(t.of_frame[five], t.of_frame[six]);
    CHECK(t.list[t.of_frame[one]].several_lines);
    struct sample_bytes name = {0};
    struct sonde__report_out out;
    sonde__report_out_init(&out, sample_sink(&name), false);
    sonde__export_put_name(&out, &t, t.of_frame[four]);
    sonde__report_out_str(&out, ", ");
    sonde__export_put_name(&out, &t, t.of_frame[six]);
    sonde__report_out_flush(&out);
    CHECK_STR(name.data, "f (tail call), a+0x40");
    sample_bytes_done(&name);
    sonde__export_functions_done(&t);
    sonde__report_destroy(r);
}

TEST(path_of_a_stack_that_is_too_deep)
{
    struct sonde__report *r;
    struct sonde__export_functions t;
    struct sonde__export_path path;
    uint32_t node = 0;
    CHECK_OK(sonde__report_create(&r));
    for (uint32_t i = 0; i < SONDE__EXPORT_PLACES_MAX + 2; i++) {
        node = sample_push(r, node, 0, "f", i % 16, SONDE_FOUND_CFI);
        if (i + 1 == SONDE__EXPORT_PLACES_MAX) { /* just fits */
            CHECK_OK(sonde__export_functions_make(&t, r, false));
            CHECK_OK(sonde__export_path_make(&path));
            sonde__export_path_read(&path, &t, node, 0, 1);
            CHECK_EQ(path.count, SONDE__EXPORT_PLACES_MAX + 1);
            CHECK_EQ(path.places[path.count - 2].frame != 0, true);
        }
    }
    sonde__export_path_read(&path, &t, node, 0, SONDE__EXPORT_NO_STACK + 1);
    CHECK_EQ(path.count, SONDE__EXPORT_PLACES_MAX + 2);
    CHECK_EQ(path.places[path.count - 1].function, SONDE__EXPORT_NO_STACK);
    CHECK_EQ(path.places[path.count - 2].function, SONDE__EXPORT_MORE_FRAMES);
    sonde__export_path_done(&path);
    sonde__export_functions_done(&t);
    sonde__report_destroy(r);
}

/* --- the Firefox Profiler --- */

static uint32_t push_script(struct sonde__report *r, uint32_t parent, const char *file)
{
    const struct sonde__report_frame frame = {.kind = SONDE__REPORT_FRAME_SCRIPT,
                                              .language = sonde__report_string(r, "Python"),
                                              .name = sonde__report_string(r, "f"),
                                              .file = sonde__report_string(r, file),
                                              .line = 1};
    const struct sonde__report_node node = {.parent = parent,
                                            .frame = sonde__report_add_frame(r, &frame)};
    return sonde__report_add_node_value(r, &node);
}

/* A script's function is app or system code by its file. */
TEST(firefox_categories_of_script_functions)
{
    enum { FIREFOX_APP = 1, FIREFOX_SYSTEM = 2 };
    static const char column[] = "\"category\":[";
    struct sonde__report *r;
    struct sonde__report_thread thread = {.tid = 1};
    struct sample_bytes bytes;
    int own = 0, library = 0;
    CHECK_OK(sonde__report_create(&r));
    thread.stack = push_script(r, push_script(r, 0, "/usr/lib/python3.11/a.py"), "/srv/app.py");
    sonde__report_add_thread(r, &thread);
    CHECK_OK(export_to(r, SONDE__EXPORT_FIREFOX, &bytes));
    const char *table = strstr(bytes.data, "\"frameTable\"");
    const char *categories = table != NULL ? strstr(table, column) : NULL;
    CHECK(categories != NULL);
    const char *end = strchr(categories, ']'); /* the two functions are the last rows */
    CHECK_EQ(sscanf(end - 3, "%d,%d", &library, &own), 2);
    CHECK_EQ(library, FIREFOX_SYSTEM);
    CHECK_EQ(own, FIREFOX_APP);
    sample_bytes_done(&bytes);
    sonde__report_destroy(r);
}
