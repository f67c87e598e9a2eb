// SPDX-License-Identifier: Apache-2.0
/* sonde-collector serve: the server. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "answers.h"
#include "cmd.h"
#include "collector.h"
#include "completer.h"
#include "debuginfod.h"
#include "fetcher.h"
#include "keeper.h"
#include "limit.h"
#include "say.h"
#include "sender.h"
#include "symbols.h"

enum { THREADS_MAX = 64 };

struct request {
    const char *data, *database, *listen, *certificate, *private_key;
    uint32_t threads; /* 0: threads_of() decides */
    uint32_t connections, idle_seconds, slow_seconds, behind_mb;
    struct keeper_options keep;
    uint32_t symbols_mb, symbols_seconds;
    struct fetcher_options fetch;
    struct sender_options hooks;
    unsigned hooks_to;
};

static const char *const hooks_to[] = {"any", "public", NULL};

static const char *take_schedule(const struct sonde__cli_option *option, const char *value,
                                 void *member)
{
    (void)option;
    return schedule_parse(value, member) ? NULL : "not up to 16 numbers of seconds, as 5,300,1800";
}

static const char *take_servers(const struct sonde__cli_option *option, const char *value,
                                void *member)
{
    (void)option;
    return servers_parse(value, member);
}

static const struct sonde__cli_option options[] = {
    COLLECTOR_OPTION_CONFIG,
    {"data", 'd', "DIR", "the data folder, made if missing (default " COLLECTOR_DATA ")",
     sonde__cli_take_text, offsetof(struct request, data)},
    COLLECTOR_OPTION_DATABASE(struct request, database),
    {"listen", 'l', "HOST:PORT", "where to listen (default 127.0.0.1:7450)", sonde__cli_take_text,
     offsetof(struct request, listen)},
    {"tls-certificate", 0, "FILE", "a PEM file with the certificate and its chain: HTTPS",
     sonde__cli_take_text, offsetof(struct request, certificate)},
    {"tls-key", 0, "FILE", "a PEM file with its private key", sonde__cli_take_text,
     offsetof(struct request, private_key)},
    {"threads", 0, "N", "threads for HTTP (default 1; with TLS one a processor)",
     sonde__cli_take_number, offsetof(struct request, threads), 1, THREADS_MAX},
    {"connections", 0, "N", "clients at a time (default 1000)", sonde__cli_take_number,
     offsetof(struct request, connections), 1, 100000},
    {"idle", 0, "SECONDS", "drop a client that is silent for so long (default 30)",
     sonde__cli_take_number, offsetof(struct request, idle_seconds), 1, 3600},
    {"slow", 0, "SECONDS",
     "drop a client whose request takes so long, beside a second for each 4 KiB (default 30)",
     sonde__cli_take_number, offsetof(struct request, slow_seconds), 1, 3600},
    {"keep-days", 0, "DAYS", "remove older reports, not their sums (default 90; 0: none)",
     sonde__cli_take_number, offsetof(struct request, keep.days), 0, 36500},
    {"keep-per-group", 0, "N", "reports that a group keeps (default 1000, at least 4; 0: all)",
     sonde__cli_take_number, offsetof(struct request, keep.per_group), 0, 50000},
    {"keep-every", 0, "SECONDS", "how often to look what to remove (default 60)",
     sonde__cli_take_number, offsetof(struct request, keep.seconds), 1, 86400},
    {"symbols-memory", 0, "MB", "memory to convert an uploaded symbol file (default 4096)",
     sonde__cli_take_number, offsetof(struct request, symbols_mb), 64, 1048576},
    {"symbols-time", 0, "SECONDS", "time to convert it (default 600)", sonde__cli_take_number,
     offsetof(struct request, symbols_seconds), 1, 86400},
    {"debuginfod", 0, "LIST",
     "debuginfod servers to ask for debug files that reports wait for (default none)", take_servers,
     offsetof(struct request, fetch.servers)},
    {"debuginfod-time", 0, "SECONDS", "time for one question to one of them (default 300)",
     sonde__cli_take_number, offsetof(struct request, fetch.seconds), 1, 3600},
    {"debuginfod-size", 0, "MB", "the largest file that is taken from them (default 1024)",
     sonde__cli_take_number, offsetof(struct request, fetch.size_mb), 1, SYMBOLS_FILE_MAX >> 20},
    {"debuginfod-retry", 0, "SECONDS",
     "ask again after a failure, then after twice as long each time (default 60)",
     sonde__cli_take_number, offsetof(struct request, fetch.retry_seconds), 1, 86400},
    {"hooks-retry", 0, "LIST",
     "seconds between the tries of a hook's message (default 5,300,1800,7200,18000,36000,50400,"
     "72000,86400)",
     take_schedule, offsetof(struct request, hooks.schedule)},
    {"hooks-time", 0, "SECONDS", "time for one try (default 15)", sonde__cli_take_number,
     offsetof(struct request, hooks.posts.seconds), 1, 120},
    {"hooks-to", 0, "WHICH",
     "addresses that hooks may have: any (default), or public, without private networks",
     sonde__cli_take_word, offsetof(struct request, hooks_to), 0, 0, hooks_to},
    {"behind", 0, "MB", "refuse reports while so many megabytes wait (default 1024)",
     sonde__cli_take_number, offsetof(struct request, behind_mb), 1, 1048576},
    {0}};

struct server {
    const struct sonde__cli_command *command;
    const struct request *request;
    struct collector collector;
    struct http *http;
    int lock;
    char *certificate, *private_key;
};

/* --- the data folder --- */

static int make_folder(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
}

/* Have the names in a folder on the disk. */
static int sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int os_error = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    return os_error;
}

static int open_data(struct server *s)
{
    char path[4096];
    const char *data = s->request->data;
    static const char *const folders[] = {"", "/journal", "/blobs"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", data, folders[i]);
        int os_error = make_folder(path);
        if (os_error != 0) {
            return sonde__cli_fail_os(s->command, path, os_error);
        }
    }
    s->collector.blobs.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "%s/lock", data);
    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->collector.blobs.folder < 0 || s->lock < 0) {
        return sonde__cli_fail_os(s->command, path, errno);
    }
    int os_error = sync_folder(data);
    if (os_error != 0) {
        return sonde__cli_fail_os(s->command, data, os_error);
    }
    if (flock(s->lock, LOCK_EX | LOCK_NB) != 0) {
        sonde__cli_error(s->command, "%s: another collector runs with this folder", data);
        return SONDE__CLI_FAILED;
    }
    return SONDE__CLI_GO_ON;
}

/* The first start: a project, and keys, which are printed once. */
static int begin_data(struct server *s)
{
    char admin[IDS_SECRET_TEXT], ingest[IDS_SECRET_TEXT];
    uint32_t project;
    struct store *store = s->collector.store;
    enum store_status status = store_find_project(store, "default", &project);
    if (status == STORE_OK) {
        return SONDE__CLI_GO_ON;
    }
    status = store_add_project(store, "default", collector_now_ns(), &project);
    if (status == STORE_KNOWN) { /* another collector with this database starts, too */
        return SONDE__CLI_GO_ON;
    }
    if (status != STORE_OK) {
        return collector_fail(s->command, "project default", status);
    }
    int exit_code = collector_make_key(s->command, store, 0, STORE_ADMIN, "first", admin);
    if (exit_code == SONDE__CLI_OK) {
        exit_code = collector_make_key(s->command, store, project, STORE_INGEST, "first", ingest);
    }
    if (exit_code != SONDE__CLI_OK) {
        return exit_code;
    }
    printf("first start: these keys are shown once\nadmin key   %s\ningest key  %s  (project "
           "default)\n",
           admin, ingest);
    fflush(stdout);
    return SONDE__CLI_GO_ON;
}

static uint64_t reports_of_day(void *store, uint32_t project, uint64_t day)
{
    return store_used(store, project, day);
}

static int open_parts(struct server *s)
{
    char path[4096], guard[4096];
    struct collector *c = &s->collector;
    struct sonde_error error = {0};
    const char *database = s->request->database;
    if (store_open(s->request->data, database, &c->store, &error) != STORE_OK) {
        sonde__cli_error(s->command, "%s%s: %s", database == NULL ? s->request->data : "",
                         database == NULL ? "/collector.db" : "--database", error.what);
        return SONDE__CLI_FAILED;
    }
    c->blobs.store = store_has_files(c->store) ? c->store : NULL;
    int exit_code = begin_data(s);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    snprintf(path, sizeof path, "%s/journal", s->request->data);
    snprintf(guard, sizeof guard, "%s/reading", s->request->data);
    int os_error = journal_open(path, store_place(c->store), &c->journal);
    const struct symbols_options symbols = {.data = s->request->data,
                                            .memory_mb = s->request->symbols_mb,
                                            .seconds = s->request->symbols_seconds};
    if (os_error == 0) {
        snprintf(path, sizeof path, "%s/symbols", s->request->data);
        os_error = symbols_open(&symbols, &c->symbols);
    }
    if (os_error == 0) {
        os_error = worker_start(c->store, c->journal, &c->blobs, c->symbols, guard, &c->worker);
    }
    if (os_error == 0) {
        snprintf(guard, sizeof guard, "%s/completing", s->request->data);
        os_error = completer_start(c->store, &c->blobs, c->symbols, guard, &c->completer);
    }
    if (os_error == 0) {
        os_error = keeper_start(c->store, &c->blobs, &s->request->keep, &c->keeper);
    }
    if (os_error == 0) {
        os_error = sender_start(c->store, &s->request->hooks, &c->sender);
    }
    if (os_error == 0) {
        os_error = fetcher_start(c->store, c->symbols, &s->request->fetch, &c->fetcher);
    }
    c->limits = limits_begin(reports_of_day, c->store);
    if (os_error == 0 && c->limits == NULL) {
        os_error = ENOMEM;
    }
    return os_error == 0 ? SONDE__CLI_GO_ON : sonde__cli_fail_os(s->command, path, os_error);
}

/* --- HTTP --- */

/* Read a small file as text. Null: it was reported. */
static char *read_text(struct server *s, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    FILE *out = open_memstream(&text, &size);
    for (int c; file != NULL && out != NULL && size < (1u << 20) && (c = fgetc(file)) != EOF;) {
        fputc(c, out);
    }
    int os_error = errno;
    if (out != NULL) {
        fclose(out);
    }
    if (file == NULL) {
        (void)sonde__cli_fail_os(s->command, path, os_error);
        free(text);
        return NULL;
    }
    fclose(file);
    return text;
}

/* One thread takes in more than the worker can store, and the more reports share a sync of the disk
 * the less each costs. TLS costs more than all else. */
static uint32_t threads_of(const struct request *request)
{
    long processors = request->certificate != NULL ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    uint32_t most = processors < THREADS_MAX ? (uint32_t)processors : THREADS_MAX;
    return request->threads != 0 ? request->threads : processors > 0 ? most : 1;
}

static int start_http(struct server *s)
{
    const struct request *request = s->request;
    struct sonde_error error = {0};
    if (request->certificate != NULL) {
        s->certificate = read_text(s, request->certificate);
        s->private_key = read_text(s, request->private_key);
        if (s->certificate == NULL || s->private_key == NULL) {
            return SONDE__CLI_ABSENT;
        }
    }
    const struct http_options how = {.routes = answer_routes,
                                     .address = request->listen,
                                     .threads = threads_of(request),
                                     .certificate = s->certificate,
                                     .private_key = s->private_key,
                                     .connections = request->connections,
                                     .idle_seconds = request->idle_seconds,
                                     .slow_seconds = request->slow_seconds};
    enum sonde_status status = http_start(&s->collector, &how, &s->http, &error);
    return status == SONDE_OK ? SONDE__CLI_GO_ON
                              : sonde__cli_fail(s->command, NULL, status, &error);
}

/* --- run --- */

static void close_all(struct server *s)
{
    struct collector *c = &s->collector;
    if (c->symbols != NULL) {
        symbols_end(c->symbols);
    }
    if (s->http != NULL) { /* answers what waits for the journal, too */
        http_stop(s->http);
    }
    limits_end(c->limits);
    fetcher_stop(c->fetcher);
    if (c->completer != NULL) {
        completer_stop(c->completer);
    }
    if (c->keeper != NULL) {
        keeper_stop(c->keeper);
    }
    sender_stop(c->sender);
    if (c->worker != NULL) {
        worker_stop(c->worker);
    }
    if (c->journal != NULL) {
        journal_close(c->journal);
    }
    store_close(c->store);
    symbols_close(c->symbols);
    if (c->blobs.folder >= 0) {
        close(c->blobs.folder);
    }
    if (s->lock >= 0) {
        close(s->lock);
    }
    free(s->certificate);
    free(s->private_key);
}

/* Meanwhile slow clients are dropped. */
static void wait_for_end(struct server *s, const sigset_t *signals)
{
    int number = -1;
    while (number < 0) {
        number = sigtimedwait(signals, NULL, &(struct timespec){.tv_sec = 1});
        s->collector.dropped += http_drop_slow(s->http);
    }
    say_info("%s: ending", strsignal(number));
}

static int serve(const struct sonde__cli_command *command, const struct request *request)
{
    struct server s = {
        .command = command,
        .request = request,
        .lock = -1,
        .collector = {.blobs = {.folder = -1}, .behind_max = (uint64_t)request->behind_mb << 20}};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before any thread */
    signal(SIGPIPE, SIG_IGN);
    int exit_code = open_data(&s);
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = open_parts(&s);
    }
    if (exit_code == SONDE__CLI_GO_ON) {
        exit_code = start_http(&s);
    }
    if (exit_code == SONDE__CLI_GO_ON) {
        say_info("listening on port %u, data in %s", http_port(s.http), request->data);
        wait_for_end(&s, &signals);
        exit_code = SONDE__CLI_OK;
    }
    close_all(&s);
    return exit_code;
}

static int run(const struct sonde__cli_command *command, int argc, char **argv)
{
    struct request request = {.data = COLLECTOR_DATA,
                              .listen = "127.0.0.1:7450",
                              .connections = 1000,
                              .idle_seconds = 30,
                              .slow_seconds = 30,
                              .keep = {.days = 90, .per_group = 1000, .seconds = 60},
                              .symbols_mb = 4096,
                              .symbols_seconds = 600,
                              .fetch = {.seconds = 300, .retry_seconds = 60, .size_mb = 1024},
                              .hooks = {.posts.seconds = 15, .schedule = schedule_default},
                              .behind_mb = 1024};
    struct sonde__cli_operands operands;
    int exit_code = collector_parse(command, argc, argv, &request, &operands);
    if (exit_code != SONDE__CLI_GO_ON) {
        return exit_code;
    }
    if (operands.count != 0) {
        return sonde__cli_usage_error(command, "takes no argument: %s", operands.list[0]);
    }
    if ((request.certificate == NULL) != (request.private_key == NULL)) {
        return sonde__cli_usage_error(command, "--tls-certificate and --tls-key go together");
    }
    if (request.keep.per_group != 0 && request.keep.per_group < 4) {
        return sonde__cli_usage_error(command, "--keep-per-group: 0, or 4 and more");
    }
    if (request.fetch.servers.count != 0 && !debuginfod_is_there()) {
        sonde__cli_error(command, "this program was built without libcurl: it asks no server");
        return SONDE__CLI_UNSUPPORTED;
    }
    request.hooks.posts.is_public_only = request.hooks_to == 1;
    return serve(command, &request);
}

const struct sonde__cli_command collector_cmd_serve = {
    .name = "serve",
    .summary = "receive reports, and answer questions about them",
    .usage = "[OPTION...]",
    .about = "Receives reports over HTTP (docs/protocol.md) and keeps them in the data folder:\n"
             "a journal, a SQLite database and a file for each report. A report is\n"
             "acknowledged when it is on the disk. Events of one cause are one group. With\n"
             "--database several collectors share a PostgreSQL database, each with a data\n"
             "folder of its own.\n"
             "\n"
             "The first start makes the project default, an admin key and an ingest key, and\n"
             "prints them once. With the admin key as password a browser shows the groups.\n"
             "\n"
             "Options are read from the file of --config (listen = 0.0.0.0:7450), then from the\n"
             "environment (SONDE_COLLECTOR_LISTEN), then from the command line; the later one\n"
             "counts. SIGTERM and SIGINT end the server: requests that\n"
             "have begun are answered, for up to 10 seconds.\n",
    .options = options,
    .examples = "  sonde-collector serve --data ~/collector\n"
                "  sonde run --spool auto --upload http://127.0.0.1:7450 -- PROGRAM\n",
    .environment = "SONDE_COLLECTOR_",
    .run = run,
};
