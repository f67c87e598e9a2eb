// SPDX-License-Identifier: Apache-2.0
/* Publication: a reader sees a whole snapshot, and one that it holds is never called free. */
#include <pthread.h>
#include <stdlib.h>

#include "capture_images.h"
#include "test.h"

enum { ROUNDS = 20000, READERS = 3 };

/* A snapshot whose members agree, until it is poisoned. */
static struct sonde__image_set *make_set(uint64_t generation)
{
    struct sonde__image_set *set = calloc(1, sizeof *set);
    set->generation = generation;
    set->image_count = (uint32_t)generation;
    return set;
}

static int stop;

static void *read_snapshots(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        struct sonde__capture_pin pin = sonde__capture_pin();
        if (pin.images != NULL) {
            CHECK_EQ((uint32_t)pin.images->generation, pin.images->image_count);
        }
        sonde__capture_unpin(pin);
    }
    return NULL;
}

TEST(pinned_images_are_not_freed)
{
    pthread_t readers[READERS];
    const struct sonde__image_set *last = NULL;
    uint32_t freed = 0;
    for (int i = 0; i < READERS; i++) {
        CHECK_OK(pthread_create(&readers[i], NULL, read_snapshots, NULL));
    }
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        const struct sonde__image_set *old = sonde__capture_publish(make_set(i));
        uint64_t left = UINT64_MAX;
        CHECK(old == last);
        last = NULL;
        while (left != 0 && old != NULL) {
            left &= ~sonde__capture_stripes_idle();
        }
        if (old != NULL) {
            ((struct sonde__image_set *)(uintptr_t)old)->image_count = UINT32_MAX;
            free((void *)(uintptr_t)old);
            freed++;
        }
        struct sonde__capture_pin pin = sonde__capture_pin();
        last = pin.images;
        sonde__capture_unpin(pin);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
    }
    CHECK_EQ(freed, ROUNDS - 1);
    free((void *)(uintptr_t)sonde__capture_publish(NULL));
}

TEST(a_pin_shows_and_ends)
{
    CHECK_EQ(sonde__capture_stripes_idle(), UINT64_MAX);
    struct sonde__capture_pin a = sonde__capture_pin(), b = sonde__capture_pin();
    CHECK_EQ(sonde__capture_stripes_idle(), ~((uint64_t)1 << a.stripe));
    sonde__capture_unpin(a);
    CHECK_EQ(sonde__capture_stripes_idle(), ~((uint64_t)1 << a.stripe));
    sonde__capture_unpin(b);
    CHECK_EQ(sonde__capture_stripes_idle(), UINT64_MAX);
    sonde__capture_pin();
    sonde__capture_forget_pins();
    CHECK_EQ(sonde__capture_stripes_idle(), UINT64_MAX);
}

TEST(code_of_no_image)
{
    struct sonde__capture_finder finder = {.snapshot = NULL};
    uint64_t start, end;
    CHECK(sonde__capture_find_image(&finder, 16, &start, &end) == NULL);
    CHECK(sonde__capture_find_image(&finder, (uintptr_t)&finder, &start, &end) == NULL);
}

TEST(a_snapshot_older_than_a_dlclose_is_not_believed)
{
    /* an image of the snapshot where the loader has nothing, and one with other records */
    uint64_t free_place = 0x10000, own = (uintptr_t)&sonde__capture_find_image;
    struct sonde__image images[2] = {
        {.path = "gone", .start = free_place, .end = free_place + 4096},
        {.path = "other", .start = own, .end = own + 64}};
    struct sonde__image_range ranges[2] = {{free_place, free_place + 4096, 0}, {own, own + 64, 1}};
    struct sonde__image_set set = {images, ranges, 2, 2, 1};
    struct sonde__capture_finder finder = {.snapshot = &set};
    uint64_t start, end;
    CHECK(sonde__capture_find_image(&finder, free_place + 16, &start, &end) == NULL);
    const struct sonde__image *image = sonde__capture_find_image(&finder, own + 16, &start, &end);
    CHECK(image == &finder.made);
    CHECK(image->cfi.eh_frame_hdr != NULL);
}
