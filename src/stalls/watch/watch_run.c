// SPDX-License-Identifier: Apache-2.0
/* From `sonde run` to the program: page, supervisor, environment, exec. */
#include "watch_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_run.h"
#include "host_signal.h"
#include "probe_page.h"
#include "watch_follow.h"
#include "watch_output.h"
#include "watch_program.h"
#include "watch_supervise.h"

/* The same name as in preload/preload.h; no header is shared. */
#define PAGE_VARIABLE "SONDE_RUN_PAGE"

/* The loader uses the last LD_PRELOAD. */
static const char *find_preload(char *const *envp)
{
    static const char name[] = "LD_PRELOAD=";
    const char *found = NULL;
    for (size_t i = 0; envp[i] != NULL; i++) {
        found = strncmp(envp[i], name, sizeof name - 1) == 0 ? envp[i] + sizeof name - 1 : found;
    }
    return found;
}

/* The program's environment: ours, with two entries at its end that the probe's constructor
 * removes. An existing LD_PRELOAD stays; the last one names the probe, then the libraries of the
 * existing one. Null: out of memory. */
static char **make_environment(const struct sonde__watch_options *options, int32_t page_fd)
{
    size_t count = 0;
    while (options->envp[count] != NULL) {
        count++;
    }
    const char *former = find_preload(options->envp);
    size_t size = strlen(options->probe) + (former != NULL ? strlen(former) : 0) + 16;
    char **envp = calloc(count + 3, sizeof *envp);
    char *preload = malloc(size);
    char *page = malloc(64);
    if (envp == NULL || preload == NULL || page == NULL) {
        free(envp);
        free(preload);
        free(page);
        return NULL;
    }
    memcpy(envp, options->envp, count * sizeof *envp);
    snprintf(preload, size, former != NULL ? "LD_PRELOAD=%s:%s" : "LD_PRELOAD=%s", options->probe,
             former);
    snprintf(page, 64, PAGE_VARIABLE "=%d", (int)page_fd);
    envp[count] = page;
    envp[count + 1] = preload;
    return envp;
}

static enum sonde__watch_carry probe_fits(const char *path)
{
    static struct sonde__watch_program program; /* 4 KiB of path */
    sonde__watch_inspect(path, &program);
    return program.carry;
}

/* Start a script of env as env would: argv becomes {NAME, path, arguments...}. */
static char *const *resolve_env(char *const *argv, char *path, size_t capacity)
{
    static char name[256];
    static char program[SONDE__WATCH_PATH_MAX];
    struct sonde_error error;
    size_t count = 0;
    if (!sonde__watch_names_by_env(path, name, sizeof name) ||
        sonde__host_find_program(name, program, sizeof program, &error) != 0) {
        return argv; /* env reports the error */
    }
    while (argv[count] != NULL) {
        count++;
    }
    char **longer = calloc(count + 2, sizeof *longer);
    char *script = strdup(path);
    if (longer == NULL || script == NULL) {
        free(longer);
        free(script);
        return argv;
    }
    longer[0] = name;
    longer[1] = script;
    memcpy(longer + 2, argv + 1, count * sizeof *longer); /* including the null */
    snprintf(path, capacity, "%s", program);
    return longer;
}

bool sonde__watch_wants_signal(const struct sonde__watch_options *options)
{
    return options->sampler == SONDE__WATCH_SAMPLER_SIGNAL ||
           (options->sampler == SONDE__WATCH_SAMPLER_AUTO && !sonde__host_may_perf() &&
            !sonde__host_may_ptrace());
}

/* Round up to a multiple of every page size that Linux has. */
static size_t round_up(size_t size)
{
    return (size + 65535u) / 65536u * 65536u;
}

/* Create the page and what follows it, and start the supervisor. */
static enum sonde_status begin_watch(struct sonde__watch_session *session, int32_t *ret_page_fd,
                                     struct sonde_error *ret_error)
{
    const struct sonde__watch_options *options = &session->options;
    const struct sonde__watch_plugin *plugin = options->plugin;
    size_t plugin_at = SONDE__PROBE_FOLLOW_OFFSET + round_up(sizeof(struct sonde__probe_follow));
    size_t size = plugin != NULL ? plugin_at + plugin->size : SONDE__PROBE_WORKERS_OFFSET;
    bool follows = plugin == NULL && !options->stay;
    uint32_t workers = follows ? SONDE__PROBE_WORKERS : 0;
    int32_t supervisor;
    void *memory;
    enum sonde_status status = sonde__host_shared_create(
        size + (size_t)workers * SONDE__PROBE_WORKER_BYTES, ret_page_fd, &memory, ret_error);
    if (status != SONDE_OK && workers != 0) { /* a limit of memory or file size */
        workers = 0;
        size = SONDE__PROBE_FOLLOW_OFFSET + sizeof(struct sonde__probe_follow);
        status = sonde__host_shared_create(size, ret_page_fd, &memory, ret_error);
    }
    if (status != SONDE_OK) {
        return status;
    }
    session->page = memory;
    session->page->version = SONDE__PROBE_VERSION;
    session->page->slot_count = SONDE__PROBE_SLOTS;
    session->page->long_ns = (int64_t)options->threshold_ns;
    session->page->late_ns = (int64_t)options->threshold_ns / 4;
    session->follow =
        (struct sonde__probe_follow *)(void *)((char *)memory + SONDE__PROBE_FOLLOW_OFFSET);
    atomic_store(&session->page->sample.wanted, sonde__watch_wants_signal(options));
    atomic_store(&session->page->unfinished, plugin != NULL || sonde__watch_awaits_report(options));
    if (plugin != NULL) {
        session->plugin_memory = (char *)memory + plugin_at;
        plugin->begin(plugin->ctx, session->plugin_memory);
        session->page->plugin = plugin_at;
        session->page->follows =
            options->follow ? SONDE__PROBE_FOLLOWS_ALL : SONDE__PROBE_FOLLOWS_NONE;
    }
    session->worker_count = session->follow->worker_count = workers;
    session->page_fd = follows || plugin != NULL ? *ret_page_fd : -1; /* host_shared.c */
    const int32_t keep[2] = {options->report_fd, session->page_fd};
    status =
        sonde__host_start_supervisor(sonde__watch_supervise, session, keep, &supervisor, ret_error);
    if (status != SONDE_OK) {
        sonde__host_close(*ret_page_fd);
        return status;
    }
    if (follows && sonde__watch_fill_follow(options, supervisor, session->follow)) {
        session->page->follows =
            options->follow ? SONDE__PROBE_FOLLOWS_ALL : SONDE__PROBE_FOLLOWS_SELF;
    }
    return SONDE_OK;
}

/* A followed program was not started for the watch, so it runs unwatched. */
static int run_unwatched(const struct sonde__watch_options *options, const char *path,
                         struct sonde_error *ret_error)
{
    char who[SONDE__WATCH_WHO], line[1024];
    sonde__watch_who(path, (int32_t)getpid(), who);
    int size = snprintf(line, sizeof line, "sonde run: %sit is not watched: %s%s%s\n", who,
                        ret_error->what, ret_error->os_error != 0 ? ": " : "",
                        ret_error->os_error != 0 ? strerror(ret_error->os_error) : "");
    (void)sonde__host_write_stderr_of(options->root, line, (size_t)size);
    return sonde__host_become(path, options->argv, options->envp, ret_error);
}

int sonde__watch_become(const struct sonde__watch_options *options, const char *path,
                        int32_t page_fd, struct sonde_error *ret_error)
{
    char **with_probe = page_fd >= 0 ? make_environment(options, page_fd) : NULL;
    char *const *envp = with_probe != NULL ? with_probe : options->envp;
    int exit_code = sonde__host_become(path, options->argv, envp, ret_error);
    if (ret_error->os_error == E2BIG && with_probe != NULL) {
        sonde__host_close(page_fd);
        exit_code = sonde__host_become(path, options->argv, options->envp, ret_error);
    }
    return exit_code;
}

int sonde__watch_run(const struct sonde__watch_options *options, struct sonde_error *ret_error)
{
    static struct sonde__watch_session session;
    static char path[SONDE__WATCH_PATH_MAX];
    int32_t page_fd = -1;
    int exit_code = 0;
    if (options->program != NULL) {
        snprintf(path, sizeof path, "%s", options->program);
    } else {
        exit_code = sonde__host_find_program(options->argv[0], path, sizeof path, ret_error);
    }
    if (exit_code != 0) {
        return exit_code;
    }
    session.options = *options;
    static char absolute[PATH_MAX]; /* the supervisor has another working directory */
    session.options.path = realpath(path, absolute) != NULL ? absolute : path;
    session.carry = probe_fits(path);
    if (begin_watch(&session, &page_fd, ret_error) != SONDE_OK) {
        return options->root != 0 ? run_unwatched(options, path, ret_error) : 125;
    }
    /* never freed: this process becomes the program or ends */
    struct sonde__watch_options last = *options;
    last.argv = resolve_env(options->argv, path, sizeof path);
    if (session.carry != SONDE__WATCH_CARRIES || options->probe == NULL) {
        sonde__host_close(page_fd);
        page_fd = -1;
    }
    if (options->report_fd >= 0) {
        sonde__host_close(options->report_fd);
    }
    return sonde__watch_become(&last, path, page_fd, ret_error);
}
