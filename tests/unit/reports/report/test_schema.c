// SPDX-License-Identifier: Apache-2.0
/* Report files against protoc, with the published schema. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_crc32c.h"
#include "report_read.h"
#include "sample.h"
#include "test.h"

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

/* protoc prints the number of a field that the schema lacks. */
static void check_all_fields_named(const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (p == text || p[-1] == '\n') {
            p += strspn(p, " ");
            CHECK(*p < '0' || *p > '9');
        }
    }
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

/* Decode `bytes` with protoc; the caller frees the text. */
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
    struct sonde__report *r = sample_write_in_steps(&file);
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
    check_all_fields_named(text);
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

/* The schema is the oracle: each of its fields since the second format has a value in the sample,
 * and protoc finds it under that name. */
TEST_TIMEOUT(file_with_every_field_is_read_by_protoc, 120)
{
    struct sample_bytes file = {0};
    static const char *const fields[] = {
        "    report_id: \"00112233445566778899aabbccddeeff\"\n    build: \"1.4.2-rc1\"\n"
        "    device {\n      id: \"bench-7\"\n      model: \"Board X\"\n"
        "      os: \"Debian GNU/Linux 12 (bookworm)\"\n      kernel: \"6.1.0-13-amd64\"\n"
        "      cpu: \"Example CPU\"\n      cpu_count: 8\n      memory_bytes: 17179869184\n"
        "    }\n    tags {\n      key: \"tester\"\n      value: \"kim\"\n    }\n"
        "    tags {\n      key: \"case\"\n      value: \"login; 2\"\n    }\n",
        "    kind: KIND_AUDIT\n",
        "    flags: 17\n    code_id: 1234605616436508552\n    platform: PLATFORM_LINUX\n",
        "    flags: 16\n    code_id: 1234605616436508552\n    platform: PLATFORM_IOS\n",
        "    kind: FRAME_SCRIPT\n",
        "    language: ",
        "    awaiter: 1\n    task: ",
        "    creator: ",
        "  processes {\n    pid: 4711\n    parent_pid: 4000\n    executable: ",
        "  processes {\n    pid: 4800\n    parent: 1\n    parent_pid: 4711\n    executable: ",
        "    consent: CONSENT_BEFORE\n",
        "    begin_ns: 2000000000\n    consent: CONSENT_GIVEN\n    process: 1\n",
        "    severity: SEVERITY_ERROR\n",
        "    limit_count: 1\n    limit_ns: 2000000000\n"
        "    over_first_ns: 2500000000\n    over_last_ns: 3500000000\n",
        "    tid: 72057594037927937\n",
        "    process: 2\n    qos: QOS_USER_INTERACTIVE\n    queue: ",
        "    script_stack: 1\n",
        "    loop: LOOP_RUN_LOOP\n",
        "    uncovered {\n      duration_ns: 50000000\n      reason: UNCOVERED_BEFORE\n"
        "      cpu_ns: 40000000\n      runqueue_ns: 1000000\n      detail: ",
        "    uncovered {\n      time_ns: 400000000\n      duration_ns: 20000000\n"
        "      reason: UNCOVERED_LATE\n    }\n",
        "    waits {\n      tid: 4711\n      process: 1\n      kind: WAIT_MUTEX\n      resource: ",
        "      owner_tid: 4712\n      owner_process: 1\n    }\n",
        "      kind: WAIT_SOCKET\n",
        "      peer: ",
        "    phase: 1\n    kind: STALL_LAUNCH\n    fatal: true\n    loop_phase: ",
        "    mode: ",
        "    app_state: APP_BACKGROUND\n"
        "    load {\n      measured_ns: 400000000\n      minor_faults: 120\n"
        "      major_faults: 3\n      has_pressure: true\n      cpu_pressure_ns: 372000000\n"
        "      memory_pressure_ns: 1000000\n      io_pressure_ns: 48000000\n    }\n"
        "    annotations {\n      key: ",
        "    rule: 1\n    process: 2\n    phase: 2\n    first_ns: 2100000000\n"
        "    last_ns: 2900000000\n    tid: 4800\n    over_limit: 2\n    sdk: ",
        "    arguments {\n      position: 1\n      value: ",
        "    arguments {\n      position: 1\n      count: 1\n      name: ",
        "    threads: 9223372036854775813\n",
        "  samples {\n    time_ns: 7000000000\n    weight_ns: 10000000\n    stack: ",
        "    tid: 4711\n    process: 1\n",
        "  waits {\n    tid: 4800\n    process: 2\n    kind: WAIT_CHILD\n    owner_process: 2\n",
        "  stall_counts {\n    fingerprint: ",
        "    count: 119\n    total_ns: 48000000000\n    longest_ns: 650000000\n"
        "    first_ns: 1000000000\n    last_ns: 90000000000\n",
        "    overhead_ns: 77\n    turn_counts {\n      from_ns: 31250000\n      to_ns: 62500000\n"
        "      count: 12\n    }\n    turn_counts {\n      from_ns: 16000000000\n      count: 1\n   "
        " }\n"
        "    frame_ns: 16666666\n    frames_dropped: 37\n",
    };
    need_protoc();
    struct sonde__report *r = sample_all();
    sample_file(r, false, &file);
    char *text = protoc_decode(&file);
    check_all_fields_named(text);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        CHECK_CONTAINS(text, fields[i]);
    }
    free(text);
    sonde__report_destroy(r);
    sample_bytes_done(&file);
}

/* Get the name of the field that a line of the schema defines, if any. */
static bool field_of(const char *line, char *ret_name, size_t capacity)
{
    const char *equals = strchr(line, '='), *comment = strstr(line, "//");
    if (strncmp(line, "  ", 2) != 0 || equals == NULL || (comment != NULL && comment < equals)) {
        return false;
    }
    const char *end = equals - 1, *begin = end;
    while (begin > line && begin[-1] != ' ') {
        begin--;
    }
    snprintf(ret_name, capacity, "%.*s", (int)(end - begin), begin);
    return *ret_name >= 'a' && *ret_name <= 'z'; /* enum values are in capitals */
}

/* No test covers a field without a value in any sample. */
TEST_TIMEOUT(file_samples_have_every_field_of_the_schema, 120)
{
    struct sonde__report *(*const samples[])(void) = {sample_stacks, sample_watch,
                                                      sample_heap_blocks, sample_all};
    char schema[512], name[64], found[80];
    unsigned fields = 0;
    char *texts[5];
    struct sample_bytes live = {0};
    need_protoc();
    for (unsigned i = 0; i < 4; i++) {
        struct sample_bytes file;
        struct sonde__report *r = samples[i]();
        sample_file(r, false, &file);
        texts[i] = protoc_decode(&file);
        sonde__report_destroy(r);
        sample_bytes_done(&file);
    }
    sample_live(&live);
    texts[4] = protoc_decode(&live);
    sample_bytes_done(&live);
    snprintf(schema, sizeof schema, "%s/proto/sonde/v1/report.proto", test_source_dir());
    char *text = test_read_file(schema, NULL);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (field_of(line, name, sizeof name)) {
            bool any = fields++ == 0; /* Report.records: the file itself */
            for (unsigned i = 0; i < 5 && !any; i++) {
                snprintf(found, sizeof found, " %s:", name);
                any = strstr(texts[i], found) != NULL;
                snprintf(found, sizeof found, " %s {", name);
                any = any || strstr(texts[i], found) != NULL;
            }
            if (!any) {
                FAIL("no sample has %s", name);
            }
        }
    }
    CHECK(fields > 150);
    free(text);
    for (unsigned i = 0; i < 5; i++) {
        free(texts[i]);
    }
}

/* Split protoc's Report and give each record its checksum, which protoc cannot make. */
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
        "records { header { format: 3 kind: KIND_STACKS pid: 77 arch: \"x86_64\" x_text: \"new\" "
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
    struct sonde__report *r = sample_read_back(&file, &loss);
    CHECK_EQ(loss.damage, SONDE__REPORT_WHOLE);
    CHECK_EQ(loss.bad_parts, 0);
    CHECK_EQ(sonde__report_header(r)->pid, 77);
    char *text = sample_text(r, &(struct sonde__report_view){.loss = &loss});
    CHECK_CONTAINS(text, "#0  work+0x0   prog+0x1000");
    CHECK_CONTAINS(text, "made by a newer sonde (format 3): 9 fields");
    free(text);
    sonde__report_destroy(r);
    sample_bytes_done(&file);
}
