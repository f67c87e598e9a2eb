// SPDX-License-Identifier: Apache-2.0
/* The writer and the reader against each other, cut and damaged files, and protoc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_crc32c.h"
#include "mem_heap.h"
#include "report_read.h"
#include "report_write.h"
#include "sample.h"
#include "test.h"

static struct sonde__report *read_back(const struct sample_bytes *file,
                                       struct sonde__report_loss *ret_loss)
{
    struct sonde__report *r = NULL;
    struct sonde_error error = {0};
    /* a copy of its own, so that a sanitizer sees each byte past the end */
    void *copy = malloc(file->size);
    memcpy(copy, file->data, file->size);
    CHECK_OK(sonde__report_read(copy, file->size, &r, ret_loss, &error));
    free(copy);
    return r;
}

static void check_round_trip(struct sonde__report *r)
{
    struct sample_bytes file;
    struct sonde__report_loss loss;
    sample_file(r, false, &file);
    struct sonde__report *again = read_back(&file, &loss);
    CHECK_EQ(loss.damage, SONDE__REPORT_WHOLE);
    CHECK(!loss.unfinished);
    CHECK_EQ(loss.size_bytes, 0);
    CHECK_EQ(loss.bad_parts, 0);
    /* written again it has the same bytes: nothing was lost or changed */
    struct sample_bytes twice;
    sample_file(again, false, &twice);
    CHECK_EQ(twice.size, file.size);
    CHECK(memcmp(twice.data, file.data, file.size) == 0);
    char *before = sample_text(r, NULL), *after = sample_text(again, NULL);
    CHECK_STR(after, before);
    free(before);
    free(after);
    sample_bytes_done(&file);
    sample_bytes_done(&twice);
    sonde__report_destroy(again);
    sonde__report_destroy(r);
}

TEST(file_round_trip)
{
    check_round_trip(sample_stacks());
    check_round_trip(sample_watch());
    check_round_trip(sample_heap_blocks());
}

/* A report of many records: a watch that flushes as it goes. */
static struct sonde__report *write_in_steps(struct sample_bytes *file)
{
    struct sonde__report_writer *writer = NULL;
    struct sonde__report *r = sample_stacks();
    CHECK_OK(sonde__report_writer_create(NULL, sample_write, file, &writer));
    CHECK_OK(sonde__report_writer_flush(writer, r));
    CHECK_OK(sonde__report_writer_flush(writer, r)); /* nothing is new */
    sample_add_stall(r);
    CHECK_OK(sonde__report_writer_flush(writer, r));
    sonde__report_add_note(r, "a late note");
    CHECK_OK(sonde__report_writer_flush(writer, r));
    sample_add_stall(r);
    CHECK_OK(sonde__report_writer_finish(writer, r));
    sonde__report_writer_destroy(writer);
    CHECK_EQ(file->writes, 4);
    return r;
}

TEST(file_cut_at_every_byte_keeps_every_whole_record)
{
    struct sample_bytes file = {0};
    struct sonde__report_loss loss;
    sonde__report_destroy(write_in_steps(&file));
    for (size_t size = 0; size < file.size; size++) {
        struct sonde__report *r = NULL;
        struct sonde_error error = {0};
        unsigned whole = 0;
        char line[SONDE__REPORT_LOSS_LINE];
        void *copy = malloc(size + 1);
        memcpy(copy, file.data, size);
        copy = realloc(copy, size == 0 ? 1 : size);
        enum sonde_status status = sonde__report_read(copy, size, &r, &loss, &error);
        free(copy);
        while (whole < file.writes && file.ends[whole] <= size) {
            whole++;
        }
        if (whole == 0) {
            CHECK_EQ(status, SONDE_CORRUPT);
            CHECK_CONTAINS(error.what, "report");
            continue;
        }
        CHECK_OK(status);
        CHECK_EQ(loss.record_count, whole);
        CHECK_EQ(loss.offset, file.ends[whole - 1]);
        CHECK_EQ(loss.size_bytes, size - file.ends[whole - 1]);
        CHECK_EQ(loss.damage, loss.size_bytes == 0 ? SONDE__REPORT_WHOLE : SONDE__REPORT_CUT);
        CHECK(loss.unfinished);
        CHECK_EQ(sonde__report_thread_count(r), 6);
        CHECK_EQ(sonde__report_stall_count(r), whole > 1);
        CHECK_EQ(sonde__report_note_count(r), whole > 2 ? 2 : 1);
        sonde__report_loss_line(&loss, line, sizeof line);
        CHECK_CONTAINS(line, loss.size_bytes == 0 ? "no end" : "ends inside a record");
        sonde__report_destroy(r);
    }
    sample_bytes_done(&file);
}

TEST_TIMEOUT(file_flipped_bytes_never_pass_for_whole, 120)
{
    struct sample_bytes file = {0};
    struct sonde__report_loss loss;
    sonde__report_destroy(write_in_steps(&file));
    for (size_t at = 0; at < file.size; at++) {
        for (unsigned bit = 0; bit < 8; bit += 3) {
            struct sonde__report *r = NULL;
            file.data[at] = (char)(file.data[at] ^ 1 << bit);
            if (sonde__report_read(file.data, file.size, &r, &loss, NULL) == SONDE_OK) {
                CHECK(loss.damage != SONDE__REPORT_WHOLE);
                CHECK(loss.offset <= at);
                CHECK_EQ(loss.offset, file.ends[loss.record_count - 1]);
                free(sample_text(r, NULL));
                sonde__report_destroy(r);
            }
            file.data[at] = (char)(file.data[at] ^ 1 << bit);
        }
    }
    sample_bytes_done(&file);
}

/* A checksum proves nothing: damage a record and correct its checksum. */
TEST_TIMEOUT(file_hostile_records_with_right_checksums, 120)
{
    struct sample_bytes file;
    struct sonde__report *r = sample_watch();
    uint32_t random = 1;
    sample_file(r, false, &file);
    sonde__report_destroy(r);
    size_t header = (unsigned char)file.data[1] < 0x80 ? 2 : 3;
    CHECK_EQ(file.writes, 1);
    char *copy = malloc(file.size);
    for (unsigned round = 0; round < 20000; round++) {
        memcpy(copy, file.data, file.size);
        for (unsigned n = round % 4 + 1; n > 0; n--) {
            random = random * 1664525 + 1013904223;
            size_t at = header + (random >> 8) % (file.size - header - 5);
            copy[at] = (char)(random >> 3);
        }
        uint32_t crc = sonde__base_crc32c(0, copy + header, file.size - header - 5);
        for (unsigned i = 0; i < 4; i++) {
            copy[file.size - 4 + i] = (char)(crc >> 8 * i);
        }
        if (sonde__report_read(copy, file.size, &r, NULL, NULL) == SONDE_OK) {
            struct sample_bytes again;
            free(sample_text(r, NULL));
            sample_file(r, false, &again);
            sample_bytes_done(&again);
            sonde__report_destroy(r);
        }
    }
    free(copy);
    sample_bytes_done(&file);
}

TEST(file_of_another_kind_is_refused_in_one_line)
{
    static const char *const files[] = {"",
                                        "hello",
                                        "\x7f"
                                        "ELF",
                                        "\n",
                                        "\n\x05"
                                        "abcde",
                                        "\x12\x01x"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct sonde__report *r = NULL;
        struct sonde_error error = {0};
        CHECK_EQ(sonde__report_read(files[i], strlen(files[i]), &r, NULL, &error), SONDE_CORRUPT);
        CHECK_CONTAINS(error.what, "report");
        CHECK(strchr(error.what, '\n') == NULL);
        CHECK(r == NULL);
    }
}

TEST(file_without_names_holds_none)
{
    struct sonde__report *r = sample_stacks();
    struct sample_bytes file;
    struct sonde__report_loss loss;
    sample_file(r, true, &file);
    CHECK(memmem(file.data, file.size, "epoll_wait", 10) == NULL);
    CHECK(memmem(file.data, file.size, "plugin::Widget", 14) == NULL);
    CHECK(memmem(file.data, file.size, "list_is_empty", 13) == NULL);
    CHECK(memmem(file.data, file.size, "/src/list.h", 11) == NULL);
    CHECK(memmem(file.data, file.size, "/src/loop.c", 11) == NULL);
    CHECK(memmem(file.data, file.size, "plugin.so", 9) != NULL);
    sonde__report_destroy(r);
    r = read_back(&file, &loss);
    char *text = sample_text(r, NULL);
    CHECK_CONTAINS(text, "libc.so.6+0x108d56");
    CHECK_CONTAINS(text, "\"worker\"");
    CHECK(strstr(text, "epoll_wait+") == NULL);
    free(text);
    sonde__report_destroy(r);
    sample_bytes_done(&file);
}

TEST(file_writer_stays_failed_when_a_write_failed)
{
    struct sample_bytes file = {.fail_at = 2};
    struct sonde__report_writer *writer = NULL;
    struct sonde__report *r = sample_stacks();
    CHECK_OK(sonde__report_writer_create(NULL, sample_write, &file, &writer));
    CHECK_OK(sonde__report_writer_flush(writer, r));
    sonde__report_add_note(r, "more");
    CHECK_EQ(sonde__report_writer_flush(writer, r), SONDE_OS);
    file.fail_at = 0;
    CHECK_EQ(sonde__report_writer_finish(writer, r), SONDE_OS);
    CHECK_EQ(file.writes, 1);
    sonde__report_writer_destroy(writer);
    sonde__report_destroy(r);
    sample_bytes_done(&file);
}

TEST(file_large_reports_are_split_into_records)
{
    struct sonde__report *r = sample_stacks();
    struct sample_bytes file;
    struct sonde__report_loss loss;
    uint32_t node = 0;
    for (uint32_t i = 0; i < 30000; i++) {
        node = sample_push(r, node, 1, "", 0x100000 + i, SONDE_FOUND_CFI);
    }
    sonde__report_add_thread(r, &(struct sonde__report_thread){.tid = 1, .stack = node});
    sample_file(r, false, &file);
    CHECK(file.writes > 3);
    sonde__report_destroy(r);
    r = read_back(&file, &loss);
    CHECK_EQ(loss.damage, SONDE__REPORT_WHOLE);
    CHECK_EQ(sonde__report_node(r, sonde__report_thread(r, 6)->stack)->depth, 30000);
    sonde__report_destroy(r);
    sample_bytes_done(&file);
}

/* -- protoc, with the published schema -- */

static struct test_run run_protoc(const char *verb, const char *schema_folder, const char *schema,
                                  const char *from, const char *to)
{
    char command[1024], include[512];
    snprintf(include, sizeof include, "-I%s", schema_folder);
    snprintf(command, sizeof command, "exec protoc %s %s %s <'%s' >'%s'", verb, include, schema,
             from, to);
    const char *const argv[] = {"sh", "-c", command, NULL};
    return test_run(argv, NULL, NULL, 60);
}

static void need_protoc(void)
{
    const char *const argv[] = {"sh", "-c", "command -v protoc", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    int status = run.status;
    test_run_done(&run);
    if (status != 0) {
        SKIP("no protoc (./dev setup test)");
    }
}

static unsigned count_lines(const char *text, const char *line)
{
    unsigned count = 0;
    for (const char *p = text; (p = strstr(p, line)) != NULL; p += strlen(line)) {
        count += p == text || p[-1] == '\n';
    }
    return count;
}

/* Decode `bytes` with protoc; the text is the caller's to free. */
static char *protoc_decode(const struct sample_bytes *file)
{
    char from[512], to[512], schemas[512];
    snprintf(from, sizeof from, "%s/report", test_folder());
    snprintf(to, sizeof to, "%s/report.txt", test_folder());
    snprintf(schemas, sizeof schemas, "%s/proto", test_source_dir());
    test_write_file(from, file->data, file->size);
    struct test_run run =
        run_protoc("--decode=sonde.v1.Report", schemas, "sonde/v1/report.proto", from, to);
    CHECK_STR(run.err, "");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    return test_read_file(to, NULL);
}

TEST_TIMEOUT(file_is_read_by_protoc, 120)
{
    struct sample_bytes file = {0};
    need_protoc();
    struct sonde__report *r = write_in_steps(&file);
    char *text = protoc_decode(&file);
    CHECK_EQ(count_lines(text, "records {"), 4);
    CHECK_EQ(count_lines(text, "  strings: "), sonde__report_string_count(r));
    CHECK_EQ(count_lines(text, "  images {"), sonde__report_image_count(r));
    CHECK_EQ(count_lines(text, "  frames {"), sonde__report_frame_count(r));
    CHECK_EQ(count_lines(text, "  stacks {"), sonde__report_node_count(r));
    CHECK_EQ(count_lines(text, "  threads {"), sonde__report_thread_count(r));
    CHECK_EQ(count_lines(text, "  stalls {"), sonde__report_stall_count(r));
    CHECK_EQ(count_lines(text, "  notes: "), sonde__report_note_count(r));
    CHECK_EQ(count_lines(text, "    samples {"), 20);
    CHECK_EQ(count_lines(text, "  crc32c: "), 4);
    CHECK_CONTAINS(text, "kind: KIND_STACKS");
    CHECK_CONTAINS(text, "time_unix_ns: 1700000000123456789");
    CHECK_CONTAINS(text, "strings: \"fd 7 /data/app.db\"");
    CHECK_CONTAINS(text, "strings: \"evil\\033[31m\\n\"");
    CHECK_CONTAINS(text, "phase: PHASE_DISK");
    CHECK_CONTAINS(text, "loop: LOOP_EPOLL");
    CHECK_CONTAINS(text, "build_id: \"\\002\\276\\357\\000\"");
    CHECK_CONTAINS(text, "lost_count: 12345");
    CHECK_CONTAINS(text, "end_at: 139638282147448");
    CHECK_CONTAINS(text, "strings: \"list_is_empty\"");
    CHECK_EQ(count_lines(text, "    inlined {"), 2);
    CHECK_EQ(count_lines(text, "    kind: FRAME_TAIL_CALL"), 2);
    CHECK_EQ(count_lines(text, "    tail_calls: "), 2);
    CHECK_EQ(count_lines(text, "    alternatives: 3"), 1);
    /* protoc would print a field that the schema lacks by its number */
    for (const char *p = text; *p != '\0'; p++) {
        if (p == text || p[-1] == '\n') {
            p += strspn(p, " ");
            CHECK(*p < '0' || *p > '9');
        }
    }
    free(text);
    sonde__report_destroy(r);
    sample_bytes_done(&file);
}

TEST_TIMEOUT(file_of_heap_blocks_is_read_by_protoc, 120)
{
    struct sample_bytes file = {0};
    need_protoc();
    struct sonde__report *r = sample_heap_blocks();
    sample_file(r, false, &file);
    char *text = protoc_decode(&file);
    CHECK_EQ(count_lines(text, "  heap_blocks {"), sonde__report_heap_blocks_count(r));
    CHECK_CONTAINS(text, "kind: KIND_HEAP_BLOCKS");
    CHECK_CONTAINS(text, "time_ns: 1000000000\n    stack: 2\n    function: 4\n    count: 2\n"
                         "    size_bytes: 80\n    growth: 2\n    growth_bytes: 80\n"
                         "    oldest_ns: 100000000\n    newest_ns: 900000000\n    tid: 4711\n");
    CHECK_CONTAINS(text, "    growth: -1\n    growth_bytes: -48\n");
    free(text);
    sonde__report_destroy(r);
    sample_bytes_done(&file);
}

/* Take protoc's Report apart and give each record the checksum that protoc cannot make. */
static void add_checksums(const char *from, struct sample_bytes *to)
{
    size_t size = 0;
    char *in = test_read_file(from, &size);
    for (size_t at = 0; at < size;) {
        size_t length = 0;
        unsigned char length_bytes[10], tail[5] = {0x7d};
        unsigned n = 0, shift = 0;
        CHECK_EQ(in[at++], 0x0a);
        do {
            length |= (size_t)(in[at] & 0x7f) << shift;
            shift += 7;
        } while ((in[at++] & 0x80) != 0);
        uint32_t crc = sonde__base_crc32c(0, in + at, length);
        for (unsigned i = 0; i < 4; i++) {
            tail[1 + i] = (unsigned char)(crc >> 8 * i);
        }
        for (size_t left = length + 5; left != 0 || n == 0; left >>= 7) {
            length_bytes[n++] = (unsigned char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
        }
        CHECK_OK(sample_write(to, "\n", 1));
        CHECK_OK(sample_write(to, length_bytes, n));
        CHECK_OK(sample_write(to, in + at, length));
        CHECK_OK(sample_write(to, tail, sizeof tail));
        at += length;
    }
    free(in);
}

/* The published schema with a new field in every message, as a later version may have. */
static void write_newer_schema(const char *path)
{
    char schema[512];
    size_t size = 0;
    snprintf(schema, sizeof schema, "%s/proto/sonde/v1/report.proto", test_source_dir());
    char *text = test_read_file(schema, &size);
    struct sample_bytes out = {0};
    unsigned messages = 0;
    for (char *line = text; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        size_t length = end == NULL ? strlen(line) : (size_t)(end - line) + 1;
        if (messages > 1 && line[0] == '}') {
            static const char more[] = "  string x_text = 100; fixed64 x_fixed = 101;\n"
                                       "  Header x_header = 102; sint64 x_number = 103;\n"
                                       "  repeated int32 x_packed = 104; float x_float = 105;\n";
            struct sonde__report_sink sink = sample_sink(&out);
            CHECK(sink.write(sink.ctx, more, sizeof more - 1));
        }
        if (strncmp(line, "message ", 8) == 0) {
            messages++;
        } else if (strncmp(line, "enum ", 5) == 0) {
            messages = 1; /* no fields in an enum */
        }
        if (line[0] == '}' && messages == 1) {
            messages = 2;
        }
        struct sonde__report_sink sink = sample_sink(&out);
        CHECK(sink.write(sink.ctx, line, length));
        line = end == NULL ? NULL : end + 1;
    }
    test_write_file(path, out.data, out.size);
    sample_bytes_done(&out);
    free(text);
}

TEST_TIMEOUT(file_of_a_newer_schema_is_read_as_far_as_it_is_known, 120)
{
    static const char newer[] =
        "records { header { format: 2 kind: KIND_STACKS pid: 77 arch: \"x86_64\" x_text: \"new\" "
        "x_header { pid: 1 } x_packed: [1, 2, 300] } x_fixed: 18446744073709551615 }\n"
        "records { strings: \"prog\" strings: \"work\" images { path: 1 x_number: -5 } "
        "frames { image: 1 offset: 4096 name: 2 x_float: 1.5 } "
        "stacks { frame: 1 x_text: \"y\" } x_text: \"z\" "
        "threads { tid: 77 stack: 1 x_header { tool: \"t\" } } }\n";
    char from[512], to[512];
    struct sample_bytes file = {0};
    struct sonde__report_loss loss;
    need_protoc();
    snprintf(from, sizeof from, "%s/newer.proto", test_folder());
    write_newer_schema(from);
    snprintf(from, sizeof from, "%s/newer.txt", test_folder());
    snprintf(to, sizeof to, "%s/newer.bin", test_folder());
    test_write_file(from, newer, sizeof newer - 1);
    struct test_run run =
        run_protoc("--encode=sonde.v1.Report", test_folder(), "newer.proto", from, to);
    CHECK_STR(run.err, "");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    add_checksums(to, &file);
    struct sonde__report *r = read_back(&file, &loss);
    CHECK_EQ(loss.damage, SONDE__REPORT_WHOLE);
    CHECK_EQ(loss.bad_parts, 0);
    CHECK_EQ(sonde__report_header(r)->pid, 77);
    char *text = sample_text(r, &(struct sonde__report_view){.loss = &loss});
    CHECK_CONTAINS(text, "#0  work+0x0   prog+0x1000");
    CHECK_CONTAINS(text, "made by a newer sonde (format 2)");
    free(text);
    sonde__report_destroy(r);
    sample_bytes_done(&file);
}

/* -- memory -- */

/* Use everything once; true if nothing failed. A failure must be a status or a counted loss. */
static bool work_once(void)
{
    struct sonde__report *r = NULL, *again = NULL;
    struct sonde__report_writer *writer = NULL;
    struct sample_bytes file = {0};
    bool good = true;
    if (sonde__report_create(&r) != SONDE_OK) {
        return false;
    }
    sonde__report_set_header(r, &(struct sonde__report_header){.kind = 2, .tool = "sonde"});
    for (uint32_t i = 0; i < 200; i++) {
        sample_push(r, i == 0 ? 0 : 1, 1, i % 2 == 0 ? "even" : "odd", i * 16, 1);
    }
    sample_add_stall(r);
    good = sonde__report_lost_records(r) == 0;
    if (sonde__report_writer_create(NULL, sample_write, &file, &writer) == SONDE_OK) {
        enum sonde_status status = sonde__report_writer_finish(writer, r);
        CHECK(status == SONDE_OK || status == SONDE_MEMORY);
        good = good && status == SONDE_OK;
        sonde__report_writer_destroy(writer);
    } else {
        good = false;
    }
    if (file.size != 0 &&
        sonde__report_read(file.data, file.size, &again, NULL, NULL) == SONDE_OK) {
        good = good && sonde__report_lost_records(again) == 0;
        char *text = sample_text(again, NULL);
        CHECK_CONTAINS(text, "process");
        free(text);
        text = sample_json(again, NULL);
        CHECK_CONTAINS(text, "sonde-report-1");
        free(text);
        sonde__report_destroy(again);
    } else {
        good = false;
    }
    sample_bytes_done(&file);
    sonde__report_destroy(r);
    return good;
}

TEST_TIMEOUT(file_each_allocation_may_fail, 120)
{
    sonde__mem_fail_from(UINT64_MAX);
    CHECK(work_once());
    uint64_t asked = sonde__mem_asked();
    CHECK(asked > 5);
    for (uint64_t i = 0; i < asked; i++) {
        sonde__mem_fail_once(i);
        (void)work_once();
        sonde__mem_fail_from(i);
        (void)work_once();
    }
    sonde__mem_fail_from(UINT64_MAX);
    CHECK(work_once());
}

/* A flush that ran out of memory leaves whole records, and the next one goes on. */
TEST_TIMEOUT(file_writer_goes_on_after_memory_ran_out, 120)
{
    struct sonde__report *r = sample_stacks();
    for (uint32_t i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_with_a_name_%u", i);
        sample_push(r, 1, 1, name, 0x100000 + i, SONDE_FOUND_CFI);
    }
    sample_add_stall(r);
    char *expected = sample_text(r, NULL);
    unsigned failed = 0;
    for (uint64_t i = 0; i < 40; i++) {
        struct sonde__report_writer *writer = NULL;
        struct sonde__report_loss loss;
        struct sample_bytes file = {0};
        CHECK_OK(sonde__report_writer_create(NULL, sample_write, &file, &writer));
        sonde__mem_fail_once(i);
        enum sonde_status status = sonde__report_writer_flush(writer, r);
        sonde__mem_fail_from(UINT64_MAX);
        CHECK(status == SONDE_OK || status == SONDE_MEMORY);
        failed += status == SONDE_MEMORY;
        CHECK_OK(sonde__report_writer_finish(writer, r));
        sonde__report_writer_destroy(writer);
        struct sonde__report *again = read_back(&file, &loss);
        CHECK_EQ(loss.damage, SONDE__REPORT_WHOLE);
        CHECK_EQ(sonde__report_string_count(again), sonde__report_string_count(r));
        CHECK_EQ(sonde__report_frame_count(again), sonde__report_frame_count(r));
        char *text = sample_text(again, NULL);
        CHECK_STR(text, expected);
        free(text);
        sonde__report_destroy(again);
        sample_bytes_done(&file);
    }
    CHECK(failed > 3);
    free(expected);
    sonde__report_destroy(r);
}

/* A reader that runs out of memory reports it and never gives a stack wrong names. */
TEST_TIMEOUT(file_reader_says_when_memory_ran_out, 120)
{
    struct sonde__report *r = sample_stacks();
    struct sample_bytes file;
    uint32_t node = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        node = sample_push(r, node, 1, "function", 0x100000 + i, SONDE_FOUND_CFI);
    }
    sonde__report_add_thread(r, &(struct sonde__report_thread){.tid = 1, .stack = node});
    char *expected = sample_text(r, NULL);
    sample_file(r, false, &file);
    sonde__report_destroy(r);
    unsigned limited = 0;
    for (uint64_t i = 0; i < 40; i++) {
        struct sonde__report_loss loss;
        r = NULL;
        sonde__mem_fail_once(i);
        enum sonde_status status = sonde__report_read(file.data, file.size, &r, &loss, NULL);
        sonde__mem_fail_from(UINT64_MAX);
        if (status != SONDE_OK) {
            CHECK_EQ(status, SONDE_MEMORY);
            continue;
        }
        limited += loss.damage == SONDE__REPORT_LIMITED;
        char *text = sample_text(r, NULL);
        if (loss.damage == SONDE__REPORT_WHOLE && sonde__report_lost_records(r) == 0) {
            CHECK_STR(text, expected);
        }
        CHECK(loss.damage == SONDE__REPORT_LIMITED || sonde__report_lost(r)->frames == 0);
        free(text);
        sonde__report_destroy(r);
    }
    CHECK(limited > 1);
    free(expected);
    sample_bytes_done(&file);
}
