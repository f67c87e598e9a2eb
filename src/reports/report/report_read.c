// SPDX-License-Identifier: Apache-2.0
/* Reads a file as a sequence of checked records (this file), and each record's content
 * (report_decode.c). */
#include "report_read.h"

#include "base_bytes.h"
#include "base_crc32c.h"
#include "base_status.h"
#include "base_text.h"
#include "report_decode.h"
#include "report_growing.h"
#include "report_messages.h"

/* Read the next record and check its checksum. WHOLE: *ret_body is its body without the checksum;
 * otherwise the cursor does not move. */
static enum sonde__report_damage next_record(struct sonde__bytes *file,
                                             struct sonde__bytes *ret_body)
{
    const uint8_t *start = file->at;
    if (sonde__base_bytes_u8(file) != SONDE__SCHEMA_RECORDS_TAG) {
        file->at = start;
        return SONDE__REPORT_MALFORMED;
    }
    /* if the file ends inside the length it is cut; ten bytes without an end are malformed */
    size_t left = sonde__base_bytes_left(file);
    uint64_t size = sonde__base_bytes_uleb(file);
    if (file->failed) {
        file->at = start;
        return left >= 10 ? SONDE__REPORT_MALFORMED : SONDE__REPORT_CUT;
    }
    const uint8_t *body = sonde__base_bytes_take(file, size);
    if (body == NULL) {
        file->at = start;
        return SONDE__REPORT_CUT;
    }
    if (size < SONDE__SCHEMA_CRC_BYTES ||
        body[size - SONDE__SCHEMA_CRC_BYTES] != SONDE__SCHEMA_CRC_TAG) {
        file->at = start;
        return SONDE__REPORT_CHECKSUM;
    }
    struct sonde__bytes crc;
    size_t covered = (size_t)size - SONDE__SCHEMA_CRC_BYTES;
    sonde__base_bytes_init(&crc, body + covered + 1, 4);
    if (sonde__base_bytes_u32(&crc) != sonde__base_crc32c(0, body, covered)) {
        file->at = start;
        return SONDE__REPORT_CHECKSUM;
    }
    sonde__base_bytes_init(ret_body, body, covered);
    return SONDE__REPORT_WHOLE;
}

/* Unused bytes at the end of a live file are zero. Other bytes after a zero tag are from an
 * unfinished record. */
static enum sonde__report_damage look_at_tail(struct sonde__bytes *file)
{
    const uint8_t *start = file->at;
    bool is_zero = true;
    while (is_zero && sonde__base_bytes_left(file) != 0) {
        is_zero = sonde__base_bytes_u8(file) == 0;
    }
    file->at = is_zero ? file->at : start;
    return is_zero ? SONDE__REPORT_WHOLE : SONDE__REPORT_CUT;
}

bool sonde__report_begins(const void *bytes, size_t size)
{
    struct sonde__bytes file, body;
    sonde__base_bytes_init(&file, bytes, size);
    return next_record(&file, &body) == SONDE__REPORT_WHOLE;
}

static enum sonde_status fail_first(const struct sonde__bytes *file,
                                    enum sonde__report_damage damage, struct sonde_error *ret_error)
{
    const uint8_t *p = file->begin;
    size_t size = (size_t)(file->end - file->begin);
    if (size == 0) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "not a sonde report: the file is empty",
                                NULL, 0, 0);
    }
    if (damage == SONDE__REPORT_CUT && size < SONDE__REPORT_BEGIN_BYTES) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT,
                                "no sonde report, or one that was cut inside its first record",
                                NULL, 0, 0);
    }
    if (damage == SONDE__REPORT_CHECKSUM && p[0] == SONDE__SCHEMA_RECORDS_TAG) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT,
                                "not a sonde report, or the checksum of its first record is wrong",
                                NULL, 0, 0);
    }
    return sonde__base_fail(ret_error, SONDE_CORRUPT, "not a sonde report", NULL, 0, 0);
}

enum sonde_status sonde__report_read(const void *bytes, size_t size,
                                     struct sonde__report **ret_report,
                                     struct sonde__report_loss *ret_loss,
                                     struct sonde_error *ret_error)
{
    struct sonde__report_loss loss = {.file_bytes = size};
    struct sonde__report_decoded decoded = {0};
    struct sonde__bytes file, body;
    sonde__base_bytes_init(&file, bytes, size);
    if (sonde__report_create(&decoded.report) != SONDE_OK) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "reading a report", NULL, 0, 0);
    }
    decoded.report->scrub = NULL;
    while (loss.damage == SONDE__REPORT_WHOLE && sonde__base_bytes_left(&file) != 0) {
        uint64_t start = sonde__base_bytes_offset(&file);
        bool is_tail = decoded.header && *file.at == 0;
        loss.damage = is_tail ? look_at_tail(&file) : next_record(&file, &body);
        if (is_tail) {
            loss.offset = start;
            break;
        }
        if (loss.damage == SONDE__REPORT_WHOLE) {
            sonde__report_decode_record(&decoded, &body);
            if (decoded.full) {
                loss.damage = SONDE__REPORT_LIMITED;
            } else if (!decoded.header) {
                loss.damage = SONDE__REPORT_MALFORMED; /* the first record has the header */
            }
        }
        loss.offset = start;
        loss.record_count += loss.damage == SONDE__REPORT_WHOLE;
    }
    if (!decoded.header) {
        sonde__report_destroy(decoded.report);
        if (decoded.full) {
            return sonde__base_fail(ret_error, SONDE_MEMORY, "reading a report", NULL, 0, 0);
        }
        return fail_first(&file, loss.damage, ret_error);
    }
    sonde__report_fold_growing(decoded.report, &decoded.growing);
    if (loss.damage == SONDE__REPORT_WHOLE) {
        loss.offset = size;
    }
    loss.size_bytes = size - loss.offset;
    loss.bad_parts = decoded.bad_parts;
    loss.unknown_fields = decoded.unknown_fields;
    loss.unfinished = sonde__report_end(decoded.report) == NULL;
    loss.format = sonde__report_header(decoded.report)->format;
    *ret_report = decoded.report;
    if (ret_loss != NULL) {
        *ret_loss = loss;
    }
    return SONDE_OK;
}

static const char *damage_text(enum sonde__report_damage damage)
{
    switch (damage) {
    case SONDE__REPORT_CUT:
        return "the file ends inside a record";
    case SONDE__REPORT_CHECKSUM:
        return "a record's checksum is wrong";
    case SONDE__REPORT_LIMITED:
        return "it holds more than fits the limits or memory";
    default:
        return "there is no record where one should begin";
    }
}

bool sonde__report_is_damaged(const struct sonde__report_loss *loss)
{
    return loss->damage != SONDE__REPORT_WHOLE || loss->bad_parts != 0;
}

void sonde__report_loss_line(const struct sonde__report_loss *loss, char *line, size_t capacity)
{
    struct sonde__text text;
    sonde__base_text_init(&text, line, capacity);
    if (loss->damage != SONDE__REPORT_WHOLE) {
        sonde__base_text_str(&text, "lost ");
        sonde__base_text_dec(&text, loss->size_bytes);
        sonde__base_text_str(&text, " of ");
        sonde__base_text_dec(&text, loss->file_bytes);
        sonde__base_text_str(&text, " bytes, from offset ");
        sonde__base_text_dec(&text, loss->offset);
        sonde__base_text_str(&text, ": ");
        sonde__base_text_str(&text, damage_text(loss->damage));
    } else if (loss->unfinished) {
        sonde__base_text_str(&text, "the report has no end: its writer was killed or still writes");
    }
    if (loss->bad_parts != 0) {
        sonde__base_text_str(&text, text.length == 0 ? "" : "; ");
        sonde__base_text_dec(&text, loss->bad_parts);
        sonde__base_text_str(&text, " malformed parts were read as empty");
    }
    if (loss->format > SONDE__REPORT_FORMAT || loss->unknown_fields != 0) {
        sonde__base_text_str(&text, text.length == 0 ? "" : "; ");
        sonde__base_text_str(&text, "made by a newer sonde (format ");
        sonde__base_text_dec(&text, loss->format);
        sonde__base_text_str(&text, "): ");
        sonde__base_text_dec(&text, loss->unknown_fields);
        sonde__base_text_str(&text, " fields that this one does not know are not shown");
    }
}
