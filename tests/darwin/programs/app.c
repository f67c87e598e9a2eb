// SPDX-License-Identifier: Apache-2.0
/* A minimal app, without sonde, with its stacks, names and blocks (-DWITH_SONDE), and with the
 * watch, the audit and the upload in addition to these (-DWITH_WATCH, _AUDIT, _UPLOAD): package.sh
 * compares their sizes. It is not run. */
#include <stdint.h>
#include <stdio.h>

#if defined(WITH_SONDE)
#    include <sonde/audit.h>
#    include <sonde/block.h>
#    include <sonde/text.h>
#    include <sonde/thread.h>
#    include <sonde/upload.h>
#    include <sonde/watch.h>

static int put(void *ctx, const void *part, size_t size)
{
    return fwrite(part, 1, size, ctx) == size ? 0 : 1;
}

#    if defined(WITH_WATCH)
static int watch(void)
{
    const struct sonde_watch_options options = {.struct_bytes = sizeof options, .spool = "spool"};
    struct sonde_watch *watch = NULL;
    return sonde_watch_start(&options, &watch, NULL) != SONDE_OK ||
           sonde_watch_run_loop(NULL) != SONDE_OK;
}
#    else
#        define watch() 0
#    endif

#    if defined(WITH_AUDIT)
static int audit(void)
{
    static const uint8_t rules[1]; /* an app has those of a file */
    const struct sonde_audit_options options = {.struct_bytes = sizeof options, .spool = "spool"};
    struct sonde_audit_run *run = NULL;
    return sonde_audit_begin(rules, sizeof rules, &options, &run, NULL) != SONDE_OK ||
           sonde_audit_finish(run, NULL) != SONDE_OK;
}
#    else
#        define audit() 0
#    endif

#    if defined(WITH_UPLOAD)
static void post(void *ctx, const struct sonde_upload_request *request,
                 struct sonde_upload_reply *reply)
{
    (void)ctx;
    reply->failed(reply, SONDE_UPLOAD_UNREACHABLE, request->url);
}

static int upload(void)
{
    const struct sonde_upload_transport transport = {.struct_bytes = sizeof transport,
                                                     .send = post};
    const struct sonde_upload_options options = {.struct_bytes = sizeof options,
                                                 .folder = "spool",
                                                 .to = "https://collector.example/",
                                                 .transport = &transport};
    struct sonde_upload *upload = NULL;
    return sonde_upload_now(&options, NULL, NULL) != SONDE_OK ||
           sonde_upload_start(&options, &upload, NULL) != SONDE_OK;
}
#    else
#        define upload() 0
#    endif

static int report(void)
{
    uint64_t pcs[100];
    struct sonde_stack stack;
    struct sonde_symbolizer *symbolizer = NULL;
    sonde_stack_init(&stack, pcs, NULL, 100, 0);
    if (sonde_stack_prepare() != SONDE_OK || sonde_stack_capture(&stack, 0) != SONDE_OK ||
        sonde_symbolizer_create(&symbolizer) != SONDE_OK) {
        return 1;
    }
    enum sonde_status status =
        sonde_thread_write(symbolizer, SONDE_STYLE_BS, sonde_thread_main(), put, stdout);
    sonde_symbolizer_destroy(symbolizer);
    return status != SONDE_OK || sonde_block_describe_install(0) != SONDE_OK || watch() ||
           audit() || upload();
}
#else
static int report(void)
{
    return puts("nothing") < 0;
}
#endif

int main(void)
{
    return report();
}
