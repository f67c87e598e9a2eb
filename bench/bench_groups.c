// SPDX-License-Identifier: Apache-2.0
/* Questions to a store with many events: the list of groups, and the newest reports. The store is
 * loaded by its own writer, without HTTP, journal and files of reports: each event is a report, of
 * one of a five-hundredth as many groups.
 *
 *     bench_groups [EVENTS [DATABASE]]      10,000,000 events; DATABASE: for PostgreSQL
 *
 * groups.events, groups.groups   what was loaded
 * groups.load.events_s           events stored in a second
 * groups.list.ms                 the 50 groups with the most impact
 * groups.list.kind.ms            the same of one kind of four
 * groups.newest.ms               the newest 1000 reports */
#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "store.h"

enum { PER_GROUP = 500, PER_COMMIT = 5000, ROUNDS = 9, HOUR_EVENTS = 50000 };

static struct store *store;

/* A number that looks random, the same in each run. */
static uint64_t mixed(uint64_t n)
{
    n = (n ^ n >> 31) * 0x9e3779b97f4a7c15u;
    n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9u;
    return n ^ n >> 32;
}

/* Event number n: few groups have many of them. */
static enum store_status add_event(uint64_t n, uint64_t groups)
{
    char device[24], build[24];
    uint64_t random = mixed(n + 1), one = random % groups, other = random / groups % groups;
    uint64_t number = one < other ? one : other;
    struct digest_event event = {.kind = (uint32_t)(number % 4 + 1), .count = 1};
    event.total_ns = event.longest_ns = 100000000 + random % 1000000000;
    snprintf(event.group, sizeof event.group, "group%llu", (unsigned long long)number);
    snprintf(event.title, sizeof event.title, "function_%llu, blocked in poll",
             (unsigned long long)number);
    snprintf(event.summary, sizeof event.summary, "main thread, %llu ms",
             (unsigned long long)(event.total_ns / 1000000));
    snprintf(device, sizeof device, "device%llu", (unsigned long long)(random % 1000));
    snprintf(build, sizeof build, "1.%llu", (unsigned long long)(n / (20 * HOUR_EVENTS)));
    const struct digest digest = {.kind = 2,
                                  .program = (char *)(uintptr_t) "/usr/bin/editor",
                                  .build = build,
                                  .device = device,
                                  .os = (char *)(uintptr_t) "Debian 12",
                                  .arch = (char *)(uintptr_t) "x86_64",
                                  .events = &event,
                                  .event_count = 1};
    struct store_report report = {.project = 1,
                                  .received_ns = (n / HOUR_EVENTS + 1) * 3600000000000u,
                                  .size_bytes = 4096,
                                  .digest = &digest};
    memcpy(report.id.bytes, &(uint64_t[2]){random, n}, sizeof report.id.bytes);
    memcpy(report.blob.bytes, &(uint64_t[2]){n, random}, 16);
    return store_add_report(store, &report);
}

static bool load(uint64_t events)
{
    enum store_status status = STORE_OK;
    for (uint64_t n = 0; n < events && status == STORE_OK;) {
        status = store_begin(store);
        for (uint64_t end = n + PER_COMMIT; status == STORE_OK && n < end && n < events; n++) {
            status = add_event(n, events / PER_GROUP + 1);
        }
        if (status == STORE_OK) {
            status = store_commit(store, (struct journal_place){1, n});
        }
    }
    return status == STORE_OK;
}

static void count_group(void *ctx, const struct store_group *group)
{
    (void)group;
    ++*(unsigned *)ctx;
}

static void count_row(void *ctx, const struct store_row *row)
{
    (void)row;
    ++*(unsigned *)ctx;
}

static unsigned ask_groups(uint32_t kind, uint32_t limit)
{
    unsigned count = 0;
    const struct store_filter filter = {.kind = kind, .order = STORE_BY_IMPACT, .limit = limit};
    return store_groups(store, 1, &filter, count_group, &count) == STORE_OK ? count : 0;
}

static unsigned ask_list(void)
{
    return ask_groups(0, 50);
}

static unsigned ask_list_of_kind(void)
{
    return ask_groups(1, 50);
}

static unsigned ask_newest(void)
{
    unsigned count = 0;
    return store_reports(store, 1, 0, false, 1000, count_row, &count) == STORE_OK ? count : 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of some rounds. */
static bool measure(const char *key, unsigned (*ask)(void), unsigned expected)
{
    double times[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t begin_ns = bench_now_ns();
        unsigned count = ask();
        times[i] = (double)(bench_now_ns() - begin_ns) / 1e6;
        if (count < expected) {
            bench_note("%s: %u rows: %s", key, count, store_error());
            return false;
        }
    }
    qsort(times, ROUNDS, sizeof *times, compare);
    bench_print(times[ROUNDS / 2], "ms", "%s", key);
    return true;
}

static int remove_one(const char *path, const struct stat *file, int kind, struct FTW *at)
{
    (void)file, (void)kind, (void)at;
    return remove(path);
}

static bool run(const char *folder, const char *database, uint64_t events)
{
    uint32_t project;
    struct sonde_error error = {0};
    if (store_open(folder, database, &store, &error) != STORE_OK) {
        bench_note("%s", error.what);
        return false;
    }
    store_limit_steps(store, 0);
    store_use_lane(1);
    uint64_t begin_ns = bench_now_ns();
    enum store_status status = store_add_project(store, "bench", 1, &project);
    bool is_ok = (status == STORE_OK || status == STORE_KNOWN) && load(events);
    double seconds = (double)(bench_now_ns() - begin_ns) / 1e9;
    if (is_ok) {
        bench_print((double)events, "events", "groups.events");
        bench_print(ask_groups(0, UINT32_MAX), "groups", "groups.groups");
        bench_print((double)events / seconds, "events/s", "groups.load.events_s");
    } else {
        bench_note("%s", store_error());
    }
    is_ok = is_ok && measure("groups.list.ms", ask_list, 1) &&
            measure("groups.list.kind.ms", ask_list_of_kind, 1) &&
            measure("groups.newest.ms", ask_newest, 1);
    store_close(store);
    return is_ok;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/sonde-bench-XXXXXX";
    uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    if (events == 0 || mkdtemp(folder) == NULL) {
        bench_note("usage: bench_groups [EVENTS [DATABASE]]");
        return 2;
    }
    bool is_ok = run(folder, argc > 2 ? argv[2] : NULL, events);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return is_ok ? 0 : 1;
}
