// SPDX-License-Identifier: Apache-2.0
#include "import.h"

#include <stdio.h>
#include <string.h>

#include "import_model.h"
#include "mem_heap.h"
#include "report_write.h"

struct output {
    char *bytes;
    size_t size, capacity;
};

static enum sonde_status append(void *ctx, const void *bytes, size_t size)
{
    struct output *output = ctx;
    while (output->size + size > output->capacity) {
        if (!sonde__mem_grow(&output->bytes, output->capacity, &output->capacity, 1)) {
            return SONDE_MEMORY;
        }
    }
    memcpy(output->bytes + output->size, bytes, size);
    output->size += size;
    return SONDE_OK;
}

static enum sonde_status write_report(const struct sonde__report *report, struct output *output)
{
    struct sonde__report_writer *writer;
    enum sonde_status status = sonde__report_writer_create(NULL, append, output, &writer);
    if (status == SONDE_OK) {
        status = sonde__report_writer_finish(writer, report);
        sonde__report_writer_destroy(writer);
    }
    return status;
}

static import_reader *reader_of(enum import_form form)
{
    switch (form) {
    case IMPORT_ENVELOPE:
        return import_event;
    case IMPORT_IPS:
        return import_ips;
    case IMPORT_CRASH:
        return import_crash;
    case IMPORT_METRICS:
        return import_metrics;
    }
    return NULL;
}

enum sonde_status import_read(enum import_form form, const void *bytes, size_t size, const char *id,
                              void **ret_bytes, size_t *ret_size, struct sonde_error *ret_error)
{
    struct import import = {.id = id, .error = ret_error};
    struct output output = {0};
    import_reader *read = reader_of(form);
    *ret_error = (struct sonde_error){.status = SONDE_CORRUPT};
    if (read == NULL) {
        return import_fail(&import, "this format is not known here");
    }
    enum sonde_status status = sonde__report_create(&import.report);
    if (status != SONDE_OK) {
        return status;
    }
    status = read(&import, bytes, size);
    if (status == SONDE_OK) {
        const struct sonde__report_end end = {.stall_count =
                                                  sonde__report_stall_count(import.report)};
        sonde__report_set_end(import.report, &end);
        status = write_report(import.report, &output);
    }
    sonde__report_destroy(import.report);
    if (status != SONDE_OK) {
        sonde__mem_free(output.bytes);
        return status;
    }
    *ret_bytes = output.bytes;
    *ret_size = output.size;
    return SONDE_OK;
}
