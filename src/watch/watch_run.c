// SPDX-License-Identifier: Apache-2.0
/* From `sonde run` to the program: page, supervisor, environment, exec. See watch_run.h. */
#include "watch_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_run.h"
#include "probe_page.h"
#include "watch_program.h"
#include "watch_supervise.h"

/* Same name as in preload/preload.h: the two meet only through the environment. */
#define PAGE_VARIABLE "SONDE_RUN_PAGE"

static const char *find_variable(char *const *envp, const char *name, size_t *ret_index)
{
    size_t length = strlen(name);
    for (size_t i = 0; envp[i] != NULL; i++) {
        if (strncmp(envp[i], name, length) == 0 && envp[i][length] == '=') {
            *ret_index = i;
            return envp[i] + length + 1;
        }
    }
    return NULL;
}

/* The program's environment: as ours, the probe in front of a former LD_PRELOAD and in its place,
 * so that the probe's constructor can put everything back as it was. Null: out of memory. */
static char **make_environment(const struct sonde__watch_options *options, int32_t page_fd)
{
    size_t count = 0, at = 0;
    while (options->envp[count] != NULL) {
        count++;
    }
    const char *former = find_variable(options->envp, "LD_PRELOAD", &at);
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
    envp[former != NULL ? at : count++] = preload;
    envp[count] = page;
    return envp;
}

static enum sonde__watch_carry probe_fits(const char *path)
{
    static struct sonde__watch_program program; /* 4 KiB of path */
    sonde__watch_inspect(path, &program);
    return program.carry;
}

/* A script that env starts is started as env would do it: argv becomes {NAME, path, arguments...}.
 */
static char *const *resolve_env(char *const *argv, char *path, size_t capacity)
{
    static char name[256];
    static char program[SONDE__WATCH_PATH_MAX];
    struct sonde_error error;
    size_t count = 0;
    if (!sonde__watch_names_by_env(path, name, sizeof name) ||
        sonde__host_find_program(name, program, sizeof program, &error) != 0) {
        return argv; /* env says what is wrong */
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
    memcpy(longer + 2, argv + 1, count * sizeof *longer); /* with the null */
    snprintf(path, capacity, "%s", program);
    return longer;
}

int sonde__watch_run(const struct sonde__watch_options *options, struct sonde_error *ret_error)
{
    static struct sonde__watch_session session;
    static char path[SONDE__WATCH_PATH_MAX];
    char *const *envp = options->envp;
    int32_t page_fd;
    void *memory;
    int exit_code = sonde__host_find_program(options->argv[0], path, sizeof path, ret_error);
    if (exit_code != 0) {
        return exit_code;
    }
    if (sonde__host_shared_create(sizeof(struct sonde__probe_page), &page_fd, &memory, ret_error) !=
        SONDE_OK) {
        return 125;
    }
    /* never freed: this process becomes the program or ends */
    char *const *argv = resolve_env(options->argv, path, sizeof path);
    session.options = *options;
    session.page = memory;
    session.carry = probe_fits(path);
    session.page->version = SONDE__PROBE_VERSION;
    session.page->slot_count = SONDE__PROBE_SLOTS;
    atomic_store(&session.page->unfinished, options->report_fd >= 0);
    int32_t supervisor;
    if (sonde__host_start_supervisor(sonde__watch_supervise, &session, options->report_fd,
                                     &supervisor, ret_error) != SONDE_OK) {
        return 125; // NOLINT(clang-analyzer-unix.Malloc)
    }
    if (session.carry == SONDE__WATCH_CARRIES && options->probe != NULL) {
        char **with_probe = make_environment(options, page_fd);
        envp = with_probe != NULL ? with_probe : envp;
    } else {
        sonde__host_close(page_fd);
    }
    if (options->report_fd >= 0) {
        sonde__host_close(options->report_fd);
    }
    return sonde__host_become(path, argv, envp, ret_error);
}
