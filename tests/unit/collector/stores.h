// SPDX-License-Identifier: Apache-2.0
/* Tests of the store that hold for each kind of database: TEST_OF_STORES(name) is a test with
 * SQLite, and a part of the test stores_on_postgres (test_postgres.c), which runs all of them with
 * one server. */
#ifndef SONDE_TEST_STORES_H
#define SONDE_TEST_STORES_H

#include "store.h"
#include "test.h"

struct stores_case {
    const char *name;
    void (*run)(void);
    const struct stores_case *next;
};
extern const struct stores_case *stores_cases;
void stores_add(struct stores_case *one);

/* The store of this test; again the same database when it was closed. */
struct store *stores_open(void);
struct store *stores_open_in(const char *folder, const char *database);
/* The PostgreSQL database, and the number of the test's schema in it; null: SQLite. */
extern const char *stores_where;
extern unsigned stores_number;

/* What a report without a name of its own is about. */
static inline struct digest stores_digest(struct digest_event *events, uint32_t count)
{
    static char text[] = "x";
    return (struct digest){.kind = 2,
                           .program = text,
                           .build = text,
                           .device = text,
                           .os = text,
                           .arch = text,
                           .events = events,
                           .event_count = count};
}

#define TEST_OF_STORES(name)                                                                       \
    static void name##_in_a_store(void);                                                           \
    static __attribute__((constructor)) void name##_is_added(void)                                 \
    {                                                                                              \
        static struct stores_case one = {#name, name##_in_a_store, NULL};                          \
        stores_add(&one);                                                                          \
    }                                                                                              \
    TEST(name)                                                                                     \
    {                                                                                              \
        name##_in_a_store();                                                                       \
    }                                                                                              \
    static void name##_in_a_store(void)

#endif
