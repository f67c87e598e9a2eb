// SPDX-License-Identifier: Apache-2.0
/* Keep a report of this process's stacks in a spool folder, and send the folder's reports with
 * libcurl (libsonde-upload). Arguments: the folder, and a collector or a DSN. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/report.h>
#include <sonde/upload.h>

struct bytes {
    char *data;
    size_t size;
};

static int append(void *ctx, const void *data, size_t size)
{
    struct bytes *bytes = ctx;
    char *longer = realloc(bytes->data, bytes->size + size);
    if (longer == NULL) {
        return 12; /* ENOMEM */
    }
    memcpy(longer + bytes->size, data, size);
    bytes->data = longer;
    bytes->size += size;
    return 0;
}

static void print_outcome(void *ctx, const struct sonde_upload_item *item)
{
    static const char *const texts[] = {"stored", "later", "refused", "stopped"};
    (void)ctx;
    printf("%s, try %u: %s %s\n", item->name, (unsigned)item->tries, texts[item->outcome],
           item->why);
    for (size_t i = 0; item->need[i] != NULL; i++) {
        printf("  symbols wanted: %s\n", item->need[i]);
    }
}

int main(int argc, char **argv)
{
    struct bytes report = {0};
    struct sonde_error error;
    struct sonde_upload_result result = {.struct_bytes = sizeof result};
    struct sonde_upload_options options = {
        .struct_bytes = sizeof options,
        .folder = argc > 1 ? argv[1] : "spool",
        .to = argc > 2 ? argv[2] : "http://127.0.0.1:1/",
        .key = getenv("COLLECTOR_KEY"),
        .transport = sonde_upload_curl(),
        .on_end = print_outcome,
    };
    if (sonde_report_write(0, append, &report, &error) != SONDE_OK ||
        sonde_upload_add(options.folder, report.data, report.size, &error) != SONDE_OK ||
        sonde_upload_now(&options, &result, &error) != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
        return 1;
    }
    printf("%u stored, %u for later\n", (unsigned)result.stored, (unsigned)result.later);
    free(report.data);
    return 0;
}
