// SPDX-License-Identifier: Apache-2.0
/* Show a report as text, and its size as JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/report.h>

enum { SIZE_MAX_BYTES = 16 << 20 };

static int to_stdout(void *ctx, const void *bytes, size_t size_bytes)
{
    (void)ctx;
    return fwrite(bytes, 1, size_bytes, stdout) == size_bytes ? 0 : EIO;
}

static int count(void *ctx, const void *bytes, size_t size_bytes)
{
    (void)bytes;
    *(size_t *)ctx += size_bytes;
    return 0;
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    char *bytes = malloc(SIZE_MAX_BYTES);
    size_t json_bytes = 0;
    struct sonde_report *report = NULL;
    struct sonde_error error;
    enum sonde_status status;

    if (file == NULL || bytes == NULL) {
        fputs("usage: report_read FILE\n", stderr);
        return 2;
    }
    status = sonde_report_read(bytes, fread(bytes, 1, SIZE_MAX_BYTES, file), &report, &error);
    fclose(file);
    free(bytes);
    if (status != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
    }
    if (report == NULL) {
        return 1;
    }
    /* of a damaged report, everything before the damage is there */
    if (sonde_report_text(report, to_stdout, NULL, &error) != SONDE_OK ||
        sonde_report_json(report, count, &json_bytes, &error) != SONDE_OK) {
        fprintf(stderr, "%s\n", error.what);
        return 1;
    }
    printf("(%zu bytes of JSON)\n", json_bytes);
    sonde_report_destroy(report);
    return status == SONDE_OK ? 0 : 1;
}
