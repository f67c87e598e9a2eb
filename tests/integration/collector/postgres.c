// SPDX-License-Identifier: Apache-2.0
#include "postgres.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { TRIES = 3000 };

/* Does it answer, not only listen? It greets a session with "R" when it has started. */
static bool answers(const struct postgres_server *server)
{
    static const char hello[] = "\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char first = 0;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", server->folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                    write(fd, hello, sizeof hello) == (ssize_t)sizeof hello &&
                    read(fd, &first, 1) == 1 && first == 'R';
    close(fd);
    return is_there;
}

static void run_script(const struct postgres_server *server)
{
    char script[512], log[320];
    snprintf(script, sizeof script, "%s/tests/integration/collector/postgres.sh",
             test_source_dir());
    snprintf(log, sizeof log, "%s.log", server->folder);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(out, 1);
    dup2(out, 2);
    execl("/bin/sh", "sh", script, server->folder, (char *)NULL);
    _exit(127);
}

static char *log_of(const struct postgres_server *server)
{
    char log[320];
    size_t size;
    snprintf(log, sizeof log, "%s.log", server->folder);
    return test_read_file(log, &size);
}

void postgres_again(struct postgres_server *server)
{
    int status = 0;
    server->pid = fork();
    if (server->pid == 0) {
        run_script(server);
    }
    for (unsigned i = 0; i < TRIES && !answers(server); i++) {
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            char *log = log_of(server);
            if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
                SKIP("%s", log);
            }
            FAIL("the server ended: %s", log);
        }
        usleep(20000);
    }
    CHECK(answers(server));
}

struct postgres_server postgres_start(void)
{
    struct postgres_server server = {0};
    snprintf(server.folder, sizeof server.folder, "%s/postgres", test_folder());
    snprintf(server.where, sizeof server.where,
             "host=%s user=postgres dbname=postgres sslmode=disable gssencmode=disable",
             server.folder);
    CHECK_EQ(chmod(test_folder(), 0755), 0);
    CHECK_EQ(mkdir(server.folder, 0755), 0);
    postgres_again(&server);
    return server;
}

/* What the library makes once is no leak of a test. */
static __attribute__((constructor)) void use_the_library(void)
{
    PQfinish(PQconnectdb("host=/nowhere sslmode=disable gssencmode=disable"));
}

char *postgres_ask(const struct postgres_server *server, const char *text)
{
    char *lines = NULL;
    size_t size = 0;
    PGconn *connection = PQconnectdb(server->where);
    PGresult *result = PQexec(connection, text);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        FAIL("%s: %s", text, PQerrorMessage(connection));
    }
    FILE *out = open_memstream(&lines, &size);
    for (int i = 0; i < PQntuples(result); i++) {
        fprintf(out, "%s\n", PQgetvalue(result, i, 0));
    }
    fclose(out);
    PQclear(result);
    PQfinish(connection);
    return lines;
}

void postgres_stop(struct postgres_server *server)
{
    int status;
    kill(server->pid, SIGQUIT);
    CHECK_EQ(waitpid(server->pid, &status, 0), server->pid);
}
