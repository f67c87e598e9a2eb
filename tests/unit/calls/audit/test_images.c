// SPDX-License-Identifier: Apache-2.0
/* A frame belongs to the image that was loaded when its stack was made. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "audit_page.h"
#include "audit_read.h"
#include "depot.h"
#include "record.h"
#include "report_model.h"
#include "test.h"

enum { NODES = 8192, PLACE_BYTES = 0x10000 };

static struct sonde__record_page *page;
static struct sonde__record *record;

static uint64_t place(uint32_t i)
{
    return (uint64_t)(i + 1) * PLACE_BYTES;
}

static void make_record(void)
{
    size_t size = SONDE__RECORD_OFFSET + sonde__record_size(NODES);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    page = (void *)memory;
    record = sonde__record_at(memory + SONDE__RECORD_OFFSET, NODES);
    CHECK(record != NULL);
    page->version = SONDE__RECORD_PAGE_VERSION;
    page->function_count = 1;
    atomic_store(&page->state, SONDE__RECORD_RUNS);
}

/* Named by its number. It stays loaded until unload_image(). */
static void load_image(uint32_t i, uint64_t start, uint64_t size)
{
    struct sonde__record_image *image = &page->images[i];
    *image =
        (struct sonde__record_image){.start = start, .end = start + size, .path = page->text_used};
    page->text_used += (uint32_t)sprintf(page->text + page->text_used, "/lib/%u", i) + 1;
    atomic_store(&page->image_count, i + 1);
}

static void unload_image(uint32_t i)
{
    atomic_store(&page->images[i].closed_node, sonde__depot_next(sonde__record_depot(record)));
}

static void call_from(uint64_t pc)
{
    uint8_t how = SONDE_HOW_EXACT;
    struct sonde_stack stack = {.pcs = &pc, .how = &how, .count = 1, .capacity = 1, .lost_at = 1};
    CHECK(sonde__record_call(record, 0, sonde__depot_put(sonde__record_depot(record), &stack)));
}

static struct sonde__audit_totals totals;

static struct sonde__report *read_all(void)
{
    static const struct sonde__audit_list list = {.names = {"f"}, .count = 1};
    struct sonde__record_page *copy;
    struct sonde__report *report;
    CHECK_OK(sonde__report_create(&report));
    CHECK_OK(sonde__audit_page_copy(page, &copy));
    const struct sonde__audit_reading reading = {
        .page = copy, .memory = page, .nodes = NODES, .list = &list};
    CHECK_OK(sonde__audit_read(&reading, NULL, report, &totals));
    sonde__audit_page_free(copy);
    return report;
}

/* The calls, in the order of their nodes, are from images 0, 1, 2 ... */
static void check_images(uint32_t count)
{
    struct sonde__report *report = read_all();
    CHECK_EQ(sonde__report_call_count(report), count);
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__report_node *node =
            sonde__report_node(report, sonde__report_call(report, i)->stack);
        const struct sonde__report_frame *frame = sonde__report_frame(report, node->frame);
        char name[32];
        snprintf(name, sizeof name, "/lib/%u", i);
        CHECK(frame->image != 0);
        CHECK_STR(sonde__report_text(report, sonde__report_image(report, frame->image)->path),
                  name);
    }
    sonde__report_destroy(report);
    CHECK_OK(munmap(page, SONDE__RECORD_OFFSET + sonde__record_size(NODES)));
}

/* Each is unloaded before the next one is loaded, at about the same place. */
TEST(images_at_one_place_one_after_the_other)
{
    enum { IMAGES = 200 };
    make_record();
    for (uint32_t i = 0; i < IMAGES; i++) {
        load_image(i, place(0) + i * 7919 % 5 * 0x1000, PLACE_BYTES);
        call_from(place(0) + 0x8000 + i);
        unload_image(i);
    }
    check_images(IMAGES);
}

/* The first one lies over the places of two later ones, and beside one that stays. */
TEST(image_at_the_place_of_two_later_ones)
{
    make_record();
    load_image(0, place(0), 2 * PLACE_BYTES);
    load_image(1, place(2), PLACE_BYTES);
    call_from(place(1) + 1);
    call_from(place(2) + 1);
    unload_image(0);
    load_image(2, place(1), PLACE_BYTES);
    load_image(3, place(0), PLACE_BYTES);
    call_from(place(1) + 2);
    call_from(place(0) + 2);
    check_images(4);
}

/* The program may write anything there. */
TEST(counts_that_cannot_be_are_left_out)
{
    make_record();
    load_image(0, place(0), PLACE_BYTES);
    call_from(place(0) + 1);
    CHECK(!sonde__record_call(record, 0, SONDE__DEPOT_NONE)); /* no room for its stack */
    sonde__report_destroy(read_all());
    CHECK_EQ(totals.calls, 2);
    CHECK_EQ(totals.lost, 1);
    CHECK_EQ(totals.impossible, 0);
    uint64_t *words = (uint64_t *)(void *)((char *)page + SONDE__RECORD_OFFSET);
    uint32_t at = 0;
    while (sonde__record_lost(record, 0) == 1) { /* its counter is one of the first words */
        words[at] ^= words[at] == 1 ? (uint64_t)1 << 60 : 0;
        at++;
    }
    sonde__report_destroy(read_all());
    CHECK_EQ(totals.calls, 1);
    CHECK_EQ(totals.lost, 0);
    CHECK_EQ(totals.impossible, 1);
    CHECK_OK(munmap(page, SONDE__RECORD_OFFSET + sonde__record_size(NODES)));
}

static double seconds_to_read(uint32_t images)
{
    struct timespec begin, end;
    make_record();
    for (uint32_t i = 0; i < images; i++) {
        load_image(i, place(i), PLACE_BYTES);
    }
    for (uint32_t i = 0; i < images; i++) {
        call_from(place(i));
        unload_image(i);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    struct sonde__report *report = read_all();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    sonde__report_destroy(report);
    CHECK_OK(munmap(page, SONDE__RECORD_OFFSET + sonde__record_size(NODES)));
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

/* As many unloads as images: each costs one pass over the images, not one over their pairs. */
TIMED_TEST(many_unloads_of_many_images, 60)
{
    double few = seconds_to_read(512), many = seconds_to_read(2048);
    if (many > 32 * few) { /* 16 by the square, 64 by the cube */
        FAIL("512 images took %.4f s, 2048 took %.4f s", few, many);
    }
}
