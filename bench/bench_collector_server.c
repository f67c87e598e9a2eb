// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_collector.h"

enum { ANSWER_MAX = 8 << 20 };

long bench_value_after(const char *path, const char *word)
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

double bench_cpu_seconds(pid_t pid, const char *name, bool is_other)
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

static void run_server(const char *program, const char *folder, const char *const options[])
{
    const char *argv[16] = {program, "serve", "--data", folder, "--listen", "127.0.0.1:0"};
    for (unsigned i = 6; options != NULL && *options != NULL && i < 15; i++) {
        argv[i] = *options++;
    }
    execv(program, (char *const *)argv);
    _exit(127);
}

bool bench_server_start(struct bench_server *server, const char *const options[])
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
        run_server(program, server->folder, options);
    }
    for (unsigned i = 0; i < 500 && server->port == 0; i++) {
        usleep(10000);
        FILE *file = fopen(output, "re");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            const char *port = strstr(line, "on port ");
            (void)sscanf(line, "ingest key %60s", server->key);
            (void)sscanf(line, "admin key %60s", server->admin);
            server->port = port != NULL ? atoi(port + 8) : server->port;
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    return server->port != 0;
}

void bench_server_settle(const struct bench_server *server)
{
    double before = -1, now;
    while ((now = bench_cpu_seconds(server->pid, "worker", false)) != before) {
        before = now;
        usleep(200000);
    }
}

char *bench_server_get(const struct bench_server *server, const char *path)
{
    char head[512];
    size_t used = 0;
    char *answer = malloc(ANSWER_MAX);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)server->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int size = snprintf(head, sizeof head,
                        "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                        "Authorization: Bearer %s\r\n\r\n",
                        path, server->admin);
    if (answer != NULL && connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
        write(fd, head, (size_t)size) == size) {
        ssize_t got;
        while ((got = read(fd, answer + used, ANSWER_MAX - 1 - used)) > 0) {
            used += (size_t)got;
        }
        answer[used] = '\0';
    }
    close(fd);
    if (used == 0) {
        free(answer);
        return NULL;
    }
    return answer;
}

bool bench_server_wait(const struct bench_server *server)
{
    for (bool is_behind = true; is_behind;) {
        char *metrics = bench_server_get(server, "/metrics");
        if (metrics == NULL) {
            return false;
        }
        is_behind = strstr(metrics, "\nsonde_collector_journal_behind_bytes 0\n") == NULL;
        free(metrics);
        usleep(is_behind ? 20000 : 0);
    }
    return true;
}

void bench_server_end(const struct bench_server *server)
{
    char command[400];
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
    snprintf(command, sizeof command, "rm -rf '%s' '%s.out'", server->folder, server->folder);
    (void)!system(command);
}
