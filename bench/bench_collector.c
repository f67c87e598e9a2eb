// SPDX-License-Identifier: Apache-2.0
/* The collector under load on loopback. Rounds alternate with libmicrohttpd alone. The processors'
 * split is the kernel's: client and server share the machine, so figures are CPU time where they
 * can be.
 *
 * collector.post.cpu_us           CPU time of a POST of 4 KiB up to its 2xx: all threads but the
 * worker collector.post.echo.cpu_us      of libmicrohttpd alone, which reads the body and answers
 * collector.whole.cpu_us          CPU time of a report until it is stored and grouped
 * collector.whole.per_core_s      reports in a second of one core
 * collector.half.p99_ms           from request to 2xx at 1000 a second, 64 clients
 * collector.rss_anon_kb           RssAnon after the load */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_collector.h"
#include "harness.h"

enum { ROUNDS = 5, CAUSES = 40, CLIENTS = 64 };
#define REQUESTS 8000u

struct server {
    pid_t pid;
    int port;
    char key[64], folder[128];
};

/* The value after a word in a file, or 0. */
static long value_after(const char *path, const char *word)
{
    char line[512];
    long value = 0;
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, word, strlen(word)) == 0) {
            value = strtol(line + strlen(word), NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return value;
}

/* CPU seconds of the threads of a process: of the one with a name, or of all others. */
static double cpu_seconds(pid_t pid, const char *name, bool is_other)
{
    char path[320], line[512], comm[64];
    double sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/comm", (int)pid, task->d_name);
        FILE *file = fopen(path, "re");
        if (task->d_name[0] == '.' || file == NULL) {
            continue;
        }
        bool is_it =
            fgets(comm, sizeof comm, file) != NULL && strncmp(comm, name, strlen(name)) == 0;
        fclose(file);
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, task->d_name);
        file = fopen(path, "re");
        if (is_it != is_other && file != NULL && fgets(line, sizeof line, file) != NULL) {
            sum += strtod(line, NULL) / 1e9;
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return sum;
}

static bool start(struct server *server)
{
    char program[4096], output[160], line[256];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 64);
    if (size <= 0) {
        return false;
    }
    program[size] = '\0';
    strcpy(strrchr(program, '/'), "/../collector/sonde-collector");
    snprintf(server->folder, sizeof server->folder, "bench-collector.%d", (int)getpid());
    snprintf(output, sizeof output, "%s.out", server->folder);
    server->pid = fork();
    if (server->pid == 0) {
        if (freopen(output, "w", stdout) == NULL || dup2(1, 2) < 0) {
            _exit(1);
        }
        execl(program, program, "serve", "--data", server->folder, "--listen", "127.0.0.1:0",
              (char *)NULL);
        _exit(127);
    }
    for (unsigned i = 0; i < 500 && server->port == 0; i++) {
        usleep(10000);
        FILE *file = fopen(output, "re");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            const char *port = strstr(line, "on port ");
            (void)sscanf(line, "ingest key %60s", server->key);
            server->port = port != NULL ? atoi(port + 8) : server->port;
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    return server->port != 0;
}

/* Wait until the worker has nothing to do. */
static void settle(const struct server *server)
{
    double before = -1, now;
    while ((now = cpu_seconds(server->pid, "worker", false)) != before) {
        before = now;
        usleep(200000);
    }
}

static void end(const struct server *server)
{
    char command[400];
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
    snprintf(command, sizeof command, "rm -rf '%s' '%s.out'", server->folder, server->folder);
    (void)!system(command);
}

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
static bool measure(const struct server *server, pid_t echo, struct bench_load load, int echo_port)
{
    double post[ROUNDS], bare[ROUNDS], whole[ROUNDS];
    struct bench_answers answers;
    char path[64];
    for (unsigned i = 0; i < ROUNDS; i++) {
        double http = cpu_seconds(server->pid, "worker", true);
        double worker = cpu_seconds(server->pid, "worker", false);
        load.port = server->port;
        if (!bench_load(&load, &answers) || answers.refused != 0) {
            return false;
        }
        settle(server);
        post[i] = (cpu_seconds(server->pid, "worker", true) - http) * 1e6 / REQUESTS;
        whole[i] = post[i] + (cpu_seconds(server->pid, "worker", false) - worker) * 1e6 / REQUESTS;
        double before = cpu_seconds(echo, "worker", true);
        load.port = echo_port;
        if (!bench_load(&load, &answers)) {
            return false;
        }
        bare[i] = (cpu_seconds(echo, "worker", true) - before) * 1e6 / REQUESTS;
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
    bench_print((double)value_after(path, "RssAnon:"), "kB", "collector.rss_anon_kb");
    return true;
}

int main(void)
{
    struct server server = {0};
    void *bodies[CAUSES];
    size_t sizes[CAUSES];
    int echo_port = 0;
    for (unsigned i = 0; i < CAUSES; i++) {
        bodies[i] = bench_report(i, &sizes[i]);
    }
    bench_note("reports of %zu bytes", sizes[0]);
    pid_t echo = bench_echo(1, &echo_port);
    if (echo < 0 || !start(&server)) {
        bench_note("the servers did not start");
        return 1;
    }
    const struct bench_load load = {.key = server.key,
                                    .clients = CLIENTS,
                                    .requests = REQUESTS,
                                    .bodies = bodies,
                                    .sizes = sizes,
                                    .body_count = CAUSES};
    bool is_measured = measure(&server, echo, load, echo_port);
    end(&server);
    kill(echo, SIGKILL);
    for (unsigned i = 0; i < CAUSES; i++) {
        free(bodies[i]);
    }
    return is_measured ? 0 : 1;
}
