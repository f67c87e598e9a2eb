// SPDX-License-Identifier: Apache-2.0
/* A reader of reports from untrusted bytes.
 *
 * Every whole record before a cut or a corruption is kept, and the loss is reported. Reading stops
 * at the first bad record: ids count across records, so later names would be wrong. Unknown fields
 * are skipped and counted, as by protobuf readers. Memory is bounded by the model's limits, time by
 * the size of the file. Context: any thread. */
#ifndef SONDE_REPORT_READ_H
#define SONDE_REPORT_READ_H

#include "report_model.h"

enum sonde__report_damage {
    SONDE__REPORT_WHOLE,     /* nothing was lost */
    SONDE__REPORT_CUT,       /* the file ends inside a record */
    SONDE__REPORT_CHECKSUM,  /* a record's checksum is wrong */
    SONDE__REPORT_MALFORMED, /* no record at this place */
    SONDE__REPORT_LIMITED,   /* memory or a limit ran out */
};

struct sonde__report_loss {
    enum sonde__report_damage damage;
    uint64_t offset;         /* of the first unused byte */
    uint64_t size_bytes;     /* number of unused bytes */
    uint64_t file_bytes;     /* size of the file */
    uint64_t record_count;   /* whole records kept */
    uint64_t bad_parts;      /* malformed parts of whole records, read as empty */
    uint64_t unknown_fields; /* skipped: from a later schema, or with an unexpected type */
    bool unfinished;         /* no End record: the writer was killed, or is still writing */
    uint32_t format;         /* newer than SONDE__REPORT_FORMAT: some content may be unknown */
};

/* bytes       the whole file; not used after the return
 * ret_report  on OK: what could be read; the caller destroys it
 * ret_loss    filled on OK; may be null
 *
 * Returns OK (also when something is lost: see ret_loss) | CORRUPT (no whole record: ret_error says
 * whether it is another kind of file or cut in its first record) | MEMORY */
SONDE_NODISCARD enum sonde_status sonde__report_read(const void *bytes, size_t size,
                                                     struct sonde__report **ret_report,
                                                     struct sonde__report_loss *ret_loss,
                                                     struct sonde_error *ret_error);

/* Does a report begin with these bytes, the first SONDE__REPORT_BEGIN_BYTES of a file or all of it?
 * False if they do not contain the whole first record, which has only the header. */
#define SONDE__REPORT_BEGIN_BYTES ((size_t)64 << 10)
bool sonde__report_begins(const void *bytes, size_t size);

/* Is a part of the file lost? False for a file that only has no end yet. */
bool sonde__report_is_damaged(const struct sonde__report_loss *loss);

/* Write one line to `line` that says what was lost; "" if nothing was. */
#define SONDE__REPORT_LOSS_LINE 256u
void sonde__report_loss_line(const struct sonde__report_loss *loss, char *line, size_t capacity);

#endif
