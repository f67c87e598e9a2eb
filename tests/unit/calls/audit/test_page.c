// SPDX-License-Identifier: Apache-2.0
/* A hostile program writes into the page that it shares. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "audit_page.h"
#include "audit_run.h"
#include "hook.h"
#include "mem_heap.h"
#include "test.h"

static struct sonde__record_page *shared;

static void *make_page(size_t *ret_size)
{
    *ret_size = SONDE__RECORD_OFFSET;
    void *memory = mmap(NULL, *ret_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    shared = memory;
    return memory;
}

/* No byte of the text ends it; no byte after it is read. */
TEST(text_without_end)
{
    size_t size;
    char *memory = make_page(&size);
    struct sonde__record_page *page;
    memset(memory, 'x', size);
    shared->text_used = sizeof shared->text;
    atomic_store(&shared->image_count, 3);
    shared->images[0].path = sizeof shared->text - 2;
    shared->images[1].path = sizeof shared->text - 1;
    shared->images[2].path = UINT32_MAX;
    CHECK_OK(sonde__audit_page_copy(memory, &page));
    CHECK_EQ(strlen(sonde__audit_page_image(page, 0).path), 1);
    CHECK_EQ(strlen(sonde__audit_page_image(page, 1).path), 0);
    CHECK_EQ(strlen(sonde__audit_page_image(page, 2).path), 0);
    CHECK_EQ(strlen(sonde__audit_page_text(page, page->blind_spots[0].module)), 0);
    CHECK_EQ(strlen(sonde__audit_page_text(page, page->sites[0].module)), 0);
    sonde__audit_page_free(page);
    CHECK_OK(munmap(memory, size));
}

TEST(counts_of_what_is_not_there)
{
    size_t size;
    char *memory = make_page(&size);
    struct sonde__record_page *page;
    memset(memory, 0xff, size);
    CHECK_OK(sonde__audit_page_copy(memory, &page));
    CHECK_EQ(atomic_load(&page->image_count), sizeof page->images / sizeof page->images[0]);
    CHECK_EQ(atomic_load(&page->blind_count),
             sizeof page->blind_spots / sizeof page->blind_spots[0]);
    CHECK_EQ(atomic_load(&page->site_count), sizeof page->sites / sizeof page->sites[0]);
    CHECK_EQ(page->function_count, SONDE__RECORD_FUNCTIONS);
    for (uint32_t i = 0; i < atomic_load(&page->image_count); i++) {
        CHECK_EQ(page->images[i].build_id.size, 0);
    }
    sonde__audit_page_free(page);
    CHECK_OK(munmap(memory, size));
}

static void put_text(const char *text, uint32_t *ret_at)
{
    *ret_at = shared->text_used;
    memcpy(shared->text + *ret_at, text, strlen(text) + 1);
    shared->text_used += (uint32_t)strlen(text) + 1;
}

/* Readers compare modules by offset. */
TEST(equal_texts_share_an_offset)
{
    size_t size;
    char *memory = make_page(&size);
    struct sonde__record_page *page;
    put_text("/lib/b.so", &shared->images[0].path);
    put_text("/lib/a.so", &shared->images[1].path);
    put_text("/lib/b.so", &shared->blind_spots[0].module);
    put_text("/lib/a.so", &shared->blind_spots[1].module);
    shared->blind_spots[2].module = UINT32_MAX;
    put_text("/lib/b.so", &shared->sites[0].module);
    shared->sites[1].module = shared->text_used; /* not written yet */
    atomic_store(&shared->image_count, 2);
    atomic_store(&shared->blind_count, 3);
    atomic_store(&shared->site_count, 2);
    CHECK_OK(sonde__audit_page_copy(memory, &page));
    CHECK_STR(sonde__audit_page_text(page, page->images[0].path), "/lib/b.so");
    CHECK_STR(sonde__audit_page_text(page, page->images[1].path), "/lib/a.so");
    CHECK_EQ(page->blind_spots[0].module, page->images[0].path);
    CHECK_EQ(page->blind_spots[1].module, page->images[1].path);
    CHECK_EQ(page->blind_spots[2].module, UINT32_MAX);
    CHECK_EQ(page->sites[0].module, page->images[0].path);
    CHECK_STR(sonde__audit_page_text(page, page->sites[1].module), "");
    sonde__audit_page_free(page);
    CHECK_OK(munmap(memory, size));
}

/* A hostile page has texts as long as itself, in all of its entries. */
TEST(text_that_is_no_path_is_cut)
{
    size_t size;
    char *memory = make_page(&size);
    struct sonde__record_page *page;
    memset(shared->text, 'x', sizeof shared->text);
    shared->text_used = sizeof shared->text;
    shared->images[1].path = 20000;
    atomic_store(&shared->image_count, 2);
    CHECK_OK(sonde__audit_page_copy(memory, &page));
    CHECK_EQ(strlen(sonde__audit_page_image(page, 0).path), SONDE__AUDIT_TEXT_MAX - 1);
    CHECK_EQ(page->images[1].path, page->images[0].path);
    sonde__audit_page_free(page);
    CHECK_OK(munmap(memory, size));
}

TEST(functions_that_a_library_defines)
{
    size_t size;
    char *memory = make_page(&size);
    struct sonde__record_page *page;
    struct sonde__audit_defined defined;
    const struct sonde__record_blind blind_spots[] = {
        {0, 3, SONDE__HOOK_INSIDE},
        {0, 4, SONDE__HOOK_ABSENT},
        {0, UINT32_MAX, SONDE__HOOK_INSIDE},
        {0, SONDE__RECORD_FUNCTIONS, SONDE__HOOK_INSIDE},
    };
    memcpy(shared->blind_spots, blind_spots, sizeof blind_spots);
    atomic_store(&shared->blind_count, 4);
    CHECK_OK(sonde__audit_page_copy(memory, &page));
    sonde__audit_page_defined(page, &defined);
    for (uint32_t i = 0; i < SONDE__RECORD_FUNCTIONS + 2; i++) {
        CHECK_EQ(sonde__audit_is_defined(&defined, i), i == 3);
    }
    CHECK(!sonde__audit_is_defined(&defined, UINT32_MAX));
    sonde__audit_page_free(page);
    CHECK_OK(munmap(memory, size));
}

static atomic_bool is_over;
#if defined(SONDE_EMULATED)
enum { ROUNDS = 3 };
#else
enum { ROUNDS = 300 };
#endif

/* Right and wrong values in turn. */
static void *scribble(void *unused)
{
    volatile uint32_t *path = &shared->images[0].path;
    volatile char *end = &shared->text[9];
    for (uint32_t i = 0; !atomic_load(&is_over); i++) {
        *path = i % 2 == 0 ? 0 : UINT32_MAX - i;
        *end = i % 3 == 0 ? '\0' : 'y';
        atomic_store(&shared->image_count, i % 2 == 0 ? 1 : UINT32_MAX);
        ((volatile struct sonde__record_image *)shared->images)[0].build_id.size =
            (uint8_t)(i % 2 == 0 ? 4 : 255);
    }
    return unused;
}

/* Whatever a reader saw of the page, a copy of it is consistent. */
TEST(changed_while_it_is_copied)
{
    size_t size;
    pthread_t thread;
    char *memory = make_page(&size);
    memset(shared->text, 'x', sizeof shared->text);
    shared->text_used = sizeof shared->text;
    CHECK_OK(pthread_create(&thread, NULL, scribble, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        struct sonde__record_page *page;
        CHECK_OK(sonde__audit_page_copy(memory, &page));
        uint32_t count = atomic_load(&page->image_count);
        CHECK(count <= sizeof page->images / sizeof page->images[0]);
        for (uint32_t k = 0; k < count; k++) {
            struct sonde__image image = sonde__audit_page_image(page, k);
            CHECK(image.path + strlen(image.path) < page->text + sizeof page->text);
            CHECK(image.build_id.size <= SONDE__BUILD_ID_MAX);
        }
        sonde__audit_page_free(page);
    }
    atomic_store(&is_over, true);
    CHECK_OK(pthread_join(thread, NULL));
    CHECK_OK(munmap(memory, size));
}

static void keep_line(void *ctx, const char *line)
{
    snprintf(ctx, 256, "%s", line);
}

/* The last line printed for a page in which a program wrote one word. */
static const char *end_of_page(size_t at, uint32_t word)
{
    static char said[256];
    const struct sonde__audit_options options = {.blocks = true};
    struct sonde__audit *audit;
    struct sonde__report *report;
    size_t size = sonde__audit_shared_size(0) + sonde__audit_registry_size();
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK_OK(sonde__audit_create(&options, &audit, NULL));
    CHECK_OK(sonde__report_create(&report));
    sonde__audit_begin(audit, memory);
    memcpy(memory + at, &word, sizeof word);
    said[0] = '\0';
    sonde__audit_end(audit, memory, report, (struct sonde__report_lines){keep_line, said});
    sonde__report_destroy(report);
    sonde__mem_free(audit); /* one piece; a child keeps it */
    CHECK_OK(munmap(memory, size));
    return said;
}

/* A library that was not loaded is another cause. */
TEST(damage_is_not_taken_for_a_library_that_was_not_loaded)
{
    const size_t state = offsetof(struct sonde__record_page, state);
    CHECK_STR(end_of_page(state, SONDE__RECORD_NOT_STARTED),
              "nothing was recorded: libsonde-record.so was not loaded");
    CHECK_STR(end_of_page(state, SONDE__RECORD_FAILED),
              "nothing was recorded: the program had no memory for it");
    CHECK_CONTAINS(end_of_page(state, 0x41414141), "(at offset 12: state)");
    CHECK_CONTAINS(end_of_page(0, 0), "(at offset 0: version)");
    CHECK_CONTAINS(end_of_page(offsetof(struct sonde__record_page, nodes), 1),
                   "what was recorded is lost: the program has damaged the memory that it shares "
                   "with sonde (at offset 4: nodes)");
    CHECK_CONTAINS(end_of_page(offsetof(struct sonde__record_page, function_count), UINT32_MAX),
                   "(at offset 8: function_count)");
}
