// SPDX-License-Identifier: Apache-2.0
/* A sender in the background with the app's own transport: here a "server" in memory that fails
 * once. Lists the waiting reports, reads one, deletes one, pauses the sender and wakes it.
 * Argument: the spool folder. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sonde/report.h>
#include <sonde/upload.h>

static _Atomic unsigned stored;

/* Stands in for an app's own HTTP client. */
static void post(void *ctx, const struct sonde_upload_request *request,
                 struct sonde_upload_reply *reply)
{
    static const char version[] = "Sonde-Protocol: 1";
    unsigned *count = ctx;
    printf("POST %s, %s\n", request->url, request->body_bytes > 0 ? "with a report" : "empty");
    reply->header(reply, version, strlen(version));
    reply->status(reply, ++*count == 1 ? 503 : 201);
}

static void count_stored(void *ctx, const struct sonde_upload_item *item)
{
    (void)ctx;
    printf("answer %d: %s\n", (int)item->http_status,
           item->outcome == SONDE_UPLOAD_STORED ? "stored" : "later");
    stored += item->outcome == SONDE_UPLOAD_STORED;
}

static int write_file(void *ctx, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, ctx) == size ? 0 : 5; /* EIO */
}

struct names {
    char list[8][64];
    unsigned count;
};

static int32_t add_name(void *ctx, const struct sonde_upload_entry *entry)
{
    struct names *names = ctx;
    snprintf(names->list[names->count++], sizeof names->list[0], "%s", entry->name);
    return names->count == 8;
}

static int count_bytes(void *ctx, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)ctx += size;
    return 0;
}

/* Two reports; the user sees them, reads the first, and deletes the second. */
static int show_to_user(const char *folder, struct sonde_error *error)
{
    struct names names = {.count = 0};
    char *bytes;
    size_t size, read = 0;
    FILE *memory = open_memstream(&bytes, &size);
    if (memory == NULL || sonde_report_write(0, write_file, memory, error) != SONDE_OK) {
        return 1;
    }
    fclose(memory);
    if (sonde_upload_add(folder, bytes, size, error) != SONDE_OK ||
        sonde_upload_add(folder, bytes, size, error) != SONDE_OK ||
        sonde_upload_list(folder, add_name, &names, error) != SONDE_OK ||
        sonde_upload_read(folder, names.list[0], count_bytes, &read, error) != SONDE_OK ||
        sonde_upload_delete(folder, names.list[1], error) != SONDE_OK) {
        return 1;
    }
    printf("%u reports, the first is %s\n", names.count, read == size ? "whole" : "cut");
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned requests = 0;
    struct sonde_error error;
    struct sonde_upload *upload;
    const struct sonde_upload_transport transport = {
        .struct_bytes = sizeof transport, .send = post, .ctx = &requests};
    const struct sonde_upload_options options = {
        .struct_bytes = sizeof options,
        .folder = argc > 1 ? argv[1] : "spool",
        .to = "https://collector.example/",
        .transport = &transport,
        .on_end = count_stored,
    };
    if (show_to_user(options.folder, &error) != 0 ||
        sonde_upload_start(&options, &upload, &error) != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
        return 1;
    }
    sonde_upload_pause(upload, 1); /* the user turns it off */
    sonde_upload_pause(upload, 0); /* and on */
    while (stored == 0) {          /* it would wait a minute after a 503: do not */
        const struct timespec pause = {.tv_nsec = 50000000};
        nanosleep(&pause, NULL);
        sonde_upload_wake(upload);
    }
    sonde_upload_stop(upload);
    printf("%u stored\n", (unsigned)stored);
    return 0;
}
