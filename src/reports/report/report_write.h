// SPDX-License-Identifier: Apache-2.0
/* Writes report files, record by record.
 *
 * Each record has a checksum and is passed to `write` in one piece, so a writer that is killed
 * leaves all earlier records. A flush writes what is new, dictionary entries before their users.
 * Context: any thread, one at a time. */
#ifndef SONDE_REPORT_WRITE_H
#define SONDE_REPORT_WRITE_H

#include "report_model.h"

/* Write all bytes. Any status but SONDE_OK stops the writer permanently: part of a record may be in
 * the file, and nothing may follow it. */
typedef enum sonde_status sonde__report_write(void *ctx, const void *bytes, size_t size);

struct sonde__report_writer_options {
    bool no_names; /* omit names of functions; images and offsets stay */
    /* After this many bytes of records no stall is written, 0: no limit. Further stalls become
     * StallCount messages, so that all are counted; stacks are left out. */
    uint64_t bytes_max;
};

struct sonde__report_writer;

/* options may be null. Ownership: destroy it. */
SONDE_NODISCARD enum sonde_status
sonde__report_writer_create(const struct sonde__report_writer_options *options,
                            sonde__report_write *write, void *ctx,
                            struct sonde__report_writer **ret_writer);
void sonde__report_writer_destroy(struct sonde__report_writer *writer);

/* Write what is new; the first flush also writes the header. After MEMORY it can be called again
 * and continues. After a failure of `write` it returns that status again. */
SONDE_NODISCARD enum sonde_status sonde__report_writer_flush(struct sonde__report_writer *writer,
                                                             const struct sonde__report *report);
/* Flush, then write the End record of sonde__report_set_end(); what the model left out is added to
 * lost_records. */
SONDE_NODISCARD enum sonde_status sonde__report_writer_finish(struct sonde__report_writer *writer,
                                                              const struct sonde__report *report);

/* Flush, then write a part of a stall that lasts, as Record.growing of the schema: only the new
 * elements of its arrays. The model does not keep the part. Returns as a flush. */
SONDE_NODISCARD enum sonde_status
sonde__report_writer_growing(struct sonde__report_writer *writer,
                             const struct sonde__report *report,
                             const struct sonde__report_stall *part);

#endif
