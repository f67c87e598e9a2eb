// SPDX-License-Identifier: Apache-2.0
/* The watch inside the program: the supervisor's rounds (watch_supervise.h), driven by a thread.
 *
 * Only that thread and its writer (watch_writer.h) use files. They block all signals, so a broken
 * pipe of the report gives the program no SIGPIPE. A fork child drops the inherited watch without
 * freeing it, because the thread may have been changing its memory. */
#include <sonde/watch.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api_symbols.h"
#include "api_thread.h"
#include "api_watch.h"
#include "api_watch_notes.h"
#include "base_mem.h"
#include "base_sized.h"
#include "base_status.h"
#include "base_text.h"
#include "host_life.h"
#include "host_run.h"
#include "host_self.h"
#include "os.h"
#include "report_view.h"
#include "watch_rounds.h"
#include "watch_spool.h"

/* Interval of the search for ended threads, while a loop is busy and while slots are lacking. */
#define SWEEP_NS        30000000000u
#define SWEEP_WANTED_NS 1000000000u

enum { STARTING, RUNNING, FAILED };

struct sonde_watch {
    struct sonde__watch_session session;
    struct sonde_watch_options options; /* with copies of the texts */
    struct sonde__report_tag tags[SONDE__REPORT_TAGS_MAX];
    pthread_t thread;
    int32_t pid;              /* the process that started it */
    _Atomic uint32_t phase;   /* STARTING until everything is open */
    _Atomic uint32_t stop;    /* 1: stop */
    enum sonde_status status; /* reason of FAILED */
    struct sonde_error error;
    uint64_t swept_ns;
    bool is_announced;         /* page.sleeping is 1, or was until a turn began */
    _Atomic uint64_t notifier; /* the thread that calls on_stall; 0: none */
    char *text;                /* of one stack; reused */
    size_t text_size, text_capacity;
    bool text_cut; /* no memory for all of it */
};

static _Atomic(struct sonde_watch *) the_watch;
/* In a fork child: the inherited watch, whose options the child's watch takes, and whose address
 * the program has. It is never freed. Null: none. */
static _Atomic(struct sonde_watch *) inherited;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void after_fork_child(void)
{
    struct sonde_watch *watch = atomic_exchange(&the_watch, NULL);
    bool again = atomic_load(&sonde__api_marks.running) == SONDE__API_INHERITED;
    if (watch != NULL) {
        bool runs = atomic_load(&watch->phase) == RUNNING && atomic_load(&watch->stop) == 0;
        again = runs && watch->options.in_children != 0;
        if (runs) { /* its files are open, and nobody is closing them */
            sonde__watch_spool_leave(&watch->session);
        }
        if (atomic_load(&inherited) == NULL) {
            atomic_store(&inherited, again ? watch : NULL);
        }
    }
    atomic_store(&sonde__api_marks.stalled, 0);
    atomic_store(&sonde__api_marks.running, again ? SONDE__API_INHERITED : SONDE__API_STOPPED);
    sonde__api_notes_after_fork();
    sonde__api_signal_after_fork();
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_child);
}

/* --- the watch's thread --- */

/* perf gave no sample of the thread: read it, with a signal if it is still running. */
static void ask_thread(uint64_t tid, struct sonde_stack *stack, struct sonde__capture *ret_capture)
{
    struct sonde_captured captured = {.struct_bytes = sizeof captured, .syscall = -1};
    const struct sonde__regs none = {0}; /* the caller is another thread */
    captured.status = sonde__api_thread_capture(tid, NULL, stack, &captured, &none);
    sonde__api_capture_of(&captured, ret_capture);
    if (ret_capture->by == SONDE__CAPTURED_SIGNAL) {
        struct sonde__text note;
        sonde__base_text_init(&note, ret_capture->note, sizeof ret_capture->note);
        sonde__base_text_str(&note, captured.note);
        sonde__base_text_str(&note, "no perf sample is available, so it was asked by a signal");
    }
}

static bool add_text(void *ctx, const char *bytes, size_t size)
{
    struct sonde_watch *watch = ctx;
    if (watch->text_capacity - watch->text_size <= size) {
        size_t capacity = (watch->text_size + size) * 2 + 1;
        char *text = realloc(watch->text, capacity);
        if (text == NULL) {
            watch->text_cut = true;
            return false;
        }
        watch->text = text;
        watch->text_capacity = capacity;
    }
    memcpy(watch->text + watch->text_size, bytes, size);
    watch->text_size += size;
    watch->text[watch->text_size] = '\0';
    return true;
}

static void call(struct sonde_watch *watch, sonde_watch_stall callback,
                 const struct sonde__entry_ended *ended)
{
    const struct sonde_stall stall = {
        .tid = ended->tid,
        .open = ended->open,
        .duration_ns = ended->duration_ns,
        .cpu_ns = ended->stall->cpu_ns,
        .turns = ended->turns,
        .text = watch->text_size > 0 ? watch->text : "",
        .text_bytes = watch->text_size,
        .kind = ended->kind,
        .scope = ended->scope,
    };
    atomic_store(&watch->notifier, sonde__os_tid());
    callback(watch->options.ctx, &stall);
    atomic_store(&watch->notifier, 0);
}

static void notify_stall(void *ctx, const struct sonde__entry_ended *ended,
                         const struct sonde__report *report, const struct sonde__report_view *view,
                         uint32_t index)
{
    struct sonde_watch *watch = ctx;
    const struct sonde__report_sink sink = {add_text, watch};
    if (watch->options.on_stall != NULL) {
        watch->text_size = 0;
        watch->text_cut = false;
        sonde__report_text_stall(report, index, view, sink);
        call(watch, watch->options.on_stall, ended);
    }
}

static void notify_begin(void *ctx, const struct sonde__entry_ended *ended,
                         const struct sonde__report *report)
{
    struct sonde_watch *watch = ctx;
    const struct sonde__report_view view = {0};
    const struct sonde__report_sink sink = {add_text, watch};
    watch->text_size = 0;
    watch->text_cut = false;
    sonde__report_text_view(report, &view, sink);
    call(watch, watch->options.on_begin, ended);
}

static uint32_t wait_inside(struct sonde__watch_session *session, uint64_t timeout_ns,
                            bool sleeping)
{
    struct sonde_watch *watch = session->ctx;
    _Atomic uint32_t *word = sleeping ? &session->page->sleeping : &watch->stop;
    uint64_t now_ns = sonde__os_now_ns();
    bool woken = false;
    if ((sleeping && !watch->is_announced) ||
        now_ns - watch->swept_ns >
            (atomic_load(&sonde__api_marks.wanted) != 0 ? SWEEP_WANTED_NS : SWEEP_NS)) {
        sonde__api_marks_sweep();
        watch->swept_ns = now_ns;
    }
    /* It stays announced from one sleep to the next. A turn that begins between them, when nobody
     * looks any more, finds the word and ends the second one at once. */
    if (sleeping && !watch->is_announced) {
        atomic_store(word, 1);
    }
    watch->is_announced = sleeping;
    if (atomic_load(&watch->stop) == 0) {
        enum sonde_status status =
            sonde__os_sleep((const uint32_t *)word, sleeping, timeout_ns, false);
        (void)status; /* the text says what happened */
    }
    if (sleeping && atomic_load(word) == 0) {
        watch->is_announced = false;
        woken = true;
    } else if (!sleeping && atomic_load(&session->page->sleeping) != 0) {
        atomic_store(&session->page->sleeping, 0);
    }
    return (atomic_load(&watch->stop) != 0 ? SONDE__HOST_TERMINATE : 0u) |
           (woken ? SONDE__HOST_WOKEN : 0u);
}

static enum sonde_status open_session(struct sonde_watch *watch)
{
    struct sonde__watch_session *session = &watch->session;
    const struct sonde__target_options passive = {.mode = SONDE__TARGET_PASSIVE};
    SONDE_TRY(sonde__sampler_open(watch->pid, &passive, &session->sampler, &watch->error));
    sonde__sampler_use_own_process(session->sampler, sonde__os_tid(), ask_thread);
    enum sonde_status status = SONDE_OK;
    if (session->options.spool != NULL && sonde__host_is_secure()) {
        status = sonde__base_fail(&watch->error, SONDE_DENIED,
                                  "a program with more rights than its user keeps no reports", NULL,
                                  0, 0);
    } else if (session->options.spool != NULL && !sonde__watch_spool_open(session, &watch->error)) {
        status = watch->error.status != SONDE_OK ? watch->error.status : SONDE_DENIED;
    }
    if (status == SONDE_OK) {
        status = sonde__watch_writer_create(&session->options, watch->pid, &session->writer);
    }
    if (status == SONDE_OK) {
        sonde__watch_spool_begin(session);
    } else {
        sonde__watch_spool_end(session);
        sonde__sampler_close(session->sampler);
    }
    return status;
}

static void *run(void *arg)
{
    struct sonde_watch *watch = arg;
    sonde__host_name_thread("sonde-watch");
    watch->status = open_session(watch);
    atomic_store(&watch->phase, watch->status == SONDE_OK ? RUNNING : FAILED);
    (void)sonde__os_wake((const uint32_t *)&watch->phase, false, false);
    if (watch->status == SONDE_OK) {
        sonde__watch_session_run(&watch->session);
    }
    return NULL;
}

/* --- start and stop --- */

static bool take_options(const struct sonde_watch_options *given,
                         struct sonde_watch_options *ret_options)
{
    struct sonde_watch_options options;
    if (!sonde__base_sized_take(given, &options, sizeof options)) {
        return false;
    }
    if (options.threshold_ns == 0) {
        options.threshold_ns = SONDE_WATCH_THRESHOLD_NS;
    }
    if (options.report_fd <= 0) {
        options.report_fd = -1;
    }
    *ret_options = options;
    return options.threshold_ns >= SONDE_WATCH_THRESHOLD_MIN_NS &&
           options.tag_count <= SONDE__REPORT_TAGS_MAX &&
           (options.tag_count == 0 || options.tags != NULL) &&
           (options.report_fd >= 0 || options.on_stall != NULL || options.spool != NULL);
}

static void free_watch(struct sonde_watch *watch)
{
    for (uint32_t i = 0; i < watch->options.tag_count; i++) {
        free((char *)watch->tags[i].key);
        free((char *)watch->tags[i].value);
    }
    free((char *)watch->options.spool);
    free((char *)watch->options.build);
    free((char *)watch->options.device);
    free(watch->text);
    free(watch);
}

/* A copy, or "" without memory, which clears *ret_whole. */
static char *copy_text(const char *text, bool *ret_whole)
{
    char *copy = text != NULL ? strdup(text) : NULL;
    *ret_whole = *ret_whole && (text == NULL || copy != NULL);
    return copy;
}

/* Null: no memory. */
static struct sonde_watch *make_watch(const struct sonde_watch_options *options)
{
    struct sonde_watch *watch = calloc(1, sizeof *watch);
    bool whole = watch != NULL;
    if (watch == NULL) {
        return NULL;
    }
    watch->options = *options;
    watch->options.spool = copy_text(options->spool, &whole);
    watch->options.build = copy_text(options->build, &whole);
    watch->options.device = copy_text(options->device, &whole);
    for (uint32_t i = 0; i < options->tag_count; i++) {
        const struct sonde_watch_tag *tag = &options->tags[i];
        watch->tags[i].key = copy_text(tag->key != NULL ? tag->key : "", &whole);
        watch->tags[i].value = copy_text(tag->value != NULL ? tag->value : "", &whole);
    }
    if (!whole) {
        free_watch(watch);
        return NULL;
    }
    return watch;
}

static void fill_session(struct sonde_watch *watch)
{
    struct sonde__watch_session *session = &watch->session;
    watch->pid = sonde__os_pid();
    session->options = (struct sonde__watch_options){
        .probe = "", /* the probe is this library */
        .tool = "libsonde " SONDE_VERSION,
        .symbols = &sonde__api_watch_symbols,
        .threshold_ns = watch->options.threshold_ns,
        .report_fd = watch->options.report_fd,
        .on_stall = notify_stall,
        .on_begin = watch->options.on_begin != NULL ? notify_begin : NULL,
        .spool = watch->options.spool,
        .build = watch->options.build,
        .device = watch->options.device,
        .tags = watch->tags,
        .tag_count = watch->options.tag_count,
        .ctx = watch,
    };
    session->page = &sonde__api_marks.page;
    session->scopes = &sonde__api_marks.scopes;
    session->annotate = sonde__api_notes_read;
    session->stalled = &sonde__api_marks.stalled;
    session->carry = SONDE__WATCH_CARRIES;
    session->pid = watch->pid;
    session->main_tid = sonde__os_main_tid();
    session->wait = wait_inside;
    watch->is_announced = false;
    session->ctx = watch;
}

static enum sonde_status start(struct sonde_watch *watch, struct sonde_error *ret_error)
{
    enum sonde_status status;
    int failed;
    fill_session(watch);
    if (sonde__host_is_extension()) {
        sonde_watch_app_state(SONDE_APP_EXTENSION);
    }
    sonde__api_marks_begin(watch->options.threshold_ns);
    failed = sonde__host_start_thread(&watch->thread, run, watch);
    if (failed != 0) {
        return sonde__base_fail(ret_error, SONDE_OS, "the watch's thread", NULL, failed, 0);
    }
    while (atomic_load(&watch->phase) == STARTING) {
        status =
            sonde__os_sleep((const uint32_t *)&watch->phase, STARTING, SONDE__OS_FOREVER, false);
        (void)status;
    }
    if (atomic_load(&watch->phase) == FAILED) {
        pthread_join(watch->thread, NULL);
        status = watch->status;
        if (ret_error != NULL && watch->error.status != SONDE_OK) {
            *ret_error = watch->error;
            return status;
        }
        return sonde__base_fail(ret_error, status, "the watch could not start", NULL, 0, 0);
    }
    atomic_store(&sonde__api_marks.running, SONDE__API_RUNS);
    return SONDE_OK;
}

/* The parent's report stays with the parent; the other options apply to the child, too. */
static bool start_again(void)
{
    uint32_t expected = SONDE__API_INHERITED;
    int error = errno;
    struct sonde_watch *from = atomic_load(&inherited), *none = NULL;
    if (!atomic_compare_exchange_strong(&sonde__api_marks.running, &expected, SONDE__API_STOPPED) ||
        from == NULL) {
        return false;
    }
    struct sonde_watch_options options = from->options;
    struct sonde_watch_tag tags[SONDE__REPORT_TAGS_MAX] = {{0}};
    options.report_fd = -1;
    options.tags = tags;
    for (uint32_t i = 0; i < options.tag_count; i++) {
        tags[i] = (struct sonde_watch_tag){from->tags[i].key, from->tags[i].value};
    }
    struct sonde_watch *watch =
        options.on_stall != NULL || options.spool != NULL ? make_watch(&options) : NULL;
    if (watch != NULL && !atomic_compare_exchange_strong(&the_watch, &none, watch)) {
        free_watch(watch);
        watch = NULL;
    }
    if (watch != NULL && start(watch, NULL) != SONDE_OK) {
        atomic_store(&the_watch, NULL);
        free_watch(watch);
        watch = NULL;
    }
    errno = error;
    return watch != NULL;
}

enum sonde_status sonde_watch_start(const struct sonde_watch_options *given,
                                    struct sonde_watch **ret_watch, struct sonde_error *ret_error)
{
    struct sonde_watch_options options;
    struct sonde_watch *watch, *none = NULL;
    enum sonde_status status;
    if (ret_watch == NULL || !take_options(given, &options)) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "invalid options for the watch", NULL, 0,
                                0);
    }
    sonde__api_marks.again = start_again;
    pthread_once(&fork_once, watch_forks);
    watch = make_watch(&options);
    if (watch == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "the watch", NULL, 0, 0);
    }
    if (!atomic_compare_exchange_strong(&the_watch, &none, watch)) {
        free_watch(watch);
        return sonde__base_fail(ret_error, SONDE_BUSY, "this process has a watch already", NULL, 0,
                                0);
    }
    status = start(watch, ret_error);
    if (status != SONDE_OK) {
        atomic_store(&the_watch, NULL);
        free_watch(watch);
        return status;
    }
    atomic_store(&inherited, NULL);
    *ret_watch = watch;
    return SONDE_OK;
}

void sonde_watch_stop(struct sonde_watch *watch)
{
    if (watch != NULL && watch == atomic_load(&inherited)) { /* the parent's handle */
        uint32_t expected = SONDE__API_INHERITED;
        atomic_compare_exchange_strong(&sonde__api_marks.running, &expected, SONDE__API_STOPPED);
        watch = atomic_load(&the_watch);
    }
    if (watch == NULL || watch != atomic_load(&the_watch) ||
        pthread_equal(pthread_self(), watch->thread) ||
        atomic_load(&watch->notifier) == sonde__os_tid()) {
        return;
    }
    atomic_store(&watch->stop, 1);
    (void)sonde__os_wake((const uint32_t *)&watch->stop, false, false);
    atomic_store(&watch->session.page->sleeping, 0);
    (void)sonde__os_wake((const uint32_t *)&watch->session.page->sleeping, false, false);
    pthread_join(watch->thread, NULL);
    atomic_store(&sonde__api_marks.running, SONDE__API_STOPPED);
    atomic_store(&sonde__api_marks.stalled, 0);
    atomic_store(&the_watch, NULL);
    free_watch(watch);
}
