// SPDX-License-Identifier: Apache-2.0
/* Decodes one record of a report, whose checksum was checked, into the model. */
#ifndef SONDE_REPORT_DECODE_H
#define SONDE_REPORT_DECODE_H

#include "base_bytes.h"
#include "report_model.h"
#include "report_store.h"

struct sonde__report_decoded {
    struct sonde__report *report;
    struct sonde__report_list growing; /* parts of stalls, in the arena of the report */
    bool header;                       /* the header was read */
    bool full; /* no memory, or a dictionary entry did not fit: no later id would be right */
    uint64_t bad_parts; /* malformed messages, read as empty */
    uint64_t unknown_fields;
};

void sonde__report_decode_record(struct sonde__report_decoded *decoded, struct sonde__bytes *body);

#endif
