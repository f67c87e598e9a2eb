// SPDX-License-Identifier: Apache-2.0
/* A reader of reports from untrusted bytes.
 *
 * Every whole record before a cut or a corruption is kept, and the loss is reported. Reading stops
 * at the first bad record: ids count over all records, so what follows would get wrong names.
 * Unknown fields are skipped and counted, as by protobuf readers. Bounded: memory by the model's
 * limits, time by the size of the file. Context: any thread. */
#ifndef SONDE_REPORT_READ_H
#define SONDE_REPORT_READ_H

#include "report_model.h"

enum sonde__report_damage {
    SONDE__REPORT_WHOLE,     /* nothing is lost */
    SONDE__REPORT_CUT,       /* the bytes end inside a record */
    SONDE__REPORT_CHECKSUM,  /* a record's checksum is wrong */
    SONDE__REPORT_MALFORMED, /* no record where one should be */
    SONDE__REPORT_LIMITED,   /* more than the limits or memory allow */
};

struct sonde__report_loss {
    enum sonde__report_damage damage;
    uint64_t offset;         /* of the first byte that is not used */
    uint64_t size_bytes;     /* how many are not used */
    uint64_t file_bytes;     /* of how many */
    uint64_t record_count;   /* whole records kept */
    uint64_t bad_parts;      /* malformed parts of whole records, read as empty */
    uint64_t unknown_fields; /* of a later schema, or of another type: skipped */
    bool unfinished;         /* no End record: the writer was killed, or still writes */
    uint32_t format;         /* of the file; newer than SONDE__REPORT_FORMAT: some may be unknown */
};

/* bytes       the whole file; not used after the return
 * ret_report  on OK: what could be read, to be destroyed by the caller
 * ret_loss    filled on OK; may be null
 *
 * Returns OK (also when something is lost: see ret_loss) | CORRUPT (no whole record of a report:
 * ret_error says whether it is another kind of file or cut in its first record) | MEMORY */
SONDE_NODISCARD enum sonde_status sonde__report_read(const void *bytes, size_t size,
                                                     struct sonde__report **ret_report,
                                                     struct sonde__report_loss *ret_loss,
                                                     struct sonde_error *ret_error);

/* Do these bytes, the first SONDE__REPORT_BEGIN_BYTES of a file or all of it, begin a report? No,
 * if the first record is not whole in it: that holds only the header. */
#define SONDE__REPORT_BEGIN_BYTES ((size_t)64 << 10)
bool sonde__report_begins(const void *bytes, size_t size);

/* One line that says what is lost, into `line`; "" when nothing is. */
#define SONDE__REPORT_LOSS_LINE 256u
void sonde__report_loss_line(const struct sonde__report_loss *loss, char *line, size_t capacity);

#endif
