// SPDX-License-Identifier: Apache-2.0
/* The recordings of all processes of a run but the first (record_family.h), in its supervisor. A
 * place is read and freed soon after its process is gone, so memory does not grow with the number
 * of processes; what was read is kept as a report. Nothing that a process wrote is trusted.
 * Context: any thread; a lock admits one at a time. */
#ifndef SONDE_AUDIT_FAMILY_H
#define SONDE_AUDIT_FAMILY_H

#include "audit_new.h"
#include "audit_read.h"

/* Processes that are reported one by one. Calls of later ones count together, without stacks. */
#define SONDE__AUDIT_PROCESSES 1000u

struct sonde__audit_family;

struct sonde__audit_family_source {
    void *memory;      /* of the first process: its page (record_page.h), ... */
    uint64_t at;       /* ... and where that is in the memory file */
    int32_t fd;        /* of which this is the descriptor */
    uint64_t size;     /* of the part that each process needs, from the page on */
    bool has_patterns; /* the list was expanded for the libraries of the first program */
    struct sonde__audit_reading reading;   /* without page and memory */
    void (*fill)(void *ctx, void *memory); /* makes a page as that of the first process */
    void *ctx;
    struct sonde__symfile_cache *(*open_symbols)(void *ctx); /* when names are needed first */
};

/* Make the places, before the program starts. Null: no memory. */
struct sonde__audit_family *
sonde__audit_family_open(const struct sonde__audit_family_source *source);

/* While the program runs: tell what is new in processes (each: null: nobody is told), and free the
 * places of those that are gone. */
void sonde__audit_family_look(struct sonde__audit_family *family, sonde__audit_on_new *each,
                              void *ctx);
/* The same pair of rule, function and stack, told of an earlier process, is not told again. For the
 * first process: its `each` and `ctx` through this. */
struct sonde__audit_filter {
    struct sonde__audit_family *family;
    sonde__audit_on_new *each;
    void *ctx;
};
sonde__audit_on_new sonde__audit_family_filter; /* ctx: a struct sonde__audit_filter */

/* All that was recorded so far. First what is known for rules is added to `page`, a copy of the
 * first process' page; then processes and their calls to the report, and to the totals; then what
 * people should know. Each may be called any number of times, in this order, between begin and
 * end. */
void sonde__audit_family_begin(struct sonde__audit_family *family, struct sonde__record_page *page);
void sonde__audit_family_add(struct sonde__audit_family *family, struct sonde__report *report,
                             struct sonde__audit_totals *totals);
void sonde__audit_family_end(struct sonde__audit_family *family, struct sonde__report_lines lines);

#endif
