// SPDX-License-Identifier: Apache-2.0
/* The table of kept values: exact counts, by threads at once, bounded, in damaged memory. */
#include "record_kept.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static struct sonde__kept kept;

static bool add(uint32_t number, uint32_t argument, const char *value)
{
    return sonde__kept_add(&kept, number, argument, (const uint8_t *)value, strlen(value));
}

/* Calls with a value, or, with null, of all values of a number. */
static uint64_t calls(uint32_t number, uint32_t argument, const char *value)
{
    struct sonde__kept_value read;
    uint64_t count = 0;
    for (uint32_t i = 0; i < SONDE__KEPT_SLOTS; i++) {
        if (sonde__kept_read(&kept, i, &read) && read.number == number &&
            read.argument == argument &&
            (value == NULL ||
             (read.size == strlen(value) && memcmp(read.value, value, read.size) == 0))) {
            count += read.count;
        }
    }
    return count;
}

TEST(values_are_counted_by_number_and_argument)
{
    CHECK(add(7, 0, "a") && add(7, 0, "a") && add(7, 1, "a") && add(8, 0, "a") && add(7, 0, "b"));
    CHECK_EQ(calls(7, 0, "a"), 2);
    CHECK_EQ(calls(7, 1, "a"), 1);
    CHECK_EQ(calls(8, 0, "a"), 1);
    CHECK_EQ(calls(7, 0, "b"), 1);
    CHECK_EQ(calls(7, 0, NULL), 3);
}

TEST(different_values_are_bounded_and_known_ones_go_on)
{
    char value[16] = "";
    for (unsigned i = 0; i < 100; i++) {
        snprintf(value, sizeof value, "v%u", i);
        CHECK_EQ(add(1, 0, value), i < SONDE__KEPT_EACH);
    }
    CHECK(add(1, 0, "v3"));
    CHECK(!add(1, 0, "v50"));
    CHECK(add(1, 1, "v50") && add(2, 0, "v50")); /* each pair has its own room */
    CHECK_EQ(calls(1, 0, "v3"), 2);
    CHECK_EQ(calls(1, 0, NULL), SONDE__KEPT_EACH + 1);
}

TEST(a_full_table_keeps_what_it_has)
{
    char value[SONDE__KEPT_VALUE] = "";
    uint64_t added = 0;
    memset(value, 'x', sizeof value);
    for (uint32_t number = 0; number < 2 * SONDE__KEPT_SLOTS; number++) {
        memcpy(value, &number, sizeof number);
        added += sonde__kept_add(&kept, number, 0, (const uint8_t *)value, sizeof value);
    }
    CHECK(added > 1000 && added < SONDE__KEPT_SLOTS);
    CHECK(atomic_load(&kept.used) <= SONDE__KEPT_BYTES);
    uint64_t read = 0;
    for (uint32_t i = 0; i < SONDE__KEPT_SLOTS; i++) {
        struct sonde__kept_value one;
        read += sonde__kept_read(&kept, i, &one) ? one.count : 0;
    }
    CHECK_EQ(read, added);
}

/* A value that found no room takes none of the places of its argument. */
TEST(values_without_room_take_no_place)
{
    char value[SONDE__KEPT_VALUE] = "";
    memset(value, 'x', sizeof value);
    for (uint32_t number = 0; atomic_load(&kept.used) <= SONDE__KEPT_BYTES - (uint32_t)sizeof value;
         number++) {
        memcpy(value, &number, sizeof number);
        (void)sonde__kept_add(&kept, number, 0, (const uint8_t *)value, sizeof value);
    }
    CHECK(atomic_load(&kept.used) < SONDE__KEPT_BYTES - 4);
    for (uint32_t i = 0; i < 2 * SONDE__KEPT_EACH; i++) {
        memcpy(value, &i, sizeof i);
        CHECK(!sonde__kept_add(&kept, UINT32_MAX - 1, 0, (const uint8_t *)value, sizeof value));
    }
    CHECK(add(UINT32_MAX - 1, 0, "yes"));
}

enum { THREADS = 8, ROUNDS = 20000, VALUES = 40 };
static _Atomic uint64_t kept_calls;

static void *add_many(void *seed)
{
    char value[16] = "";
    uint64_t state = (uint64_t)(uintptr_t)seed * 2654435761u + 1, added = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        snprintf(value, sizeof value, "v%u", (unsigned)(state >> 33) % VALUES);
        added += add((uint32_t)(state >> 60) % 4, 0, value);
    }
    atomic_fetch_add(&kept_calls, added);
    return NULL;
}

TEST(threads_at_once_lose_nothing)
{
    pthread_t threads[THREADS];
    atomic_store(&kept_calls, 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, add_many, (void *)i), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    uint64_t read = 0;
    unsigned values[4] = {0};
    for (uint32_t i = 0; i < SONDE__KEPT_SLOTS; i++) {
        struct sonde__kept_value one;
        if (sonde__kept_read(&kept, i, &one)) {
            read += one.count;
            values[one.number]++;
        }
    }
    CHECK_EQ(read, atomic_load(&kept_calls));
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(values[i], SONDE__KEPT_EACH);
    }
}

/* Offsets and sizes there may be any numbers. */
TEST(damaged_memory_is_not_left)
{
    uint64_t state = 1;
    for (unsigned round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < SONDE__KEPT_SLOTS; i++) {
            uint32_t words[sizeof kept.slots[0] / sizeof(uint32_t)];
            for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                words[k] = (state >> 62) != 0 ? (uint32_t)(state >> 32) : 0;
            }
            memcpy(&kept.slots[i], words, sizeof words);
        }
        atomic_store(&kept.used, (uint32_t)state);
        for (uint32_t i = 0; i < 1000; i++) {
            char value[16] = "";
            snprintf(value, sizeof value, "v%u", i);
            (void)add(i % 7, 0, value);
        }
        (void)calls(3, 0, NULL);
    }
}
