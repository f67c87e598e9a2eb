// SPDX-License-Identifier: Apache-2.0
/* Hostile reports: read, viewed, analysed, exported and written again. A report written again must
 * read back complete and unchanged; exported JSON has no byte that JSON forbids.
 *
 * The input is read as a report file, and as one record, to which the checksum is added. */
#include <stdlib.h>
#include <string.h>

#include "base_crc32c.h"
#include "export.h"
#include "fuzz.h"
#include "report_proto.h"
#include "report_read.h"
#include "report_view.h"
#include "report_write.h"
#include "upload_envelope.h"

static bool count_bytes(void *ctx, const char *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)ctx += size;
    return *(size_t *)ctx < (4u << 20); /* a deep stack repeated many times is slow, not wrong */
}

/* Brackets match; strings end and contain no control character. */
struct brackets {
    size_t size;
    int depth;
    bool in_string, escaped;
};

static bool check_brackets(void *ctx, const char *bytes, size_t size)
{
    struct brackets *b = ctx;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (b->in_string) {
            FUZZ_MUST(c >= 0x20);
            b->in_string = b->escaped || c != '"';
            b->escaped = !b->escaped && c == '\\';
        } else {
            b->in_string = c == '"';
            b->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
            FUZZ_MUST(b->depth >= 0);
        }
    }
    b->size += size;
    return b->size < (4u << 20);
}

static void export_all(const struct sonde__report *report)
{
    for (unsigned format = 0; format <= SONDE__EXPORT_PERFETTO; format++) {
        const struct sonde__export_options options = {(enum sonde__export_format)format, false};
        struct sonde_error error;
        struct brackets brackets = {0};
        bool is_json = format == SONDE__EXPORT_FIREFOX || format == SONDE__EXPORT_SPEEDSCOPE;
        size_t size = 0;
        const struct sonde__report_sink sink = {is_json ? check_brackets : count_bytes,
                                                is_json ? (void *)&brackets : (void *)&size};
        enum sonde_status status = sonde__export(report, &options, sink, &error);
        if (is_json && status == SONDE_OK && brackets.size < (4u << 20)) {
            FUZZ_MUST(brackets.size != 0 && brackets.depth == 0 && !brackets.in_string);
        }
    }
}

static enum sonde_status keep_bytes(void *ctx, const void *bytes, size_t size)
{
    struct sonde__proto *to = ctx;
    sonde__proto_raw(to, bytes, size);
    return to->failed ? SONDE_MEMORY : SONDE_OK;
}

static void write_again(const struct sonde__report *report, struct sonde__proto *to)
{
    struct sonde__report_writer *writer = NULL;
    if (sonde__report_writer_create(NULL, keep_bytes, to, &writer) == SONDE_OK) {
        FUZZ_MUST(sonde__report_writer_finish(writer, report) == SONDE_OK);
        sonde__report_writer_destroy(writer);
    }
}

/* The stack of the first stall, or of the threads. */
static void make_envelope(const struct sonde__report *report)
{
    bool has_stall = sonde__report_stall_count(report) > 0;
    const struct sonde__upload_event event = {
        .report = report,
        .stall = has_stall ? sonde__report_stall(report, 0) : NULL,
        .event_id = "0123456789abcdef0123456789abcdef",
    };
    void *bytes;
    size_t size;
    if (sonde__upload_envelope(&event, &bytes, &size) == SONDE_OK) {
        FUZZ_MUST(size <= SONDE__UPLOAD_EVENT_MAX + 512 && memchr(bytes, '\0', size) == NULL);
        free(bytes);
    }
}

static void use(const struct sonde__report *report, const struct sonde__report_loss *loss)
{
    size_t size = 0;
    const struct sonde__report_view view = {.images = true, .color = true, .loss = loss};
    const struct sonde__report_sink sink = {count_bytes, &size};
    sonde__report_text_view(report, &view, sink);
    size = 0;
    sonde__report_json_view(report, &view, sink);
    export_all(report);
    make_envelope(report);

    struct sonde__report *again = NULL;
    struct sonde__report_loss none;
    struct sonde__proto first = {0};
    write_again(report, &first);
    if (sonde__report_read(first.data, first.size, &again, &none, NULL) == SONDE_OK) {
        FUZZ_MUST(none.damage == SONDE__REPORT_WHOLE && none.bad_parts == 0);
        FUZZ_MUST(sonde__report_thread_count(again) == sonde__report_thread_count(report));
        FUZZ_MUST(sonde__report_stall_count(again) == sonde__report_stall_count(report));
        FUZZ_MUST(sonde__report_node_count(again) == sonde__report_node_count(report));
        sonde__report_destroy(again);
    }
    sonde__proto_done(&first);
}

static void read_and_use(const uint8_t *data, size_t size)
{
    struct sonde__report *report = NULL;
    struct sonde__report_loss loss;
    if (sonde__report_read(data, size, &report, &loss, NULL) == SONDE_OK) {
        FUZZ_MUST(loss.offset <= size && loss.size_bytes == size - loss.offset);
        FUZZ_MUST((loss.damage == SONDE__REPORT_WHOLE) == (loss.size_bytes == 0));
        use(report, &loss);
        sonde__report_destroy(report);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t header[] = {0x0a, 0x02, 0x08, 0x01}; /* format 1 */
    struct sonde__proto file = {0};
    read_and_use(data, size);
    size_t mark = sonde__proto_begin(&file, 1);
    sonde__proto_raw(&file, header, sizeof header);
    sonde__proto_raw(&file, data, size);
    sonde__proto_fixed32(&file, 15, sonde__base_crc32c(0, file.data + mark, file.size - mark));
    sonde__proto_end(&file, mark);
    read_and_use(file.data, file.size);
    sonde__proto_done(&file);
    return 0;
}
