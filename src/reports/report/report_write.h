// SPDX-License-Identifier: Apache-2.0
/* A writer of report files, record by record.
 *
 * Each record is complete, has a checksum and is passed to `write` in one piece: a writer that is
 * killed leaves all earlier records. A flush writes what is new since the last one, dictionary
 * entries before what uses them. Context: any thread, one at a time. */
#ifndef SONDE_REPORT_WRITE_H
#define SONDE_REPORT_WRITE_H

#include "report_model.h"

/* Write all of the bytes. Any status but SONDE_OK ends the writing for good: part of a record may
 * be in the file, and nothing may follow it. */
typedef enum sonde_status sonde__report_write(void *ctx, const void *bytes, size_t size);

struct sonde__report_writer_options {
    bool no_names; /* leave the names of functions out; images and offsets stay */
    /* Bytes of records after which no stall is written: further ones become StallCount messages, so
     * that all are counted, and stacks are left out; 0: no limit. */
    uint64_t bytes_max;
};

struct sonde__report_writer;

/* options may be null. Ownership: destroy it. */
SONDE_NODISCARD enum sonde_status
sonde__report_writer_create(const struct sonde__report_writer_options *options,
                            sonde__report_write *write, void *ctx,
                            struct sonde__report_writer **ret_writer);
void sonde__report_writer_destroy(struct sonde__report_writer *writer);

/* Write what is new. The header is written by the first flush and not again. After MEMORY it may be
 * called again and continues; after a failure of `write` it returns that status again. */
SONDE_NODISCARD enum sonde_status sonde__report_writer_flush(struct sonde__report_writer *writer,
                                                             const struct sonde__report *report);
/* Flush, then write the End record: that of sonde__report_set_end(), with what the model left out
 * added to lost_records. */
SONDE_NODISCARD enum sonde_status sonde__report_writer_finish(struct sonde__report_writer *writer,
                                                              const struct sonde__report *report);

/* Flush, then write a part of a stall that lasts, as Record.growing of the schema has it: of its
 * arrays, the elements that are new. The model does not keep the part. Returns as a flush. */
SONDE_NODISCARD enum sonde_status
sonde__report_writer_growing(struct sonde__report_writer *writer,
                             const struct sonde__report *report,
                             const struct sonde__report_stall *part);

#endif
