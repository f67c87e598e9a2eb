// SPDX-License-Identifier: Apache-2.0
/* Stalls that a live file has in parts: whole, cut at every byte, and with zero bytes behind. */
#include <stdlib.h>
#include <string.h>

#include "report_read.h"
#include "sample.h"
#include "test.h"

#define MS 1000000u

static const struct sonde__report_stall *find_stall(const struct sonde__report *r, int64_t tid)
{
    for (uint32_t i = 0; i < sonde__report_stall_count(r); i++) {
        if (sonde__report_stall(r, i)->tid == tid) {
            return sonde__report_stall(r, i);
        }
    }
    return NULL;
}

TEST(growing_parts_are_one_stall)
{
    struct sample_bytes file = {0};
    struct sonde__report_loss loss;
    sample_live(&file);
    struct sonde__report *r = sample_read_back(&file, &loss);
    CHECK_EQ(loss.damage, SONDE__REPORT_WHOLE);
    CHECK(loss.unfinished);
    CHECK_EQ(loss.unknown_fields, 0);
    CHECK_EQ(sonde__report_stall_count(r), 2); /* 14 was taken back */
    const struct sonde__report_stall *s = find_stall(r, 11);
    CHECK(s != NULL && s->open && !s->fatal && s->main);
    CHECK_EQ(s->duration_ns, 500 * MS);
    CHECK_EQ(s->cpu_ns, 7);
    CHECK_EQ(s->doubts, SONDE__REPORT_DOUBT_MEMORY);
    CHECK_EQ(s->samples[0].qos, 1);
    CHECK_STR(sonde__report_text(r, s->samples[0].queue), "main queue");
    CHECK_EQ(sonde__report_process(r, 1)->boot, 0xb007);
    CHECK_EQ(sonde__report_process(r, 1)->program, 0xf11e);
    CHECK_EQ(s->loop, SONDE__REPORT_LOOP_EPOLL);
    CHECK_EQ(s->sample_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(s->samples[i].time_ns, (i + 1) * 10 * MS);
        CHECK_EQ(s->samples[i].weight_ns, (i < 3 ? 10 : 460) * MS);
        CHECK_EQ(sonde__report_node(r, s->samples[i].stack)->depth, i < 2 ? 1 : 2);
    }
    CHECK_EQ(s->uncovered_count, 1);
    CHECK_EQ(s->uncovered[0].duration_ns, 10 * MS);
    CHECK_EQ(s->thread_count, 1);
    CHECK_EQ(s->threads[0].tid, 12);
    CHECK_EQ(s->wait_count, 1);
    CHECK_EQ(s->waits[0].owner_tid, 12);
    s = find_stall(r, 13);
    CHECK(s != NULL && !s->open);
    CHECK_EQ(s->duration_ns, 310 * MS);
    sonde__report_destroy(r);
    sample_bytes_done(&file);
}

/* How long the main thread's stall is, by the records that are whole: those of sample_live.c. */
static uint64_t duration_of(unsigned records)
{
    static const uint64_t ms[] = {0, 0, 0, 30, 40, 50, 500, 500, 500, 500};
    return ms[records] * MS;
}

static void check_cut(const struct sample_bytes *file, const void *bytes, size_t size,
                      size_t cut_at)
{
    struct sonde__report *r;
    struct sonde__report_loss loss;
    unsigned whole = 0;
    while (whole < file->writes && file->ends[whole] <= cut_at) {
        whole++;
    }
    enum sonde_status status = sonde__report_read(bytes, size, &r, &loss, NULL);
    CHECK_EQ(status, whole == 0 ? SONDE_CORRUPT : SONDE_OK);
    if (status == SONDE_OK) {
        const struct sonde__report_stall *s = find_stall(r, 11);
        CHECK_EQ(loss.record_count, whole);
        CHECK_EQ(s != NULL ? s->duration_ns : 0, duration_of(whole));
        CHECK_EQ(find_stall(r, 14) != NULL, whole == 7 || whole == 8);
        sonde__report_destroy(r);
    }
}

TEST(growing_file_cut_at_every_byte_keeps_every_whole_part)
{
    struct sample_bytes file = {0};
    sample_live(&file);
    CHECK_EQ(file.writes, 9);
    for (size_t size = 0; size < file.size; size++) {
        char *copy = malloc(size + 1); /* so that a sanitizer sees what is read behind it */
        memcpy(copy, file.data, size);
        copy = realloc(copy, size == 0 ? 1 : size);
        check_cut(&file, copy, size, size);
        free(copy);
    }
    sample_bytes_done(&file);
}

/* As a killed writer leaves a mapping: the first bytes of a record, or its last without its tag. */
TEST(growing_file_ends_at_a_zero_tag)
{
    struct sample_bytes file = {0};
    sample_live(&file);
    size_t size = file.size + 4096;
    char *live = malloc(size);
    for (size_t at = 0; at <= file.size; at++) {
        memset(live, 0, size);
        memcpy(live, file.data, at);
        check_cut(&file, live, size, at);
    }
    for (unsigned i = 1; i < file.writes; i++) {
        struct sonde__report *r;
        struct sonde__report_loss loss;
        memset(live, 0, size);
        memcpy(live, file.data, file.ends[i]);
        CHECK_OK(sonde__report_read(live, size, &r, &loss, NULL));
        CHECK_EQ(loss.damage, SONDE__REPORT_WHOLE); /* the zero bytes are no loss */
        CHECK_EQ(loss.size_bytes, 0);
        sonde__report_destroy(r);
        live[file.ends[i - 1]] = 0; /* the record has no tag yet */
        CHECK_OK(sonde__report_read(live, size, &r, &loss, NULL));
        CHECK_EQ(loss.damage, SONDE__REPORT_CUT);
        CHECK_EQ(loss.offset, file.ends[i - 1]);
        CHECK_EQ(loss.record_count, i);
        sonde__report_destroy(r);
    }
    free(live);
    sample_bytes_done(&file);
}

/* What was read is written as a plain report. */
TEST(growing_stalls_are_written_as_stalls)
{
    struct sample_bytes file = {0}, plain;
    struct sonde__report_loss loss;
    sample_live(&file);
    struct sonde__report *r = sample_read_back(&file, &loss);
    sample_file(r, false, &plain);
    struct sonde__report *again = sample_read_back(&plain, &loss);
    CHECK(!loss.unfinished);
    CHECK_EQ(sonde__report_stall_count(again), 2);
    CHECK_EQ(find_stall(again, 11)->sample_count, 4);
    sonde__report_destroy(again);
    sonde__report_destroy(r);
    sample_bytes_done(&plain);
    sample_bytes_done(&file);
}
