// SPDX-License-Identifier: Apache-2.0
/* A day of a test fleet, sent to a collector on loopback as fast as it takes it: 100 builds on 100
 * machines, 1000 stacks of recorded calls each, all with names. Client and server share the
 * machine.
 *
 *     bench_fleet [BUILDS DEVICES STACKS [DATABASE]]
 *
 * fleet.seconds          from the first request until all is stored and grouped
 * fleet.post.seconds     until the last report is acknowledged
 * fleet.cpu_s            CPU time of the collector
 * fleet.worker.cpu_s     of the thread that stores and groups
 * fleet.events_s         events (groups of a report) stored in a second
 * fleet.report_bytes     of a report, as it is sent (zstd)
 * fleet.database_bytes   of SQLite's files
 * fleet.file_bytes       of the report files
 * fleet.groups           must be fleet.groups.known
 * fleet.rss_anon_kb      RssAnon of the collector after it */
#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "bench_collector.h"
#include "fleet.h"
#include "harness.h"

enum { CLIENTS = 8 };

struct sending {
    struct fleet fleet;
    void *packed;
    uint64_t bytes;
};

/* Builds follow one another; the machines of one send in turn. */
static const void *next_body(void *ctx, uint64_t n, size_t *ret_size)
{
    struct sending *s = ctx;
    size_t size;
    void *report = fleet_report(&s->fleet, (unsigned)(n / s->fleet.devices),
                                (unsigned)(n % s->fleet.devices), &size);
    size_t room = ZSTD_compressBound(size);
    free(s->packed);
    s->packed = malloc(room);
    *ret_size = ZSTD_compress(s->packed, room, report, size, 3);
    s->bytes += *ret_size;
    free(report);
    return s->packed;
}

/* Groups that have each report's calls and each machine. */
static unsigned count_groups(const struct bench_server *server, const struct fleet *fleet)
{
    unsigned count = 0;
    char *answer = bench_server_get(server, "/api/projects/default/groups?limit=1000");
    for (const char *at = answer; at != NULL && (at = strstr(at, "\"number\":")) != NULL; at++) {
        const char *calls = strstr(at, "\"count\": "), *devices = strstr(at, "\"devices\": ");
        count += calls != NULL && devices != NULL &&
                 strtoul(calls + 9, NULL, 10) ==
                     (unsigned long)fleet->builds * fleet->devices * fleet_calls() &&
                 strtoul(devices + 11, NULL, 10) == fleet->devices;
    }
    free(answer);
    return count;
}

static uint64_t database_bytes, file_bytes;

static int add_file(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)place;
    if (kind == FTW_F && strstr(path, "/blobs/") != NULL) {
        file_bytes += (uint64_t)about->st_size;
    } else if (kind == FTW_F && strstr(path, "/collector.db") != NULL) {
        database_bytes += (uint64_t)about->st_size;
    }
    return 0;
}

static double seconds_since(uint64_t begin_ns)
{
    return (double)(bench_now_ns() - begin_ns) / 1e9;
}

static bool measure(const struct bench_server *server, struct sending *s)
{
    struct bench_answers answers;
    char path[64];
    const struct bench_load load = {.port = server->port,
                                    .key = server->key,
                                    .clients = CLIENTS,
                                    .requests = (uint64_t)s->fleet.builds * s->fleet.devices,
                                    .body = next_body,
                                    .ctx = s,
                                    .coding = "zstd"};
    uint64_t begin_ns = bench_now_ns();
    if (!bench_load(&load, &answers) || answers.refused != 0 || !bench_server_wait(server)) {
        bench_note("%llu reports were refused", (unsigned long long)answers.refused);
        return false;
    }
    double seconds = seconds_since(begin_ns);
    double worker = bench_cpu_seconds(server->pid, "worker", false);
    unsigned groups = count_groups(server, &s->fleet), known = fleet_groups(&s->fleet);
    bench_print(seconds, "s", "fleet.seconds");
    bench_print(answers.seconds, "s", "fleet.post.seconds");
    bench_print(worker + bench_cpu_seconds(server->pid, "worker", true), "s", "fleet.cpu_s");
    bench_print(worker, "s", "fleet.worker.cpu_s");
    bench_print((double)load.requests * known / seconds, "events/s", "fleet.events_s");
    bench_print((double)s->bytes / (double)load.requests, "bytes", "fleet.report_bytes");
    nftw(server->folder, add_file, 16, FTW_PHYS);
    bench_print((double)database_bytes, "bytes", "fleet.database_bytes");
    bench_print((double)file_bytes, "bytes", "fleet.file_bytes");
    bench_print(groups, "groups", "fleet.groups");
    bench_print(known, "groups", "fleet.groups.known");
    snprintf(path, sizeof path, "/proc/%d/status", (int)server->pid);
    bench_print((double)bench_value_after(path, "RssAnon:"), "kB", "fleet.rss_anon_kb");
    return groups == known;
}

int main(int argc, char **argv)
{
    struct bench_server server = {0};
    struct sending s = {.fleet = {.builds = 100, .devices = 100, .stacks = 1000}};
    s.fleet.time_unix_ns = (uint64_t)(time(NULL) - 86400) * 1000000000u;
    if (argc >= 4) {
        s.fleet.builds = (unsigned)atoi(argv[1]);
        s.fleet.devices = (unsigned)atoi(argv[2]);
        s.fleet.stacks = (unsigned)atoi(argv[3]);
    }
    /* every report is kept: its file counts */
    const char *const options[] = {"--keep-per-group", "0", argc == 5 ? "--database" : NULL,
                                   argv[argc - 1], NULL};
    if (!bench_server_start(&server, options)) {
        bench_note("the collector did not start");
        return 1;
    }
    bool is_measured = measure(&server, &s);
    bench_server_end(&server);
    free(s.packed);
    return is_measured ? 0 : 1;
}
