// SPDX-License-Identifier: Apache-2.0
/* The collector under load on loopback. Rounds alternate with libmicrohttpd alone. The processors'
 * split is the kernel's: client and server share the machine, so figures are CPU time where they
 * can be. Other collectors of such reports are in neither npm nor Debian: their published figures,
 * of other machines, are noted.
 *
 * collector.post.cpu_us          CPU time of a POST of 4 KiB up to its 2xx, without the worker's
 * collector.post.echo.cpu_us     of libmicrohttpd alone, which reads the body and answers
 * collector.whole.cpu_us         CPU time of a report until it is stored and grouped
 * collector.whole.per_core_s     reports in a second of one core
 * collector.half.p99_ms          from request to 2xx at 1000 a second, 64 clients
 * collector.rss_anon_kb          RssAnon after the load */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_collector.h"
#include "harness.h"

enum { ROUNDS = 5, CAUSES = 40, CLIENTS = 64 };
#define REQUESTS 8000u

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

/* Returns false if a load failed. */
static bool measure(const struct bench_server *server, pid_t echo, struct bench_load load,
                    int echo_port)
{
    double post[ROUNDS], bare[ROUNDS], whole[ROUNDS];
    struct bench_answers answers;
    char path[64];
    for (unsigned i = 0; i < ROUNDS; i++) {
        double http = bench_cpu_seconds(server->pid, "worker", true);
        double worker = bench_cpu_seconds(server->pid, "worker", false);
        load.port = server->port;
        if (!bench_load(&load, &answers) || answers.refused != 0) {
            return false;
        }
        bench_server_settle(server);
        post[i] = (bench_cpu_seconds(server->pid, "worker", true) - http) * 1e6 / REQUESTS;
        whole[i] =
            post[i] + (bench_cpu_seconds(server->pid, "worker", false) - worker) * 1e6 / REQUESTS;
        double before = bench_cpu_seconds(echo, "worker", true);
        load.port = echo_port;
        if (!bench_load(&load, &answers)) {
            return false;
        }
        bare[i] = (bench_cpu_seconds(echo, "worker", true) - before) * 1e6 / REQUESTS;
    }
    bench_print(median(post), "us", "collector.post.cpu_us");
    bench_print(median(bare), "us", "collector.post.echo.cpu_us");
    bench_print(median(whole), "us", "collector.whole.cpu_us");
    bench_print(1e6 / median(whole), "reports/s", "collector.whole.per_core_s");
    load.port = server->port;
    load.rate = 1000;
    load.requests = 4000;
    if (!bench_load(&load, &answers) || answers.refused != 0) {
        return false;
    }
    bench_print(answers.p99_ms, "ms", "collector.half.p99_ms");
    snprintf(path, sizeof path, "/proc/%d/status", (int)server->pid);
    bench_print((double)bench_value_after(path, "RssAnon:"), "kB", "collector.rss_anon_kb");
    return true;
}

int main(void)
{
    struct bench_server server = {0};
    void *bodies[CAUSES];
    size_t sizes[CAUSES];
    int echo_port = 0;
    for (unsigned i = 0; i < CAUSES; i++) {
        bodies[i] = bench_report(i, 0, &sizes[i]);
    }
    bench_note("reports of %zu bytes", sizes[0]);
    pid_t echo = bench_echo(1, &echo_port);
    if (echo < 0 || !bench_server_start(&server, NULL)) {
        bench_note("the servers did not start");
        return 1;
    }
    const struct bench_load load = {.key = server.key,
                                    .clients = CLIENTS,
                                    .requests = REQUESTS,
                                    .bodies = bodies,
                                    .sizes = sizes,
                                    .body_count = CAUSES};
    bench_note("peers tell of: Bugsink 30 events/s of 50 KB on a small server, Telebugs about 50"
               " reports/s end to end on 2 cores, GlitchTip 256 MB of memory at least, Sentry"
               " 16 GB and 54 containers");
    bool is_measured = measure(&server, echo, load, echo_port);
    bench_server_end(&server);
    kill(echo, SIGKILL);
    for (unsigned i = 0; i < CAUSES; i++) {
        free(bodies[i]);
    }
    return bench_stripped() && is_measured ? 0 : 1;
}
