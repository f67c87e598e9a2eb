// SPDX-License-Identifier: Apache-2.0
/* The public functions of sonde/audit.h: calls by name, from several threads, in a library loaded
 * later, and the state after the end. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/audit.h>

#include "api.h"
#include "plugins.h"
#include "test.h"

enum { CALLS = 1000, THREADS = 4 };

static struct sonde_depot *depot;
static uint64_t counted[2];
static unsigned stacks;

static int add(void *ctx, const struct sonde_audit_entry *entry)
{
    (void)ctx;
    CHECK(entry->label < 2);
    counted[entry->label] += entry->count;
    stacks++;
    return 0;
}

static void count_all(void)
{
    memset(counted, 0, sizeof counted);
    stacks = 0;
    CHECK_OK(sonde_audit_entries(depot, add, NULL));
}

static void *call_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < CALLS; i++) {
        CHECK_EQ(api_open(i), i + 1);
    }
    return NULL;
}

static int find_blind(void *found, const struct sonde_audit_blind_spot *blind)
{
    bool *is_there = found;
    CHECK(blind->why != NULL);
    *is_there |= blind->function != NULL && strcmp(blind->function, "no_such_function") == 0 &&
                 blind->image == NULL && strstr(blind->why, "no loaded library") != NULL;
    return 0;
}

static int stop_at_once(void *calls, const struct sonde_audit_blind_spot *blind)
{
    (void)blind;
    ++*(unsigned *)calls;
    return 1;
}

static const char *const names[] = {"api_open", "no_such_function"};

TEST(calls_are_counted_by_name)
{
    struct sonde_audit *audit, *second;
    struct sonde_error error;
    pthread_t threads[THREADS];
    bool is_there = false;
    unsigned calls = 0;
    CHECK_OK(sonde_depot_create(0, &depot));
    CHECK_OK(sonde_audit_start(depot, names, 2, &audit, &error));
    CHECK_EQ(sonde_audit_start(depot, names, 2, &second, &error), SONDE_BUSY);
    for (int i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, call_many, NULL));
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_join(threads[i], NULL));
    }
    count_all();
    CHECK_EQ(counted[0], THREADS * CALLS);
    CHECK_EQ(counted[1], 0);
    CHECK_EQ(stacks, 1);
    CHECK_OK(sonde_audit_blind_spots(audit, find_blind, &is_there));
    CHECK(is_there);
    CHECK_OK(sonde_audit_blind_spots(audit, stop_at_once, &calls));
    CHECK_EQ(calls, 1);
    sonde_audit_stop(audit);
    (void)call_many(NULL);
    count_all();
    CHECK_EQ(counted[0], THREADS * CALLS);
    /* and again */
    CHECK_OK(sonde_audit_start(depot, names, 1, &audit, &error));
    (void)call_many(NULL);
    sonde_audit_stop(audit);
    count_all();
    CHECK_EQ(counted[0], (THREADS + 1) * CALLS);
    sonde_depot_destroy(depot);
}

TEST(libraries_that_come_later_are_refreshed)
{
    struct sonde_audit *audit;
    struct sonde_error error;
    CHECK_OK(sonde_depot_create(0, &depot));
    CHECK_OK(sonde_audit_start(depot, names, 1, &audit, &error));
    void *plugin = dlopen(plugin_path(), RTLD_LAZY | RTLD_LOCAL);
    CHECK(plugin != NULL);
    CHECK_OK(sonde_audit_refresh(audit));
    int (*call)(int) = (int (*)(int))dlsym(plugin, "plugin_call");
    CHECK_EQ(call(1), 2);
    CHECK_EQ(call(2), 3);
    count_all();
    CHECK_EQ(counted[0], 3); /* its constructor also calls */
    CHECK_OK(dlclose(plugin));
    CHECK_OK(sonde_audit_refresh(audit));
    CHECK_EQ(api_open(1), 2);
    sonde_audit_stop(audit);
    count_all();
    CHECK_EQ(counted[0], 4);
    sonde_depot_destroy(depot);
}

/* Load a library. The second one must get the addresses of the first, where it has other code.
 * Null: the loader chose another place. */
static void *load(const char *name)
{
    static const void *place;
    void *library = dlopen(library_path(name), RTLD_LAZY | RTLD_LOCAL);
    CHECK(library != NULL);
    const int *build = dlsym(library, "plugin_build");
    CHECK(build != NULL);
    CHECK_EQ(*build, strcmp(name, "plugin") == 0 ? 1 : 2);
    if (*build == 1) {
        place = build;
    }
    if (build != place) {
        (void)dlclose(library);
        return NULL;
    }
    return library;
}

static void replace_library(bool refresh_between)
{
    static const char *const libraries[] = {"plugin", "other"};
    struct sonde_audit *audit;
    struct sonde_error error;
    bool has_place = true;
    CHECK_OK(sonde_depot_create(0, &depot));
    CHECK_OK(sonde_audit_start(depot, names, 1, &audit, &error));
    for (volatile int i = 0; i < 2 && has_place; i++) {
        void *library = load(libraries[i]);
        has_place = library != NULL;
        if (has_place) {
            if (refresh_between || i == 1) {
                CHECK_OK(sonde_audit_refresh(audit));
            }
            int (*call)(int) = (int (*)(int))dlsym(library, "plugin_by_table");
            CHECK_EQ(call(1), 2);         /* of other code at the same addresses */
            CHECK_EQ(api_by_table(2), 3); /* of the same */
            CHECK_OK(dlclose(library));
            if (refresh_between) {
                CHECK_OK(sonde_audit_refresh(audit));
            }
        }
    }
    sonde_audit_stop(audit);
    count_all();
    sonde_depot_destroy(depot);
    if (!has_place) {
        SKIP("the loader has put the second library elsewhere");
    }
    CHECK_EQ(counted[0], 6);
    CHECK_EQ(stacks, refresh_between ? 5 : 4); /* two constructors at one place are one, unseen */
}

TEST(a_replacing_library_has_its_own_stacks)
{
    replace_library(true);
}

TEST(libraries_that_came_and_went_unseen)
{
    replace_library(false);
}

static _Atomic bool must_end;

static void *refresh_for_ever(void *audit)
{
    while (!atomic_load(&must_end)) {
        CHECK_OK(sonde_audit_refresh(audit));
    }
    return NULL;
}

static int count_objects(struct dl_phdr_info *info, size_t size, void *ret_count)
{
    (void)info;
    (void)size;
    ++*(unsigned *)ret_count;
    return 0;
}

/* A sweep holds a lock of the loader. No fork may happen meanwhile: the child would inherit the
 * lock and never get it. */
TEST(a_child_is_forked_between_two_sweeps)
{
    enum { FORKS = 1000, CHILD_S = 20 };
    struct sonde_audit *audit;
    pthread_t thread;
    CHECK_OK(sonde_depot_create(0, &depot));
    CHECK_OK(sonde_audit_start(depot, names, 1, &audit, NULL));
    CHECK_OK(pthread_create(&thread, NULL, refresh_for_ever, audit));
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            unsigned count = 0;
            (void)alarm(CHILD_S); /* ends a child that deadlocks */
            (void)dl_iterate_phdr(count_objects, &count);
            _exit(count > 1 ? 0 : 1);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    atomic_store(&must_end, true);
    CHECK_OK(pthread_join(thread, NULL));
    sonde_audit_stop(audit);
    sonde_depot_destroy(depot);
}

TEST(wrong_use_is_an_error)
{
    static const char *const empty[] = {"api_open", ""};
    static const char *const absent[] = {"api_open", NULL};
    struct sonde_audit *audit;
    struct sonde_error error;
    CHECK_OK(sonde_depot_create(0, &depot));
    CHECK_EQ(sonde_audit_start(NULL, names, 1, &audit, &error), SONDE_USAGE);
    CHECK_EQ(sonde_audit_start(depot, NULL, 1, &audit, &error), SONDE_USAGE);
    CHECK_EQ(sonde_audit_start(depot, names, 0, &audit, &error), SONDE_USAGE);
    CHECK_EQ(sonde_audit_start(depot, names, SONDE_AUDIT_LABELS, &audit, &error), SONDE_USAGE);
    CHECK_EQ(sonde_audit_start(depot, names, 1, NULL, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_audit_start(depot, empty, 2, &audit, &error), SONDE_USAGE);
    CHECK_EQ(sonde_audit_start(depot, absent, 2, &audit, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_audit_refresh(NULL), SONDE_USAGE);
    CHECK_EQ(sonde_audit_blind_spots(NULL, stop_at_once, NULL), SONDE_USAGE);
    sonde_audit_stop(NULL);
    sonde_depot_destroy(depot);
}
