// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "report_model.h"
#include "report_utf8.h"
#include "test.h"

static struct sonde__report *create(void)
{
    struct sonde__report *r = NULL;
    CHECK_OK(sonde__report_create(&r));
    return r;
}

TEST(model_same_thing_same_id)
{
    struct sonde__report *r = create();
    CHECK_EQ(sonde__report_string(r, ""), 0);
    CHECK_EQ(sonde__report_string(r, NULL), 0);
    uint32_t a = sonde__report_string(r, "libc.so.6");
    CHECK_EQ(a, 1);
    CHECK_EQ(sonde__report_string(r, "fsync"), 2);
    CHECK_EQ(sonde__report_string(r, "libc.so.6"), a);
    CHECK_STR(sonde__report_text(r, a), "libc.so.6");

    struct sonde__report_image image = {.path = a, .build_id = {2, {1, 2}}};
    CHECK_EQ(sonde__report_add_image(r, &image), 1);
    image.build_id.bytes[1] = 3;
    CHECK_EQ(sonde__report_add_image(r, &image), 2);
    CHECK_EQ(sonde__report_add_image(r, &image), 2);

    struct sonde__report_frame frame = {.image = 1, .offset = 0x10, .name = 2, .name_offset = 4};
    CHECK_EQ(sonde__report_add_frame(r, &frame), 1);
    frame.name_offset = 5;
    CHECK_EQ(sonde__report_add_frame(r, &frame), 2);
    frame.name_offset = 4;
    CHECK_EQ(sonde__report_add_frame(r, &frame), 1);

    uint32_t outer = sonde__report_add_node(r, 0, 1);
    uint32_t inner = sonde__report_add_node(r, outer, 2);
    CHECK_EQ(sonde__report_add_node(r, 0, 1), outer);
    CHECK_EQ(sonde__report_add_node(r, outer, 2), inner);
    CHECK_EQ(sonde__report_node(r, inner)->depth, 2);
    CHECK_EQ(sonde__report_add_node(r, 99, 2), 0);
    CHECK_EQ(sonde__report_lost(r)->nodes, 1);
    sonde__report_destroy(r);
}

TEST(model_many_entries_keep_their_ids_and_addresses)
{
    struct sonde__report *r = create();
    const char *first = NULL;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= 20000; i++) {
            char text[16];
            memset(text, 0, sizeof text);
            for (uint32_t n = i, k = 0; n != 0; n /= 10) {
                text[k++] = (char)('0' + n % 10);
            }
            CHECK_EQ(sonde__report_string(r, text), i);
            CHECK_EQ(sonde__report_add_node(r, i - 1, i), i);
            first = first == NULL ? sonde__report_text(r, 1) : first;
        }
    }
    CHECK(first == sonde__report_text(r, 1));
    CHECK_EQ(sonde__report_string_count(r), 20000);
    CHECK_EQ(sonde__report_node(r, 20000)->depth, 20000);
    sonde__report_destroy(r);
}

TEST(model_ids_out_of_range_answer_empty)
{
    struct sonde__report *r = create();
    static const uint32_t ids[] = {0, 1, 77, UINT32_MAX};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        CHECK_STR(sonde__report_text(r, ids[i]), "");
        CHECK_EQ(sonde__report_image(r, ids[i])->path, 0);
        CHECK_EQ(sonde__report_frame(r, ids[i])->image, 0);
        CHECK_EQ(sonde__report_node(r, ids[i])->frame, 0);
        CHECK_EQ(sonde__report_thread(r, ids[i])->tid, 0);
        CHECK_EQ(sonde__report_stall(r, ids[i])->sample_count, 0);
        CHECK_STR(sonde__report_note(r, ids[i]), "");
    }
    CHECK(sonde__report_end(r) == NULL);
    CHECK_STR(sonde__report_header(r)->tool, "");
    sonde__report_destroy(r);
}

TEST(model_counts_what_is_over_a_limit)
{
    struct sonde__report *r = create();
    uint32_t node = 0;
    for (uint32_t i = 0; i < SONDE__REPORT_DEPTH_MAX; i++) {
        node = sonde__report_add_node(r, node, 1);
    }
    CHECK_EQ(node, SONDE__REPORT_DEPTH_MAX);
    CHECK_EQ(sonde__report_add_node(r, node, 1), 0);
    for (uint32_t i = 0; i < SONDE__REPORT_NOTES_MAX + 3; i++) {
        sonde__report_add_note(r, "note");
    }
    CHECK_EQ(sonde__report_note_count(r), SONDE__REPORT_NOTES_MAX);
    CHECK_EQ(sonde__report_lost(r)->notes, 3);
    CHECK_EQ(sonde__report_lost(r)->nodes, 1);
    CHECK_EQ(sonde__report_lost_records(r), 4);
    sonde__report_destroy(r);
}

TEST(model_text_is_valid_utf8)
{
    struct sonde__report *r = create();
    uint32_t id = sonde__report_string(r, "a\xff\xc3(\xe2\x82\xac");
    CHECK_STR(sonde__report_text(r, id), "a\xef\xbf\xbd\xef\xbf\xbd(\xe2\x82\xac");
    CHECK_EQ(sonde__report_string(r, "a\xff\xc3(\xe2\x82\xac"), id);

    size_t size = SONDE__REPORT_STRING_BYTES_MAX + 100;
    char *long_text = malloc(size + 1);
    memset(long_text, 'x', size);
    long_text[size] = '\0';
    id = sonde__report_string(r, long_text);
    CHECK_EQ(strlen(sonde__report_text(r, id)), SONDE__REPORT_STRING_BYTES_MAX);
    CHECK_STR(sonde__report_text(r, id) + SONDE__REPORT_STRING_BYTES_MAX - 4, "x...");
    CHECK_EQ(sonde__report_string(r, long_text), id);
    CHECK(sonde__report_lost(r)->strings_cut > 0);
    free(long_text);
    sonde__report_destroy(r);
}

TEST(utf8_follows_the_table_of_rfc_3629)
{
    static const struct {
        const char *bytes;
        unsigned length;
    } cases[] = {
        {"a", 1},
        {"\x7f", 1},
        {"\xc2\x80", 2},
        {"\xdf\xbf", 2},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\x80", 0},
        {"\xc1\xbf", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xed\xa0\x80", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xe2\x82", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ(sonde__report_utf8_sequence(cases[i].bytes, strlen(cases[i].bytes)),
                 cases[i].length);
    }
    CHECK_EQ(sonde__report_utf8_sequence("", 1), 0);
}
