// SPDX-License-Identifier: Apache-2.0
/* Reports without names of the app, which the collector gives them by an uploaded symbol file: that
 * of `sonde` itself.
 *
 * collector.stripped.cpu_us       CPU time of a report until it is stored, named and grouped
 * collector.stripped.per_core_s   such reports in a second of one core
 * collector.stripped.named        share of groups whose function has a name (%) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_collector.h"
#include "harness.h"
#include "host_file.h"

enum { CAUSES = 40, REQUESTS = 8000, ROUNDS = 3 };

/* Where `sonde` is, and its code. False: it cannot be read. */
static bool find_program(char ret_path[4096], struct bench_stripped *ret_program)
{
    struct sonde_error error = {0};
    struct sonde__host_file file;
    struct sonde__elf elf;
    struct sonde__elf_section text;
    ssize_t size = readlink("/proc/self/exe", ret_path, 4000);
    if (size <= 0) {
        return false;
    }
    ret_path[size] = '\0';
    strcpy(strrchr(ret_path, '/'), "/../cli/sonde");
    if (sonde__host_file_map(NULL, ret_path, UINT64_MAX, &file, &error) != SONDE_OK) {
        return false;
    }
    bool is_found = sonde__elf_open(file.data, file.size, &elf, &error) == SONDE_OK &&
                    sonde__elf_build_id(&elf, &ret_program->id) &&
                    sonde__elf_section_by_name(&elf, ".text", &text);
    if (is_found) {
        ret_program->start = text.vaddr;
        ret_program->size = text.size;
    }
    sonde__host_file_unmap(&file);
    return is_found;
}

static bool upload(const struct bench_server *server, const char *sonde)
{
    char url[64];
    int status = 1;
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server->port);
    pid_t child = fork();
    if (child == 0) {
        setenv("SONDE_UPLOAD_KEY", server->admin, 1);
        execl(sonde, sonde, "upload", "-q", "--to", url, "--symbols", sonde, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static double cpu_seconds(const struct bench_server *server)
{
    return bench_cpu_seconds(server->pid, "", false);
}

static bool measure(const struct bench_server *server, const struct bench_load *load)
{
    double least = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct bench_answers answers;
        double before = cpu_seconds(server);
        if (!bench_load(load, &answers) || answers.refused != 0 || !bench_server_wait(server)) {
            return false;
        }
        double us = (cpu_seconds(server) - before) * 1e6 / REQUESTS;
        least = i == 0 || us < least ? us : least;
    }
    bench_print(least, "us", "collector.stripped.cpu_us");
    bench_print(1e6 / least, "reports/s", "collector.stripped.per_core_s");
    return true;
}

static unsigned occurrences(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        count++;
    }
    return count;
}

/* A function without a name is shown as its image and address. */
static void print_named(const struct bench_server *server)
{
    char *groups = bench_server_get(server, "/api/projects/default/groups?limit=100");
    if (groups != NULL) {
        unsigned all = occurrences(groups, "\"title\":");
        unsigned bare = occurrences(groups, "\"title\": \"app+0x");
        bench_print(all != 0 ? 100.0 * (all - bare) / all : 0, "%", "collector.stripped.named");
        bench_print(all, "groups", "collector.stripped.groups");
    }
    free(groups);
}

bool bench_stripped(void)
{
    char sonde[4096];
    struct bench_server server = {0};
    struct bench_stripped program;
    void *bodies[CAUSES];
    size_t sizes[CAUSES];
    if (!find_program(sonde, &program) || !bench_server_start(&server, NULL)) {
        bench_note("collector.stripped: no program, or no server");
        return false;
    }
    bool is_measured = upload(&server, sonde);
    for (unsigned i = 0; i < CAUSES; i++) {
        bodies[i] = bench_report_stripped(i, &program, &sizes[i]);
    }
    const struct bench_load load = {.port = server.port,
                                    .key = server.key,
                                    .clients = 64,
                                    .requests = REQUESTS,
                                    .bodies = bodies,
                                    .sizes = sizes,
                                    .body_count = CAUSES};
    is_measured = is_measured && measure(&server, &load);
    if (is_measured) {
        print_named(&server);
    }
    bench_server_end(&server);
    for (unsigned i = 0; i < CAUSES; i++) {
        free(bodies[i]);
    }
    return is_measured;
}
