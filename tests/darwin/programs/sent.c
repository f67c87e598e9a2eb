// SPDX-License-Identifier: Apache-2.0
/* A report's way out of an app: a stall in a live file, SIGKILL, the next start, a transport.
 *
 *     sent FOLDER die          write a stall of this stack into a live file, and be killed
 *     sent FOLDER send FILE    finish the run of the killed program, and send its report to FILE */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sonde/image.h>
#include <sonde/stack.h>
#include <sonde/upload.h>

#include "host_folder.h"
#include "host_process.h"
#include "host_run.h"
#include "report_write.h"
#include "spool_finish.h"
#include "spool_session.h"

enum { FRAMES = 32, MS = 1000000 };
#define BEGIN_NS 1700000000000000000u

static int fail(const char *what)
{
    printf("FAILED %s\n", what);
    return 1;
}

/* --- the run that is killed --- */

struct search {
    struct sonde__report *report;
    uint64_t pc;
    uint8_t how;
    uint32_t frame;
};

static int add_frame(void *ctx, const struct sonde_image *image)
{
    struct search *search = ctx;
    struct sonde__report_image record = {
        .path = sonde__report_string(search->report, image->path),
        .build_id.size = image->build_id_size,
    };
    memcpy(record.build_id.bytes, image->build_id, image->build_id_size);
    search->frame = sonde__report_add_frame(
        search->report,
        &(struct sonde__report_frame){.image = sonde__report_add_image(search->report, &record),
                                      .offset = search->pc - image->bias,
                                      .how = search->how});
    return 0;
}

static uint32_t add_stack(struct sonde__report *report, const struct sonde_stack *stack)
{
    uint32_t node = 0;
    for (uint32_t i = stack->count; i-- > 0;) {
        struct search search = {report, stack->pcs[i], stack->how[i], 0};
        if (sonde_image_find(stack->pcs[i], add_frame, &search) == SONDE_OK && search.frame != 0) {
            node = sonde__report_add_node(report, node, search.frame);
        }
    }
    return node;
}

static int write_stall(const char *folder, const struct sonde_stack *stack)
{
    struct sonde__spool_session session;
    struct sonde__report *live;
    struct sonde__report_writer *writer;
    if (sonde__spool_begin(folder, getpid(), true, &session, NULL) != SONDE_OK ||
        session.live_fd < 0 || sonde__report_create(&live) != SONDE_OK) {
        return fail("the run's files");
    }
    sonde__report_set_header(live, &(struct sonde__report_header){.kind = SONDE__REPORT_WATCH,
                                                                  .tool = "sent",
                                                                  .executable = "sent",
                                                                  .pid = getpid(),
                                                                  .time_unix_ns = BEGIN_NS,
                                                                  .report_id = "5e17",
                                                                  .threshold_ns = 250 * MS});
    (void)sonde__report_add_process(
        live, &(struct sonde__report_process){.pid = getpid(),
                                              .start_ticks = sonde__host_process_start(getpid())});
    const struct sonde__report_sample sample = {.weight_ns = 300 * MS,
                                                .stack = add_stack(live, stack)};
    const struct sonde__report_stall stall = {.begin_ns = MS,
                                              .duration_ns = 300 * MS,
                                              .tid = 1,
                                              .process = 1,
                                              .open = true,
                                              .samples = &sample,
                                              .sample_count = 1};
    if (sonde__report_writer_create(NULL, sonde__spool_stream_write, &session.live, &writer) !=
            SONDE_OK ||
        sonde__report_writer_growing(writer, live, &stall) != SONDE_OK) {
        return fail("the live file");
    }
    kill(getpid(), SIGKILL);
    return fail("to be killed");
}

__attribute__((noinline)) static int innermost(const char *folder)
{
    uint64_t pcs[FRAMES];
    uint8_t how[FRAMES];
    struct sonde_stack stack = {.pcs = pcs, .how = how, .capacity = FRAMES};
    if (sonde_stack_capture(&stack, 0) != SONDE_OK) {
        return fail("the capture");
    }
    return write_stall(folder, &stack) + 1;
}

__attribute__((noinline)) static int save_all(const char *folder)
{
    return innermost(folder) + 1;
}

/* --- the next start --- */

static void count_fatal(void *ctx, const struct sonde__spool_finished *finished)
{
    const struct sonde__report_stall *stall = sonde__report_stall(finished->report, 0);
    *(unsigned *)ctx += finished->recovered == 1 && stall->fatal;
}

/* What is "sent" is the file's contents. */
static void post(void *ctx, const struct sonde_upload_request *request,
                 struct sonde_upload_reply *reply)
{
    static const char version[] = "Sonde-Protocol: 1";
    int fd = open(ctx, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || !sonde__host_write_all(fd, request->body, request->body_bytes)) {
        reply->failed(reply, SONDE_UPLOAD_UNREACHABLE, "the file");
        return;
    }
    close(fd);
    reply->header(reply, version, strlen(version));
    reply->status(reply, 201);
}

static int send_all(const char *path, char *file)
{
    unsigned fatal = 0;
    const struct sonde__spool_finishing how = {.each = count_fatal, .ctx = &fatal};
    const struct sonde_upload_transport transport = {
        .struct_bytes = sizeof transport, .send = post, .ctx = file};
    const struct sonde_upload_options options = {.struct_bytes = sizeof options,
                                                 .folder = path,
                                                 .to = "https://collector.example/",
                                                 .transport = &transport};
    struct sonde_upload_result result = {.struct_bytes = sizeof result};
    int32_t folder;
    if (sonde__host_folder_open(path, false, &folder, NULL) != SONDE_OK ||
        sonde__spool_finish(folder, &how) != SONDE_OK || fatal != 1) {
        return fail("to finish the killed run");
    }
    sonde__host_close(folder);
    if (sonde_upload_now(&options, &result, NULL) != SONDE_OK || result.stored != 1) {
        return fail("to send");
    }
    printf("sent\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[2], "die") == 0) {
        return save_all(argv[1]) + 1;
    }
    if (argc == 4 && strcmp(argv[2], "send") == 0) {
        return send_all(argv[1], argv[3]);
    }
    return fail("arguments");
}
