// SPDX-License-Identifier: Apache-2.0
/* An audit by rules inside the program (record_inside.h).
 *
 * The program's threads count into memory that is laid out as that of `sonde run`, so `sonde mark`
 * finds it. A thread of ours tells what is new; names are looked up there, and when the audit is
 * finished. Only these two use the audit, one after the other. */
#include <sonde/audit.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_audit_spool.h"
#include "api_symbols.h"
#include "audit_blob.h"
#include "audit_run.h"
#include "base_sized.h"
#include "base_status.h"
#include "base_text.h"
#include "capture_images.h"
#include "drain_origin.h"
#include "host_clock.h"
#include "host_process.h"
#include "host_run.h"
#include "host_self.h"
#include "mem_heap.h"
#include "os.h"
#include "probe_page.h"
#include "record_inside.h"
#include "record_page.h"
#include "report_model.h"
#include "report_new.h"
#include "spool_finish.h"
#include "target_self.h"

/* How long new calls wait. */
#define LOOK_NS   200000000u
#define PLUGIN_AT (((uint64_t)sizeof(struct sonde__probe_page) + 65535u) / 65536u * 65536u)
enum { TEXT = 4096 };

struct sonde_audit_run {
    struct sonde_audit_options options; /* with copies of the texts */
    struct sonde__report_tag tags[SONDE__REPORT_TAGS_MAX];
    struct sonde__audit_blob blob;
    struct sonde__audit *audit;
    char *memory;
    int32_t memory_fd;
    int report_fd;                        /* -1: none */
    struct sonde__api_audit_spool *spool; /* null: none */
    int os_error;                         /* of writing the report */
    pthread_t thread;
    int32_t pid;
    _Atomic uint32_t stop;
    _Atomic uint64_t teller; /* the tid of the thread in on_found; 0: none */
    char callers[TEXT];
    size_t callers_used;
};

/* --- what is new --- */

static bool add_text(void *ctx, const char *bytes, size_t size)
{
    struct sonde_audit_run *run = ctx;
    size_t room = sizeof run->callers - 1 - run->callers_used;
    memcpy(run->callers + run->callers_used, bytes, size < room ? size : room);
    run->callers_used += size < room ? size : room;
    run->callers[run->callers_used] = '\0';
    return true;
}

static void tell(void *ctx, const struct sonde__audit_new *found)
{
    struct sonde_audit_run *run = ctx;
    const struct sonde__report *report = found->report;
    const struct sonde__report_rule *rule = sonde__report_rule(report, found->call->rule);
    run->callers_used = 0;
    run->callers[0] = '\0';
    sonde__report_text_own(report, found->call->stack, (struct sonde__report_sink){add_text, run});
    const struct sonde_audit_found public = {
        .struct_bytes = sizeof public,
        .rule = sonde__report_text(report, rule->name),
        .pack = sonde__report_text(report, rule->pack),
        .category = sonde__report_text(report, rule->category),
        .message = sonde__report_text(report, rule->text),
        .severity = rule->severity,
        .function = sonde__report_text(report, found->call->function),
        .callers = run->callers,
        .phase = found->phase,
        .sdk = sonde__report_text(report, found->call->sdk),
        .tid = (uint64_t)found->call->tid,
    };
    atomic_store(&run->teller, sonde__os_tid());
    run->options.on_found(run->options.ctx, &public);
    atomic_store(&run->teller, 0);
}

static void tell_all(struct sonde_audit_run *run)
{
    if (run->options.on_found != NULL) {
        sonde__audit_tell(run->audit, run->memory + PLUGIN_AT, tell, run);
    }
}

static void *watch(void *ctx)
{
    struct sonde_audit_run *run = ctx;
    sonde__record_inside_enter();
    sonde__host_name_thread("sonde-audit");
    while (atomic_load(&run->stop) == 0) {
        tell_all(run);
        if (run->spool != NULL) {
            sonde__api_audit_spool_look(run->spool, run->memory + PLUGIN_AT);
        }
        (void)!sonde__os_sleep((const uint32_t *)&run->stop, 0, LOOK_NS, false);
    }
    return NULL;
}

/* --- the start --- */

static void set_header(const struct sonde_audit_run *run, struct sonde__report *report)
{
    char executable[4096];
    struct sonde__drain_origin origin;
    struct sonde__report_header header = {.kind = SONDE__REPORT_AUDIT,
                                          .tool = "libsonde " SONDE_VERSION,
                                          .source = "self",
                                          .arch = sonde__arch_name(SONDE__ARCH_HOST),
                                          .pid = run->pid,
                                          .build = run->options.build,
                                          .tags = run->tags,
                                          .tag_count = run->options.tag_count};
    bool is_known = sonde__host_executable(run->pid, executable, sizeof executable);
    header.executable = is_known ? executable : "";
    sonde__drain_origin(&origin, &header);
    header.device.id = run->options.device;
    sonde__report_set_header(report, &header);
    sonde__drain_process(report, run->pid, sonde__host_parent(run->pid), header.executable);
}

static char *copy_text(const char *text, bool *whole)
{
    char *copy = text != NULL ? sonde__mem_copy_string(text) : NULL;
    *whole = *whole && (text == NULL || copy != NULL);
    return copy;
}

static void free_run(struct sonde_audit_run *run)
{
    for (uint32_t i = 0; i < run->options.tag_count; i++) {
        sonde__mem_free((char *)run->tags[i].key);
        sonde__mem_free((char *)run->tags[i].value);
    }
    sonde__mem_free((char *)run->options.build);
    sonde__mem_free((char *)run->options.device);
    sonde__mem_free((char *)run->options.phase);
    sonde__api_audit_spool_close(run->spool, false);
    sonde__audit_destroy(run->audit);
    sonde__audit_blob_done(&run->blob);
    if (run->report_fd >= 0) {
        close(run->report_fd);
    }
    sonde__mem_free(run);
}

/* Null: no memory. */
static struct sonde_audit_run *make_run(const struct sonde_audit_options *options)
{
    struct sonde_audit_run *run = sonde__mem_alloc_zeroed(sizeof *run);
    bool whole = run != NULL;
    if (run == NULL) {
        return NULL;
    }
    run->options = *options;
    run->report_fd = -1;
    run->memory_fd = -1;
    run->pid = sonde__os_pid();
    run->options.build = copy_text(options->build, &whole);
    run->options.device = copy_text(options->device, &whole);
    run->options.phase = copy_text(options->phase, &whole);
    for (uint32_t i = 0; i < options->tag_count; i++) {
        const struct sonde_watch_tag *tag = &options->tags[i];
        run->tags[i].key = copy_text(tag->key != NULL ? tag->key : "", &whole);
        run->tags[i].value = copy_text(tag->value != NULL ? tag->value : "", &whole);
    }
    if (!whole) {
        free_run(run);
        return NULL;
    }
    return run;
}

static bool take_options(const struct sonde_audit_options *given,
                         struct sonde_audit_options *ret_options)
{
    ret_options->struct_bytes = sizeof *ret_options;
    return sonde__base_sized_take(given, ret_options, sizeof *ret_options) &&
           ret_options->tag_count <= SONDE__REPORT_TAGS_MAX &&
           (ret_options->tag_count == 0 || ret_options->tags != NULL) &&
           (ret_options->report != NULL || ret_options->on_found != NULL ||
            ret_options->spool != NULL);
}

/* What it has stays until the audit has begun. */
static enum sonde_status open_report(struct sonde_audit_run *run, struct sonde_error *ret_error)
{
    if (run->options.report == NULL) {
        return SONDE_OK;
    }
    run->report_fd = open(run->options.report, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (run->report_fd < 0) {
        bool is_denied = errno == EACCES || errno == EPERM || errno == EROFS;
        return sonde__base_fail(ret_error, is_denied ? SONDE_DENIED : SONDE_OS,
                                "the report cannot be written", run->options.report, errno, 0);
    }
    return SONDE_OK;
}

static enum sonde_status open_spool(struct sonde_audit_run *run, struct sonde_error *ret_error)
{
    struct sonde__report *like;
    if (run->options.spool == NULL) {
        return SONDE_OK;
    }
    if (sonde__report_create(&like) != SONDE_OK) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory", NULL, 0, 0);
    }
    set_header(run, like);
    return sonde__api_audit_spool_open(run->options.spool, run->audit, like, &run->spool,
                                       ret_error);
}

/* What the rules mean in the libraries that are loaded. */
static enum sonde_status plan(struct sonde_audit_run *run, struct sonde_error *ret_error)
{
    struct sonde__capture_pin pin = sonde__capture_pin();
    const struct sonde__audit_options options = {.list = "",
                                                 .rules = &run->blob.rules,
                                                 .loaded = pin.images,
                                                 .symbols = &sonde__api_watch_symbols};
    enum sonde_status status = sonde__audit_create(&options, &run->audit, ret_error);
    sonde__capture_unpin(pin);
    return status;
}

static enum sonde_status make_memory(struct sonde_audit_run *run, struct sonde_error *ret_error)
{
    void *memory;
    SONDE_TRY(sonde__host_shared_create(PLUGIN_AT + sonde__audit_shared_size(0), &run->memory_fd,
                                        &memory, ret_error));
    if (run->memory_fd >= 0) {
        (void)fcntl(run->memory_fd, F_SETFD, FD_CLOEXEC);
    }
    struct sonde__probe_page *page = memory;
    page->version = SONDE__PROBE_VERSION;
    page->plugin = PLUGIN_AT;
    atomic_store(&page->supervisor, run->pid); /* who has the descriptor (audit_mark.h) */
    run->memory = memory;
    sonde__audit_begin(run->audit, run->memory + PLUGIN_AT);
    if (run->options.phase != NULL) {
        struct sonde__record_page *plugin = (void *)(run->memory + PLUGIN_AT);
        (void)sonde__record_phase_begin(&plugin->phases, run->options.phase,
                                        strlen(run->options.phase), run->options.consent,
                                        sonde__os_now_ns());
    }
    return SONDE_OK;
}

static enum sonde_status refuse_begin(enum sonde_status status, struct sonde_error *ret_error)
{
    const char *what = status == SONDE_BUSY     ? "this process has, or had, an audit already"
                       : status == SONDE_MEMORY ? "no memory"
                                                : "fork children cannot be kept apart here";
    return sonde__base_fail(ret_error, status, what, NULL, 0, 0);
}

/* Only new calls and the live file need the thread. */
static bool has_thread(const struct sonde_audit_run *run)
{
    return run->options.on_found != NULL || run->spool != NULL;
}

static enum sonde_status record(struct sonde_audit_run *run, struct sonde_error *ret_error)
{
    if (!sonde__record_inside_claim()) {
        return refuse_begin(SONDE_BUSY, ret_error);
    }
    enum sonde_status status = make_memory(run, ret_error);
    if (status != SONDE_OK) {
        sonde__record_inside_release();
        return status;
    }
    status = sonde__record_inside_begin(run->memory);
    if (status != SONDE_OK) {
        return refuse_begin(status, ret_error);
    }
    int failed = has_thread(run) ? sonde__host_start_thread(&run->thread, watch, run) : 0;
    if (failed != 0) {
        sonde__record_inside_end();
        return sonde__base_fail(ret_error, SONDE_OS, "the audit's thread", NULL, failed, 0);
    }
    return SONDE_OK;
}

static enum sonde_status begin(struct sonde_audit_run *run, const void *rules, size_t size,
                               struct sonde_error *ret_error)
{
    SONDE_TRY(sonde__audit_blob_read(rules, size, &run->blob, ret_error));
    if (sonde__target_self_refresh(true) != SONDE_OK) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory", NULL, 0, 0);
    }
    SONDE_TRY(plan(run, ret_error));
    SONDE_TRY(open_report(run, ret_error));
    SONDE_TRY(open_spool(run, ret_error));
    SONDE_TRY(record(run, ret_error));
    if (run->report_fd >= 0) {
        (void)!ftruncate(run->report_fd, 0); /* a pipe has nothing to replace */
    }
    if (run->spool != NULL) {
        sonde__api_audit_spool_tidy(run->spool);
    }
    return SONDE_OK;
}

enum sonde_status sonde_audit_begin(const void *rules, size_t size_bytes,
                                    const struct sonde_audit_options *given,
                                    struct sonde_audit_run **ret_run, struct sonde_error *ret_error)
{
    struct sonde_audit_options options;
    if (rules == NULL || ret_run == NULL || !take_options(given, &options)) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "invalid options for the audit", NULL, 0,
                                0);
    }
    struct sonde_audit_run *run = make_run(&options);
    if (run == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory", NULL, 0, 0);
    }
    sonde__record_inside_enter();
    enum sonde_status status = begin(run, rules, size_bytes, ret_error);
    sonde__record_inside_leave();
    if (status != SONDE_OK) {
        if (run->memory_fd >= 0) {
            close(run->memory_fd); /* the memory may be in use (record_inside.h) */
        }
        free_run(run);
        return status;
    }
    *ret_run = run;
    return SONDE_OK;
}

/* --- the end --- */

struct lines {
    struct sonde_audit_run *run;
    struct sonde__report *report;
};

static void keep_line(void *ctx, const char *line)
{
    const struct lines *lines = ctx;
    sonde__report_add_note(lines->report, line);
    if (lines->run->options.on_line != NULL) {
        lines->run->options.on_line(lines->run->options.ctx, line);
    }
}

static enum sonde_status finish(struct sonde_audit_run *run)
{
    struct sonde__report *report;
    int spooled = 0;
    tell_all(run);
    if (sonde__report_create(&report) != SONDE_OK) {
        sonde__api_audit_spool_close(run->spool, true);
        run->spool = NULL;
        return SONDE_MEMORY;
    }
    struct lines lines = {run, report};
    set_header(run, report);
    sonde__audit_end(run->audit, run->memory + PLUGIN_AT, report,
                     (struct sonde__report_lines){keep_line, &lines});
    sonde__report_set_end(report, &(struct sonde__report_end){.watched_ns = 0});
    int written = run->report_fd >= 0 ? sonde__spool_write(run->report_fd, report, true) : 0;
    if (run->spool != NULL) {
        const struct sonde__report_lines told = {run->options.on_line, run->options.ctx};
        spooled = sonde__api_audit_spool_finish(run->spool, report, told);
        run->spool = NULL;
    }
    sonde__report_destroy(report);
    run->os_error = written != 0 ? written : spooled;
    return run->os_error == 0 ? SONDE_OK : run->os_error == ENOMEM ? SONDE_MEMORY : SONDE_OS;
}

enum sonde_status sonde_audit_finish(struct sonde_audit_run *run, struct sonde_error *ret_error)
{
    if (run == NULL || run->pid != sonde__os_pid() ||
        atomic_load(&run->teller) == sonde__os_tid()) {
        return SONDE_OK;
    }
    sonde__record_inside_enter();
    if (has_thread(run)) {
        atomic_store(&run->stop, 1);
        (void)sonde__os_wake((const uint32_t *)&run->stop, false, false);
        pthread_join(run->thread, NULL);
    }
    sonde__record_inside_end();
    enum sonde_status status = finish(run);
    int os_error = run->os_error;
    if (run->memory_fd >= 0) {
        close(run->memory_fd);
    }
    free_run(run);
    sonde__record_inside_leave();
    return status == SONDE_OK
               ? status
               : sonde__base_fail(ret_error, status, "the audit's report is not complete", NULL,
                                  os_error, 0);
}
