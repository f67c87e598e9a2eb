// SPDX-License-Identifier: Apache-2.0
/* Writes a report of this process, and reads reports. */
#include <sonde/report.h>

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "api_thread.h"
#include "base_mem.h"
#include "base_status.h"
#include "capture_images.h"
#include "drain_origin.h"
#include "drain_stack.h"
#include "mem_heap.h"
#include "os.h"
#include "report_read.h"
#include "report_view.h"
#include "report_write.h"
#include "symfile_cache.h"
#include "target_self.h"

/* Innermost and outermost frames that a report keeps of a stack. */
enum { DEPTH = 4096 };

/* The C halves of the functions in api_entry.S. `caller` is frame 0 of the calling thread. */
enum sonde_status sonde__api_report_write(uint32_t flags, sonde_write write, void *ctx,
                                          struct sonde_error *ret_error,
                                          const struct sonde__regs *caller);
enum sonde_status sonde__api_report_write_fd(uint32_t flags, int fd, struct sonde_error *ret_error,
                                             const struct sonde__regs *caller);

struct output {
    sonde_write write;
    void *ctx;
    int os_error;
};

static enum sonde_status write_record(void *ctx, const void *bytes, size_t size)
{
    struct output *output = ctx;
    output->os_error = output->write(output->ctx, bytes, size);
    return output->os_error == 0 ? SONDE_OK : SONDE_OS;
}

static bool write_text(void *ctx, const char *bytes, size_t size)
{
    return write_record(ctx, bytes, size) == SONDE_OK;
}

struct collection {
    struct sonde__report *report;
    struct sonde__drain *drain;
};

static int take_thread(void *ctx, const struct sonde_thread *thread,
                       const struct sonde_stack *stack, const struct sonde_captured *captured)
{
    struct collection *collection = ctx;
    struct sonde__report_thread record;
    struct sonde__sample sample = {
        .thread = {.tid = thread->tid,
                   .state = thread->state,
                   .letter = thread->letter,
                   .main = thread->is_main != 0},
        .stack = *stack,
    };
    struct sonde__capture_pin pin = sonde__capture_pin();
    sonde__base_mem_copy(sample.thread.name, thread->name, sizeof sample.thread.name);
    sonde__base_mem_copy(sample.thread.queue, thread->queue, sizeof sample.thread.queue);
    sonde__api_capture_of(captured, &sample.capture);
    sonde__drain_thread(collection->drain, pin.images, &sample, &record);
    sonde__capture_unpin(pin);
    sonde__report_add_thread(collection->report, &record);
    return 0;
}

static void set_header(struct sonde__report *report)
{
    struct sonde__drain_origin origin;
    struct sonde__capture_pin pin = sonde__capture_pin();
    struct sonde__report_header header = {.kind = SONDE__REPORT_STACKS,
                                          .tool = "sonde " SONDE_VERSION,
                                          .source = "process",
                                          .pid = sonde__os_pid()};
    sonde__drain_origin(&origin, &header);
    header.executable = pin.images->image_count > 0 ? pin.images->images[0].path : "";
    header.arch = sonde__arch_name(SONDE__ARCH_HOST);
    sonde__report_set_header(report, &header);
    sonde__drain_process(report, header.pid, sonde__host_parent(header.pid), header.executable);
    sonde__capture_unpin(pin);
}

static enum sonde_status collect(uint32_t flags, struct sonde__report *report,
                                 struct sonde__symfile_cache *symbols,
                                 const struct sonde__regs *caller)
{
    struct collection collection = {.report = report};
    struct sonde_capture_options options = {.struct_bytes = sizeof options};
    struct sonde_stack stack;
    enum sonde_status status;
    if (!sonde__api_stack_alloc(&stack, DEPTH, SONDE_OUTER_FRAMES)) {
        return SONDE_MEMORY;
    }
    status = sonde__drain_create(report, NULL, symbols, &collection.drain);
    if (status == SONDE_OK) {
        options.flags = (flags & SONDE_REPORT_PASSIVE_ONLY) != 0 ? SONDE_CAPTURE_PASSIVE_ONLY : 0;
        status = sonde__api_threads_capture(&options, &stack, take_thread, &collection, caller);
        sonde__drain_destroy(collection.drain);
    }
    sonde_stack_free(&stack);
    return status;
}

static enum sonde_status write_report(const struct sonde__report *report, uint32_t flags,
                                      struct output *output)
{
    struct sonde__report_writer_options options = {.no_names =
                                                       (flags & SONDE_REPORT_NO_NAMES) != 0};
    struct sonde__report_writer *writer;
    enum sonde_status status = sonde__report_writer_create(&options, write_record, output, &writer);
    if (status == SONDE_OK) {
        status = sonde__report_writer_finish(writer, report);
        sonde__report_writer_destroy(writer);
    }
    return status;
}

enum sonde_status sonde__api_report_write(uint32_t flags, sonde_write write, void *ctx,
                                          struct sonde_error *ret_error,
                                          const struct sonde__regs *caller)
{
    struct output output = {.write = write, .ctx = ctx};
    struct sonde__report *report = NULL;
    struct sonde__symfile_cache *symbols = NULL;
    enum sonde_status status;
    if (write == NULL || (flags & ~(SONDE_REPORT_NO_NAMES | SONDE_REPORT_PASSIVE_ONLY)) != 0) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "unknown flag, or no function", NULL, 0, 0);
    }
    status = sonde__target_self_refresh(false);
    if (status == SONDE_OK) {
        status = sonde__report_create(&report);
    }
    if (status == SONDE_OK && (flags & SONDE_REPORT_NO_NAMES) == 0) {
        status = sonde__symfile_cache_create(NULL, &symbols);
    }
    if (status == SONDE_OK) {
        set_header(report);
        status = collect(flags, report, symbols, caller);
    }
    if (status == SONDE_OK) {
        sonde__report_set_end(report, &(struct sonde__report_end){0});
        status = write_report(report, flags, &output);
    }
    sonde__symfile_cache_destroy(symbols);
    sonde__report_destroy(report);
    return status == SONDE_OK ? SONDE_OK
                              : sonde__base_fail(ret_error, status, "report not written", NULL,
                                                 output.os_error, 0);
}

static int write_to_fd(void *ctx, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t written = write(*(const int *)ctx, at, size);
        if (written < 0 && errno != EINTR) {
            return errno;
        }
        if (written > 0) {
            at += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

enum sonde_status sonde__api_report_write_fd(uint32_t flags, int fd, struct sonde_error *ret_error,
                                             const struct sonde__regs *caller)
{
    return sonde__api_report_write(flags, write_to_fd, &fd, ret_error, caller);
}

/* --- reading --- */

struct sonde_report {
    struct sonde__report *model;
    struct sonde__report_loss loss;
};

enum sonde_status sonde_report_read(const void *bytes, size_t size_bytes,
                                    struct sonde_report **ret_report, struct sonde_error *ret_error)
{
    struct sonde_report *report;
    enum sonde_status status;
    char line[SONDE__REPORT_LOSS_LINE];
    if (ret_report == NULL || (bytes == NULL && size_bytes > 0)) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "nothing to read", NULL, 0, 0);
    }
    *ret_report = NULL;
    report = sonde__mem_alloc(sizeof *report);
    if (report == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "report not read", NULL, 0, 0);
    }
    status = sonde__report_read(bytes, size_bytes, &report->model, &report->loss, ret_error);
    if (status != SONDE_OK) {
        sonde__mem_free(report);
        return status;
    }
    *ret_report = report;
    if (report->loss.damage == SONDE__REPORT_WHOLE) {
        return SONDE_OK;
    }
    sonde__report_loss_line(&report->loss, line, sizeof line);
    return sonde__base_fail(ret_error, SONDE_CORRUPT, line, NULL, 0, report->loss.offset);
}

void sonde_report_destroy(struct sonde_report *report)
{
    if (report != NULL) {
        sonde__report_destroy(report->model);
        sonde__mem_free(report);
    }
}

typedef void view_function(const struct sonde__report *report,
                           const struct sonde__report_view *view, struct sonde__report_sink sink);

static enum sonde_status show(const struct sonde_report *report, view_function *view_report,
                              sonde_write write, void *ctx, struct sonde_error *ret_error)
{
    struct output output = {.write = write, .ctx = ctx};
    struct sonde__report_view view = {0};
    struct sonde__report_sink sink = {write_text, &output};
    if (report == NULL || write == NULL) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "no report, or no function", NULL, 0, 0);
    }
    view.loss = &report->loss;
    view_report(report->model, &view, sink);
    return output.os_error == 0 ? SONDE_OK
                                : sonde__base_fail(ret_error, SONDE_OS, "report not written", NULL,
                                                   output.os_error, 0);
}

enum sonde_status sonde_report_text(const struct sonde_report *report, sonde_write write, void *ctx,
                                    struct sonde_error *ret_error)
{
    return show(report, sonde__report_text_view, write, ctx, ret_error);
}

enum sonde_status sonde_report_json(const struct sonde_report *report, sonde_write write, void *ctx,
                                    struct sonde_error *ret_error)
{
    return show(report, sonde__report_json_view, write, ctx, ret_error);
}
