// SPDX-License-Identifier: Apache-2.0
/* Script frames of recorded calls (record_script.h) into a report: their names, from the copies of
 * code objects, and the native frames that run them. Context: any thread, one at a time. */
#ifndef SONDE_AUDIT_SCRIPT_H
#define SONDE_AUDIT_SCRIPT_H

#include "audit_read.h"
#include "drain_stack.h"
#include "record_script.h"
#include "runtime_copied.h"

struct sonde__audit_script {
    const struct sonde__script_page *page; /* in the memory of the recording */
    struct sonde__drain *drain;
    struct sonde__runtime *runtime; /* null: not yet, or it cannot be read */
    struct sonde__script_frame_read *frames;
    uint64_t missing; /* calls whose frames do not fit their stacks */
    const char *why;  /* of one of them */
    uint64_t unread;  /* calls that have none, though the interpreter is on their stacks */
    const char *unread_why;
    struct {
        uint32_t at, size;             /* in the page */
    } code;                            /* that is being read */
    struct sonde__script_frame *named; /* JavaScript: those of a stack, and the texts of them */
    char *texts;
};

/* Before stacks or images are added to the drain, which must outlive the script. Close it. */
void sonde__audit_script_open(struct sonde__audit_script *script,
                              const struct sonde__script_page *page, struct sonde__drain *drain);
void sonde__audit_script_close(struct sonde__audit_script *script);

/* Add the stack of node `id`, with its script frames if they fit. calls: that have it. Returns as
 * sonde__drain_stack(). */
uint32_t sonde__audit_script_stack(struct sonde__audit_script *script,
                                   const struct sonde__depot *depot, uint32_t id,
                                   const struct sonde__image_set *images, struct sonde_stack *stack,
                                   uint64_t calls);

/* Set what is said of calls that have no script frames, though their threads had some. */
void sonde__audit_script_missing(const struct sonde__audit_script *script,
                                 struct sonde__audit_totals *totals);

#endif
