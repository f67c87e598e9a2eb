// SPDX-License-Identifier: Apache-2.0
/* Protobuf messages of any size as a stream. A message's length stands before it, so a long one is
 * written twice: first to be measured, then to the sink. Short ones are built in memory
 * (report_proto.h). */
#ifndef SONDE_EXPORT_WIRE_H
#define SONDE_EXPORT_WIRE_H

#include "report_out.h"
#include "report_proto.h"

struct sonde__export_wire {
    struct sonde__report_sink sink;
    struct sonde__proto message; /* the short one at hand */
    uint64_t size;               /* bytes that were put, or would have been */
    bool is_measuring;
    bool stopped; /* by the sink */
    bool failed;  /* out of memory */
    size_t used;
    char buffer[8192];
};

void sonde__export_wire_init(struct sonde__export_wire *wire, struct sonde__report_sink sink);
/* Flush and free; false: memory had run out. */
bool sonde__export_wire_done(struct sonde__export_wire *wire);

/* `wire->message` as field `field`, and empty it; `field` 0: as it is. */
void sonde__export_wire_put(struct sonde__export_wire *wire, uint32_t field);
/* A field that holds what `write` puts. `write` is called twice and must put the same. */
void sonde__export_wire_long(struct sonde__export_wire *wire, uint32_t field,
                             void (*write)(struct sonde__export_wire *wire, const void *ctx),
                             const void *ctx);
/* Appends to a message as it is. */
struct sonde__report_sink sonde__export_wire_sink(struct sonde__proto *to);

/* An output whose text goes to the end of the message at hand, as a field. */
struct sonde__export_wire_text {
    struct sonde__report_out out; /* print here */
    struct sonde__proto *to;
    size_t mark;
};
void sonde__export_wire_begin(struct sonde__export_wire_text *text, struct sonde__proto *to,
                              uint32_t field);
void sonde__export_wire_end(struct sonde__export_wire_text *text);
/* A string field, also when it is empty. */
void sonde__export_wire_string(struct sonde__proto *to, uint32_t field, const char *text);

#endif
