// SPDX-License-Identifier: Apache-2.0
/* What a report of a fleet costs to take and to keep (docs/scale.md): reports of one stall, each of
 * another machine and time, sent packed to a collector on loopback.
 *
 *     bench_scale [REPORTS [DATABASE]]
 *
 * scale.post.cpu_us      CPU time of the collector's threads but the worker, for a report
 * scale.worker.cpu_us    of the worker: read, group, store
 * scale.report_bytes     as it is sent (zstd)
 * scale.file_bytes       of its file; 0 if the database has the files
 * scale.file_blocks      bytes that the file takes on the disk
 * scale.database_bytes   of SQLite's files; 0 for another database
 * scale.causes           groups that the reports belong to */
#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "bench_collector.h"
#include "harness.h"

enum { CLIENTS = 64, CAUSES = 1000, REPORTS = 20000 };

struct sending {
    void *packed;
    uint64_t bytes;
};

static const void *next_body(void *ctx, uint64_t n, size_t *ret_size)
{
    struct sending *s = ctx;
    size_t size;
    void *report = bench_report((unsigned)(n % CAUSES), (unsigned)n, &size);
    size_t room = ZSTD_compressBound(size);
    free(s->packed);
    s->packed = malloc(room);
    *ret_size = ZSTD_compress(s->packed, room, report, size, 3);
    s->bytes += *ret_size;
    free(report);
    return s->packed;
}

static uint64_t database_bytes, file_bytes, file_blocks;

static int add_file(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)place;
    if (kind == FTW_F && strstr(path, "/blobs/") != NULL) {
        file_bytes += (uint64_t)about->st_size;
        file_blocks += (uint64_t)about->st_blocks * 512;
    } else if (kind == FTW_F && strstr(path, "/collector.db") != NULL) {
        database_bytes += (uint64_t)about->st_size;
    }
    return 0;
}

static bool measure(const struct bench_server *server, unsigned reports)
{
    struct sending s = {0};
    struct bench_answers answers;
    const struct bench_load load = {.port = server->port,
                                    .key = server->key,
                                    .clients = CLIENTS,
                                    .requests = reports,
                                    .body = next_body,
                                    .ctx = &s,
                                    .coding = "zstd"};
    double other = bench_cpu_seconds(server->pid, "worker", true);
    bool is_sent = bench_load(&load, &answers) && answers.refused == 0 && bench_server_wait(server);
    free(s.packed);
    if (!is_sent) {
        bench_note("%llu reports were refused", (unsigned long long)answers.refused);
        return false;
    }
    other = bench_cpu_seconds(server->pid, "worker", true) - other;
    bench_print(other * 1e6 / reports, "us", "scale.post.cpu_us");
    bench_print(bench_cpu_seconds(server->pid, "worker", false) * 1e6 / reports, "us",
                "scale.worker.cpu_us");
    nftw(server->folder, add_file, 16, FTW_PHYS);
    bench_print((double)s.bytes / reports, "bytes", "scale.report_bytes");
    bench_print((double)file_bytes / reports, "bytes", "scale.file_bytes");
    bench_print((double)file_blocks / reports, "bytes", "scale.file_blocks");
    bench_print((double)database_bytes / reports, "bytes", "scale.database_bytes");
    bench_print(CAUSES, "groups", "scale.causes");
    return true;
}

int main(int argc, char **argv)
{
    struct bench_server server = {0};
    unsigned reports = argc >= 2 ? (unsigned)atoi(argv[1]) : REPORTS;
    /* every report is kept: its file counts */
    const char *const options[] = {"--keep-per-group", "0", argc == 3 ? "--database" : NULL,
                                   argv[argc - 1], NULL};
    if (!bench_server_start(&server, options)) {
        bench_note("the collector did not start");
        return 1;
    }
    bool is_measured = measure(&server, reports);
    bench_server_end(&server);
    return is_measured ? 0 : 1;
}
