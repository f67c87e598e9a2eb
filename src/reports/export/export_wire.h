// SPDX-License-Identifier: Apache-2.0
/* Streams Protobuf messages of any size. The length comes before a message, so a long one is
 * produced twice: first to measure it, then to write it. Short ones are built in memory
 * (report_proto.h). */
#ifndef SONDE_EXPORT_WIRE_H
#define SONDE_EXPORT_WIRE_H

#include "report_out.h"
#include "report_proto.h"

struct sonde__export_wire {
    struct sonde__report_sink sink;
    struct sonde__proto message; /* the current short message */
    uint64_t size;               /* bytes written or measured */
    bool is_measuring;
    bool stopped; /* by the sink */
    bool failed;  /* out of memory */
    size_t used;
    char buffer[8192];
};

void sonde__export_wire_init(struct sonde__export_wire *wire, struct sonde__report_sink sink);
/* Flush and free; false: memory ran out. */
bool sonde__export_wire_done(struct sonde__export_wire *wire);

/* Write `wire->message` as field `field` (0: without a tag), and empty it. */
void sonde__export_wire_put(struct sonde__export_wire *wire, uint32_t field);
/* Write a field whose content `write` produces. `write` is called twice and must give the same
 * bytes. */
void sonde__export_wire_long(struct sonde__export_wire *wire, uint32_t field,
                             void (*write)(struct sonde__export_wire *wire, const void *ctx),
                             const void *ctx);
/* A sink that appends to a message. */
struct sonde__report_sink sonde__export_wire_sink(struct sonde__proto *to);

/* Collects output that is appended to the current message as a field. */
struct sonde__export_wire_text {
    struct sonde__report_out out; /* print here */
    struct sonde__proto *to;
    size_t mark;
};
void sonde__export_wire_begin(struct sonde__export_wire_text *text, struct sonde__proto *to,
                              uint32_t field);
void sonde__export_wire_end(struct sonde__export_wire_text *text);
/* A string field, written even when empty. */
void sonde__export_wire_string(struct sonde__proto *to, uint32_t field, const char *text);

#endif
