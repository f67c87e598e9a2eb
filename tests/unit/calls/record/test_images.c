// SPDX-License-Identifier: Apache-2.0
/* Which nodes a look closes, against sets of images that are made here. */
#include <stdlib.h>
#include <string.h>

#include "record_images.h"
#include "test.h"

enum { IMAGES = 8, SIZE = 0x1000 };

static struct sonde__image images[IMAGES];
static struct sonde__image_range ranges[IMAGES];
static struct sonde__image_set set;
static struct sonde__record_image noted[IMAGES];
static struct sonde__record_images known;
static struct sonde__depot *depot;

static void begin(void)
{
    void *memory = calloc(1, sonde__depot_size(1000));
    CHECK(memory != NULL);
    depot = sonde__depot_init(memory, 1000);
    known = (struct sonde__record_images){.images = noted, .most = IMAGES};
    set = (struct sonde__image_set){.images = images, .ranges = ranges};
    memset(noted, 0, sizeof noted);
}

/* Builds of the set's images, by place; 0: nothing there. A build below 0 has no build-id. */
static uint32_t look(const int *builds, uint32_t count, uint64_t unloads)
{
    set.image_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (builds[i] != 0) {
            uint64_t start = 0x10000 * ((uint64_t)i + 1);
            images[set.image_count] =
                (struct sonde__image){.start = start, .end = start + SIZE, .bias = start};
            images[set.image_count].build_id.size = builds[i] > 0 ? 20 : 0;
            images[set.image_count].build_id.bytes[19] = builds[i] > 0 ? (uint8_t)builds[i] : 0;
            images[set.image_count].is_permanent = i == 0;
            ranges[set.image_count] =
                (struct sonde__image_range){start, start + SIZE, set.image_count};
            set.image_count++;
        }
    }
    set.range_count = set.image_count;
    set.generation++;
    set.unloads = unloads;
    return sonde__record_look(&known, depot, &set, NULL, NULL);
}

/* The node of code of the image at `place`, called by the first one. */
static uint32_t node_at(uint32_t place)
{
    uint32_t main = sonde__depot_child(depot, sonde__depot_root(SONDE_END_ROOT), 0x10000 + 8);
    return sonde__depot_child(depot, main, 0x10000 * ((uint64_t)place + 1) + 16);
}

#define BUILDS(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)

TEST(only_what_has_gone_is_closed)
{
    begin();
    CHECK_EQ(look(BUILDS(1, 2, 3), 7), 0);
    uint32_t ids[] = {node_at(0), node_at(1), node_at(2), node_at(5)};
    CHECK_EQ(look(BUILDS(1, 2, 0), 8), 0);
    CHECK(sonde__depot_is_open(depot, ids[0]) && sonde__depot_is_open(depot, ids[1]));
    CHECK(!sonde__depot_is_open(depot, ids[2]));
    CHECK(sonde__depot_is_open(depot, ids[3])); /* of no image: code that a runtime has made */
    CHECK(node_at(1) == ids[1] && node_at(2) != ids[2]);
    CHECK_EQ(noted[2].closed_node, sonde__depot_next(depot) - 1);
    CHECK_EQ(known.count, 3);
    sonde__record_forget_closed(&known);
    CHECK_EQ(known.count, 2);
    free(depot);
}

TEST(another_build_in_its_place)
{
    begin();
    (void)look(BUILDS(1, 2, 3), 0);
    uint32_t ids[] = {node_at(1), node_at(2)};
    (void)look(BUILDS(1, 4, 3), 1);
    CHECK(!sonde__depot_is_open(depot, ids[0]));
    CHECK(sonde__depot_is_open(depot, ids[1]));
    CHECK_EQ(known.count, 4);
    free(depot);
}

/* More was unloaded than is missed. */
TEST(libraries_that_may_have_come_and_gone)
{
    begin();
    (void)look(BUILDS(-1, 2, -1), 0);
    uint32_t ids[] = {node_at(0), node_at(1), node_at(2), node_at(3)};
    (void)look(BUILDS(-1, 2, -1, 5), 1);
    CHECK(sonde__depot_is_open(depot, ids[0])); /* never goes */
    CHECK(sonde__depot_is_open(depot, ids[1]));
    CHECK(!sonde__depot_is_open(depot, ids[2])); /* nothing says that it is the same */
    CHECK(!sonde__depot_is_open(depot, ids[3])); /* perhaps of what was there before */
    CHECK_EQ(known.count, 5);
    /* and nothing of that again */
    uint32_t now[] = {node_at(2), node_at(3)};
    (void)look(BUILDS(-1, 2, -1, 5, 6), 1);
    CHECK(sonde__depot_is_open(depot, now[0]) && sonde__depot_is_open(depot, now[1]));
    CHECK_EQ(known.count, 6);
    free(depot);
}

static bool refuse(void *ctx, struct sonde__record_image *image, const struct sonde__image *from)
{
    CHECK_EQ(image->start, from->start);
    ++*(unsigned *)ctx;
    return false;
}

TEST(images_without_room_are_counted)
{
    unsigned refused = 0;
    begin();
    CHECK_EQ(look(BUILDS(1, 2, 3, 4, 5, 6, 7, 8), 0), 0);
    CHECK_EQ(look(BUILDS(1, 2, 3, 4, 5, 6, 7, 9), 1), 1);
    known.count = 7;
    set.generation++;
    CHECK_EQ(sonde__record_look(&known, depot, &set, refuse, &refused), 1);
    CHECK_EQ(refused, 1);
    CHECK_EQ(known.count, 7);
    /* the same set once more is nothing new */
    CHECK_EQ(sonde__record_look(&known, depot, &set, refuse, &refused), 0);
    CHECK_EQ(sonde__record_look(&known, depot, NULL, refuse, &refused), 0);
    CHECK_EQ(refused, 1);
    free(depot);
}
