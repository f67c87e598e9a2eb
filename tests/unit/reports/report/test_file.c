// SPDX-License-Identifier: Apache-2.0
/* The writer against the reader; cut and damaged files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_crc32c.h"
#include "mem_heap.h"
#include "report_proto.h"
#include "report_read.h"
#include "report_write.h"
#include "sample.h"
#include "test.h"

static void check_round_trip(struct sonde__report *r)
{
    struct sample_bytes file;
    struct sonde__report_loss loss;
    sample_file(r, false, &file);
    struct sonde__report *again = sample_read_back(&file, &loss);
    CHECK_EQ(loss.damage, SONDE__REPORT_WHOLE);
    CHECK(!loss.unfinished);
    CHECK_EQ(loss.size_bytes, 0);
    CHECK_EQ(loss.bad_parts, 0);
    /* writing the file again gives the same bytes: nothing was lost or changed */
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
    check_round_trip(sample_all());
}

TEST(file_cut_at_every_byte_keeps_every_whole_record)
{
    struct sample_bytes file = {0};
    struct sonde__report_loss loss;
    sonde__report_destroy(sample_write_in_steps(&file));
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
    sonde__report_destroy(sample_write_in_steps(&file));
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

#if defined(SONDE_SANITIZED) /* everything takes ten times as long */
#    define DAMAGED (test_long() ? 20000u : 2000u)
#else
#    define DAMAGED 20000u
#endif

/* A right checksum proves nothing: damage a record and correct its checksum. */
static void damage(unsigned sample)
{
    struct sonde__report *(*const samples[])(void) = {sample_watch, sample_all};
    struct sample_bytes file;
    struct sonde__report *r = samples[sample]();
    uint32_t random = 1;
    sample_file(r, false, &file);
    sonde__report_destroy(r);
    size_t header = (unsigned char)file.data[1] < 0x80 ? 2 : 3;
    CHECK_EQ(file.writes, 1);
    char *copy = malloc(file.size);
    for (unsigned round = 0; round < DAMAGED; round++) {
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
            free(sample_json(r, NULL));
            sample_file(r, false, &again);
            sample_bytes_done(&again);
            sonde__report_destroy(r);
        }
    }
    free(copy);
    sample_bytes_done(&file);
}

TEST_TIMEOUT(file_hostile_records_with_right_checksums, 600)
{
    damage(0);
    damage(1);
}

/* Read a file of one record with this body. `body` needs room for more. */
static struct sonde__report *read_body(struct sonde__proto *body, struct sonde__report_loss *loss)
{
    struct sonde__proto file = {0};
    struct sample_bytes bytes = {0};
    size_t mark = sonde__proto_begin(&file, 1);
    sonde__proto_raw(&file, body->data, body->size);
    sonde__proto_fixed32(&file, 15, sonde__base_crc32c(0, body->data, body->size));
    sonde__proto_end(&file, mark);
    CHECK_OK(sample_write(&bytes, file.data, file.size));
    struct sonde__report *r = sample_read_back(&bytes, loss);
    sonde__proto_done(&file);
    sonde__proto_done(body);
    sample_bytes_done(&bytes);
    return r;
}

/* A message of two numbers. */
static void put_pair(struct sonde__proto *p, uint32_t field, uint32_t first, uint64_t a,
                     uint32_t second, uint64_t b)
{
    size_t mark = sonde__proto_begin(p, field);
    sonde__proto_uint(p, first, a);
    sonde__proto_uint(p, second, b);
    sonde__proto_end(p, mark);
}

enum { STACKS = 5, PROCESSES = 12, THREADS = 6, HEADER = 1, TAGS = 15 };

TEST(file_hostile_ids_make_no_circles)
{
    struct sonde__proto body = {0};
    struct sonde__report_loss loss;
    put_pair(&body, HEADER, 1, 2, 5, 77);
    put_pair(&body, STACKS, 1, 0, 4, 1);          /* awaits itself */
    put_pair(&body, STACKS, 1, 1, 4, 3);          /* awaits a later one, */
    put_pair(&body, STACKS, 1, 2, 4, 2);          /* which is awaited by an earlier one: good */
    put_pair(&body, STACKS, 1, 3, 4, 4294967295); /* none is there */
    put_pair(&body, PROCESSES, 1, 70, 2, 1);      /* its own parent */
    put_pair(&body, PROCESSES, 1, 71, 2, 1);
    put_pair(&body, PROCESSES, 1, 72, 2, 4000000000);
    put_pair(&body, THREADS, 5, 4, 15, 2);
    put_pair(&body, THREADS, 5, 4, 15, 4000000000); /* of a missing process */
    struct sonde__report *r = read_body(&body, &loss);
    CHECK_EQ(loss.damage, SONDE__REPORT_WHOLE);
    CHECK_EQ(sonde__report_node(r, 1)->awaiter, 0);
    CHECK_EQ(sonde__report_node(r, 2)->awaiter, 0);
    CHECK_EQ(sonde__report_node(r, 3)->awaiter, 2);
    CHECK_EQ(sonde__report_node(r, 4)->awaiter, 0);
    CHECK_EQ(sonde__report_lost(r)->nodes, 3);
    CHECK_EQ(sonde__report_process(r, 1)->parent, 0);
    CHECK_EQ(sonde__report_process(r, 2)->parent, 1);
    CHECK_EQ(sonde__report_process(r, 3)->parent, 0);
    CHECK_EQ(sonde__report_lost(r)->processes, 2);
    CHECK_EQ(sonde__report_pid(r, sonde__report_thread(r, 0)->process), 71);
    CHECK_EQ(sonde__report_pid(r, sonde__report_thread(r, 1)->process), 77);
    free(sample_text(r, NULL));
    free(sample_json(r, NULL));
    sonde__report_destroy(r);
}

TEST(file_more_tags_than_the_limit_are_left_out)
{
    struct sonde__proto body = {0};
    struct sonde__report_loss loss;
    size_t mark = sonde__proto_begin(&body, HEADER);
    sonde__proto_uint(&body, 1, 2);
    for (unsigned i = 0; i < SONDE__REPORT_TAGS_MAX + 3; i++) {
        size_t tag = sonde__proto_begin(&body, TAGS);
        if (i != 1) { /* one without a key */
            sonde__proto_bytes(&body, 1, "key", 3);
        }
        sonde__proto_end(&body, tag);
    }
    sonde__proto_end(&body, mark);
    struct sonde__report *r = read_body(&body, &loss);
    CHECK_EQ(sonde__report_header(r)->tag_count, SONDE__REPORT_TAGS_MAX);
    CHECK_STR(sonde__report_header(r)->tags[0].key, "key");
    CHECK_STR(sonde__report_header(r)->tags[1].key, "");
    CHECK_STR(sonde__report_header(r)->tags[0].value, "");
    CHECK_EQ(sonde__report_lost(r)->details, 3);
    free(sample_text(r, NULL));
    sonde__report_destroy(r);
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
    r = sample_read_back(&file, &loss);
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
    r = sample_read_back(&file, &loss);
    CHECK_EQ(loss.damage, SONDE__REPORT_WHOLE);
    CHECK_EQ(sonde__report_node(r, sonde__report_thread(r, 6)->stack)->depth, 30000);
    sonde__report_destroy(r);
    sample_bytes_done(&file);
}

/* -- memory -- */

/* Use everything once; true if nothing failed. A failure must give a status or a counted loss. */
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

/* A flush that runs out of memory leaves whole records, and the next one goes on. */
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
        struct sonde__report *again = sample_read_back(&file, &loss);
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
