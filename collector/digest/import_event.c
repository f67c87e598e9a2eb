// SPDX-License-Identifier: Apache-2.0
/* An event of Sentry's SDKs: hangs ("App Hanging", ANR, a blocked event loop) become stalls, errors
 * and crashes a thread with a note. Source:
 * https://develop.sentry.dev/sdk/foundations/transport/event-payloads/ and its pages on exceptions,
 * threads, stack traces, debug meta and contexts.
 *
 * A stack is an array of frames, the outermost first. A native frame has an address, which is in
 * one of the images of debug_meta. Other frames have a name, a file and a line; they get an image
 * of the package or file that the SDK names, which says whether the SDK takes it for the app's own.
 */
#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "import_model.h"
#include "mem_heap.h"
#include "mem_sort.h"

struct event_image {
    uint64_t begin, end;
    struct sonde__report_image image;
};

struct event {
    struct import *import;
    struct sonde__tape tape;
    struct event_image *images; /* by their begin */
    size_t image_count, image_capacity;
    struct sonde__report_thread *threads;
    size_t thread_count, thread_capacity;
    uint32_t current;   /* index + 1 of the thread that the event is about; 0: none yet */
    uint32_t exception; /* the outermost one: the last; or none */
    char text[IMPORT_TEXT];
};

/* A text of the event; "" if it is not there. Valid until the next one. */
static const char *text_of(struct event *e, uint32_t in, const char *path)
{
    e->text[0] = '\0';
    (void)sonde__tape_string(&e->tape, sonde__tape_get(&e->tape, in, path), e->text,
                             sizeof e->text);
    return e->text;
}

static uint32_t string_of(struct event *e, uint32_t in, const char *path)
{
    return import_string(e->import, &e->tape, sonde__tape_get(&e->tape, in, path));
}

static uint64_t number_of(const struct event *e, uint32_t in, const char *path)
{
    uint64_t value = 0;
    (void)sonde__tape_uint(&e->tape, sonde__tape_get(&e->tape, in, path), &value);
    return value;
}

/* --- images --- */

static int by_begin(const void *left, const void *right)
{
    const struct event_image *a = left, *b = right;
    return SONDE__ORDER(a, b, begin);
}

static bool add_image(struct event *e, uint32_t at)
{
    struct event_image image = {.begin = number_of(e, at, "image_addr")};
    uint64_t size = number_of(e, at, "image_size");
    const char *id_names[] = {"code_id", "debug_id", "uuid"}, *type = text_of(e, at, "type");
    bool is_apple = strcmp(type, "macho") == 0 || strcmp(type, "apple") == 0;
    image.end = size != 0 && size < UINT64_MAX - image.begin ? image.begin + size : 0;
    /* of Mach-O both ids are the UUID; of ELF only code_id is all of the build-id */
    for (unsigned i = is_apple; i < 3 && image.image.build_id.size == 0; i++) {
        image.image.build_id = import_build_id(text_of(e, at, id_names[i]));
    }
    image.image.path = string_of(e, at, "code_file");
    image.image.path = image.image.path != 0 ? image.image.path : string_of(e, at, "name");
    return SONDE__MEM_ADD(e->images, e->image_count, e->image_capacity, image);
}

static bool add_images(struct event *e)
{
    uint32_t all = sonde__tape_get(&e->tape, 0, "debug_meta.images");
    SONDE__TAPE_EACH(at, &e->tape, all)
    {
        if (e->image_count < IMPORT_IMAGES_MAX && number_of(e, at, "image_addr") != 0 &&
            !add_image(e, at)) {
            return false;
        }
    }
    if (e->image_count != 0) {
        qsort(e->images, e->image_count, sizeof *e->images, by_begin);
    }
    return true;
}

/* Without sizes an image ends where the next one begins. Null: no image has it. */
static const struct event_image *image_at(const struct event *e, uint64_t address)
{
    size_t low = 0, high = e->image_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (e->images[middle].begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct event_image *image = low != 0 ? &e->images[low - 1] : NULL;
    return image != NULL && (image->end == 0 || address < image->end) ? image : NULL;
}

/* --- frames --- */

/* Whose code it is, if the SDK says. */
static uint32_t flags_of(const struct event *e, uint32_t at)
{
    uint32_t in_app = sonde__tape_get(&e->tape, at, "in_app");
    enum sonde__tape_kind kind = sonde__tape_kind(&e->tape, in_app);
    return kind == SONDE__TAPE_TRUE    ? SONDE__REPORT_IMAGE_APP
           : kind == SONDE__TAPE_FALSE ? SONDE__REPORT_IMAGE_SYSTEM
                                       : 0;
}

static void place_frame(struct event *e, uint32_t at, struct sonde__report_frame *frame)
{
    static const char *const names[] = {"package", "module", "abs_path", "filename"};
    struct sonde__report_image image = {.flags = flags_of(e, at)};
    uint64_t address = number_of(e, at, "instruction_addr"), symbol;
    const struct event_image *found = address != 0 ? image_at(e, address) : NULL;
    if (found != NULL) {
        image.path = found->image.path;
        image.build_id = found->image.build_id;
        frame->offset = address - found->begin;
    }
    for (unsigned i = 0; i < sizeof names / sizeof *names && image.path == 0; i++) {
        image.path = string_of(e, at, names[i]);
    }
    if (image.path != 0 || image.build_id.size != 0) {
        frame->image = sonde__report_add_image(e->import->report, &image);
    }
    if (found == NULL && frame->image == 0) {
        frame->offset = address;
    }
    symbol = number_of(e, at, "symbol_addr");
    if (frame->name != 0 && address > symbol && symbol != 0) {
        frame->name_offset = address - symbol;
        frame->name_source = SONDE__REPORT_NAME_SYMTAB;
    }
}

static uint32_t add_frame(struct event *e, uint32_t caller, uint32_t at, bool is_innermost)
{
    struct sonde__report_frame frame = {.how =
                                            is_innermost ? SONDE_FOUND_REGISTERS : SONDE_FOUND_FP};
    uint64_t line = number_of(e, at, "lineno");
    if (strcmp(text_of(e, at, "function"), "?") != 0) { /* the SDK for JavaScript knows none */
        frame.name = string_of(e, at, "function");
    }
    frame.name_source = frame.name != 0 ? SONDE__REPORT_NAME_JIT : SONDE__REPORT_NAME_NONE;
    frame.file = string_of(e, at, "abs_path");
    frame.file = frame.file != 0 ? frame.file : string_of(e, at, "filename");
    frame.line = line <= UINT32_MAX ? (uint32_t)line : 0;
    place_frame(e, at, &frame);
    return import_frame(e->import, caller, &frame);
}

/* The innermost node of a stacktrace; 0: it has none. */
static uint32_t add_stack(struct event *e, uint32_t stacktrace)
{
    uint32_t frames = sonde__tape_get(&e->tape, stacktrace, "frames"), node = 0;
    SONDE__TAPE_EACH(at, &e->tape, frames)
    {
        bool is_innermost = sonde__tape_next(&e->tape, frames, at) == SONDE__TAPE_NONE;
        node = add_frame(e, node, at, is_innermost);
    }
    return node;
}

/* --- threads --- */

/* An id is a number, or a text; 0 is one, too. */
static int64_t thread_id(struct event *e, uint32_t thread, const char *name)
{
    uint64_t id = 0;
    (void)sonde__tape_uint(&e->tape, sonde__tape_get(&e->tape, thread, name), &id);
    return id <= INT64_MAX ? (int64_t)id : 0;
}

static bool add_thread(struct event *e, uint32_t at)
{
    struct sonde__report_thread thread = {
        .tid = thread_id(e, at, "id"),
        .name = string_of(e, at, "name"),
        .state = string_of(e, at, "state"),
        .main = sonde__tape_true(&e->tape, sonde__tape_get(&e->tape, at, "main"))};
    if (strcmp(text_of(e, at, "name"), "main") == 0) {
        thread.main = true;
    }
    thread.stack = add_stack(e, sonde__tape_get(&e->tape, at, "stacktrace"));
    bool is_current = sonde__tape_true(&e->tape, sonde__tape_get(&e->tape, at, "crashed")) ||
                      sonde__tape_true(&e->tape, sonde__tape_get(&e->tape, at, "current"));
    if (!SONDE__MEM_ADD(e->threads, e->thread_count, e->thread_capacity, thread)) {
        return false;
    }
    e->current = is_current && e->current == 0 ? (uint32_t)e->thread_count : e->current;
    return true;
}

static uint32_t values_of(const struct event *e, const char *name)
{
    uint32_t at = sonde__tape_get(&e->tape, 0, name);
    return sonde__tape_kind(&e->tape, at) == SONDE__TAPE_OBJECT
               ? sonde__tape_get(&e->tape, at, "values")
               : at;
}

/* The thread of the exception: its stack is the exception's, if that has one. Without threads the
 * event is about the only one there is. */
static bool join_exception(struct event *e)
{
    uint32_t id = sonde__tape_get(&e->tape, e->exception, "thread_id");
    uint32_t stack = add_stack(e, sonde__tape_get(&e->tape, e->exception, "stacktrace"));
    for (uint32_t i = 0; id != SONDE__TAPE_NONE && i < e->thread_count; i++) {
        if (e->threads[i].tid == thread_id(e, e->exception, "thread_id")) {
            e->current = i + 1;
        }
    }
    if (e->current == 0) {
        const struct sonde__report_thread only = {.main = e->thread_count == 0};
        if (!SONDE__MEM_ADD(e->threads, e->thread_count, e->thread_capacity, only)) {
            return false;
        }
        e->current = (uint32_t)e->thread_count;
    }
    struct sonde__report_thread *thread = &e->threads[e->current - 1];
    thread->stack = stack != 0 ? stack : thread->stack;
    return true;
}

static bool add_threads(struct event *e)
{
    uint32_t threads = values_of(e, "threads"), exceptions = values_of(e, "exception");
    SONDE__TAPE_EACH(at, &e->tape, threads)
    {
        if (e->thread_count < SONDE__REPORT_THREADS_MAX && !add_thread(e, at)) {
            return false;
        }
    }
    SONDE__TAPE_EACH(at, &e->tape, exceptions)
    {
        e->exception = at;
    }
    return e->exception == SONDE__TAPE_NONE || join_exception(e);
}

/* --- what it is --- */

static bool has_word(const char *text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcasestr(text, *words) != NULL) {
            return true;
        }
    }
    return false;
}

/* By what the SDKs for Apple's systems, Android, native programs, Node.js and Python send. */
static bool is_hang(struct event *e)
{
    static const char *const mechanisms[] = {"AppHang", "app_hang", "ANR", "AppExitInfo", NULL};
    static const char *const types[] = {"App Hang", "NotResponding",    "EventLoopBlock",
                                        "ANR",      "Event Loop Block", NULL};
    return e->exception != SONDE__TAPE_NONE &&
           (has_word(text_of(e, e->exception, "mechanism.type"), mechanisms) ||
            has_word(text_of(e, e->exception, "type"), types));
}

static bool is_fatal(struct event *e)
{
    return strncmp(text_of(e, e->exception, "type"), "Fatal", 5) == 0 ||
           strcmp(text_of(e, 0, "level"), "fatal") == 0;
}

static void add_hang(struct event *e)
{
    const struct import_stall stall = {.threads = e->threads,
                                       .thread_count = (uint32_t)e->thread_count,
                                       .stalled = e->current - 1,
                                       .duration_ns =
                                           import_duration(text_of(e, e->exception, "value")),
                                       .is_fatal = is_fatal(e)};
    import_stall(e->import, &stall);
}

static void add_stacks(struct event *e)
{
    if (e->exception != SONDE__TAPE_NONE) {
        uint32_t handled = sonde__tape_get(&e->tape, e->exception, "mechanism.handled");
        const char *type = text_of(e, e->exception, "type");
        e->threads[e->current - 1].note =
            import_error_note(e->import, sonde__tape_kind(&e->tape, handled) == SONDE__TAPE_FALSE,
                              *type != '\0' ? type : "an error");
    }
    for (size_t i = 0; i < e->thread_count; i++) {
        (void)sonde__report_add_thread(e->import->report, &e->threads[i]);
    }
}

/* --- the header --- */

static uint64_t time_of(struct event *e)
{
    uint64_t ns = 0;
    uint32_t at = sonde__tape_get(&e->tape, 0, "timestamp");
    if (sonde__tape_scaled(&e->tape, at, 1000000000u, &ns)) {
        return ns;
    }
    return import_time(text_of(e, 0, "timestamp"));
}

struct event_texts {
    char tool[128], program[128], os[160], arch[32], build[256], device[17], model[96], kernel[96];
    struct sonde__report_tag tags[SONDE__REPORT_TAGS_MAX];
    char tag_texts[SONDE__REPORT_TAGS_MAX][2][201];
    uint32_t tag_count;
};

static void copy(struct event *e, uint32_t in, const char *path, char *to, size_t size)
{
    to[0] = '\0';
    (void)sonde__tape_string(&e->tape, sonde__tape_get(&e->tape, in, path), to, size);
    for (size_t used = strlen(to); used > 0 && strchr(" \t\r\n", to[used - 1]) != NULL;) {
        to[--used] = '\0';
    }
}

/* Two texts with a space between them. */
static void copy_two(struct event *e, const char *one, const char *other, char *to, size_t size)
{
    copy(e, 0, one, to, size);
    size_t used = strlen(to);
    if (used + 2 < size) {
        copy(e, 0, other, to + used + (used != 0), size - used - 1);
        to[used] = used != 0 && to[used + 1] != '\0' ? ' ' : to[used];
    }
}

/* The app's name; else what stands before the version in a release, "app@1.2.3". */
static void find_program(struct event *e, struct event_texts *texts)
{
    static const char *const names[] = {"contexts.app.app_name", "contexts.app.app_identifier",
                                        NULL};
    texts->program[0] = '\0';
    for (unsigned i = 0; names[i] != NULL && texts->program[0] == '\0'; i++) {
        copy(e, 0, names[i], texts->program, sizeof texts->program);
    }
    const char *at = strchr(texts->build, '@');
    if (texts->program[0] == '\0' && at != NULL) {
        size_t size = (size_t)(at - texts->build);
        size = size < sizeof texts->program ? size : sizeof texts->program - 1;
        memcpy(texts->program, texts->build, size);
        texts->program[size] = '\0';
    }
    if (texts->program[0] == '\0') {
        copy(e, 0, "platform", texts->program, sizeof texts->program);
    }
}

static void find_device(struct event *e, struct event_texts *texts)
{
    static const char *const names[] = {"contexts.device.device_unique_identifier",
                                        "contexts.device.id",
                                        "user.id",
                                        "contexts.app.device_app_hash",
                                        "server_name",
                                        NULL};
    texts->device[0] = '\0';
    for (unsigned i = 0; names[i] != NULL && texts->device[0] == '\0'; i++) {
        import_pseudonym(text_of(e, 0, names[i]), texts->device);
    }
}

static void add_tag(struct event *e, struct event_texts *texts, uint32_t name, uint32_t value)
{
    if (texts->tag_count == SONDE__REPORT_TAGS_MAX) {
        return;
    }
    char(*text)[201] = texts->tag_texts[texts->tag_count];
    if (sonde__tape_string(&e->tape, name, text[0], sizeof text[0]) &&
        sonde__tape_string(&e->tape, value, text[1], sizeof text[1])) {
        texts->tags[texts->tag_count++] = (struct sonde__report_tag){text[0], text[1]};
    }
}

/* An object, or an array of pairs. */
static void find_tags(struct event *e, struct event_texts *texts)
{
    uint32_t tags = sonde__tape_get(&e->tape, 0, "tags");
    bool is_object = sonde__tape_kind(&e->tape, tags) == SONDE__TAPE_OBJECT;
    uint32_t environment = sonde__tape_get(&e->tape, 0, "environment");
    add_tag(e, texts, sonde__tape_key(environment), environment);
    SONDE__TAPE_EACH(at, &e->tape, tags)
    {
        uint32_t name = is_object ? sonde__tape_key(at) : sonde__tape_first(&e->tape, at);
        add_tag(e, texts, name, is_object ? at : sonde__tape_next(&e->tape, at, name));
    }
}

static bool set_header(struct event *e, enum sonde__report_kind kind)
{
    struct event_texts *t = sonde__mem_alloc_zeroed(sizeof *t);
    if (t == NULL) {
        return false;
    }
    copy_two(e, "sdk.name", "sdk.version", t->tool, sizeof t->tool);
    copy_two(e, "contexts.os.name", "contexts.os.version", t->os, sizeof t->os);
    copy(e, 0, "contexts.os.kernel_version", t->kernel, sizeof t->kernel);
    copy(e, 0, "contexts.device.arch", t->arch, sizeof t->arch);
    copy(e, 0, "contexts.device.model", t->model, sizeof t->model);
    copy(e, 0, "release", t->build, sizeof t->build);
    find_program(e, t);
    find_device(e, t);
    find_tags(e, t);
    const struct sonde__report_header header = {
        .kind = kind,
        .tool = t->tool,
        .executable = t->program,
        .os = t->os,
        .arch = t->arch,
        .source = "sentry",
        .time_unix_ns = time_of(e),
        .report_id = e->import->id,
        .build = t->build,
        .device = {.id = t->device, .model = t->model, .os = t->os, .kernel = t->kernel},
        .tags = t->tags,
        .tag_count = t->tag_count};
    sonde__report_set_header(e->import->report, &header);
    sonde__mem_free(t);
    return true;
}

static enum sonde_status read_parts(struct event *e)
{
    if (sonde__tape_kind(&e->tape, 0) != SONDE__TAPE_OBJECT) {
        return import_fail(e->import, "the event is no JSON object");
    }
    if (!add_images(e) || !add_threads(e)) {
        return SONDE_MEMORY;
    }
    bool has_hang = is_hang(e);
    if (!set_header(e, has_hang ? SONDE__REPORT_WATCH : SONDE__REPORT_STACKS)) {
        return SONDE_MEMORY;
    }
    if (has_hang) {
        add_hang(e);
    } else {
        add_stacks(e);
    }
    return SONDE_OK;
}

enum sonde_status import_event(struct import *import, const char *bytes, size_t size)
{
    struct envelope envelope;
    if (!envelope_read(bytes, size, &envelope, import->error)) {
        return SONDE_CORRUPT;
    }
    if (envelope.event == NULL) {
        return import_fail(import, "the envelope has no event");
    }
    struct event *e = sonde__mem_alloc_zeroed(sizeof *e);
    if (e == NULL) {
        return SONDE_MEMORY;
    }
    e->import = import;
    e->exception = SONDE__TAPE_NONE;
    enum sonde_status status = sonde__tape_read(envelope.event, envelope.event_size,
                                                IMPORT_VALUES_MAX, &e->tape, NULL, import->error);
    if (status == SONDE_OK) {
        status = read_parts(e);
    }
    sonde__tape_done(&e->tape);
    sonde__mem_free(e->images);
    sonde__mem_free(e->threads);
    sonde__mem_free(e);
    return status;
}
