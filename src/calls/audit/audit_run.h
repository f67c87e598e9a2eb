// SPDX-License-Identifier: Apache-2.0
/* `sonde run --record` and `--audit`: prepares the program's start, and reads the record after its
 * end. Context: a process with one thread. */
#ifndef SONDE_AUDIT_RUN_H
#define SONDE_AUDIT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "audit_new.h"
#include "audit_rules.h"
#include "image_set.h"
#include "report_line.h"
#include "report_model.h"

struct sonde__audit;
struct sonde__symfile_options; /* symfile_cache.h */

struct sonde__audit_options {
    const char *list; /* path of the list of functions, or of the rules, for messages */
    const struct sonde__audit_rules *rules; /* instead of the list; null: none */
    const char *program;                    /* the file that will be executed, no script */
    char *const *envp;
    const struct sonde__image_set *loaded;        /* instead, in an app: its libraries as of now */
    const struct sonde__symfile_options *symbols; /* where names are looked up; null: the default */
    uint32_t nodes;   /* room for different frames; 0: SONDE__AUDIT_NODES */
    bool blind_spots; /* report each blind spot */
    bool raw;         /* also system calls that the code makes itself */
    bool keep_going;  /* report lines of the list that are no names, and leave them out */
    struct sonde__report_lines lines; /* what is wrong with the list */
    const char *phase;                /* that SIGUSR1 to the supervisor begins; null: none */
    sonde__audit_on_new *on_new;      /* told what is new by looks and the end; null: nobody */
    void *new_ctx;
    bool blocks; /* a registry of blocks instead of the functions of a list */
    bool follow; /* also record children and what they execute (audit_family.h) */
};

/* Reads the list. Returns OK | ABSENT | DENIED | CORRUPT (a line is no name) | LIMIT | MEMORY | OS.
 * Ownership: lives as long as the process. */
SONDE_NODISCARD enum sonde_status sonde__audit_create(const struct sonde__audit_options *options,
                                                      struct sonde__audit **ret_audit,
                                                      struct sonde_error *ret_error);

/* For an app, which may go on. audit: may be null */
void sonde__audit_destroy(struct sonde__audit *audit);

/* A function that will be recorded: first those of the rules or the list, then other names of the
 * same ones. Null: no more. */
const char *sonde__audit_function(const struct sonde__audit *audit, uint32_t index);
/* Is a rule about it? Only with rules. */
bool sonde__audit_means(const struct sonde__audit *audit, size_t rule, uint32_t index);

/* Memory that is shared with the program, zeroed: its size; before the program starts; when it has
 * ended. `say` is given lines for people. */
uint64_t sonde__audit_shared_size(uint32_t nodes); /* 0: SONDE__AUDIT_NODES */
uint64_t sonde__audit_registry_size(void);         /* more, for blocks */
uint64_t sonde__audit_family_size(void);           /* more, to follow */
void sonde__audit_begin(void *audit, void *memory);
/* To follow, in the supervisor, before the program starts. at: of `memory` in the file `fd`. */
void sonde__audit_supervise(void *audit, void *memory, uint64_t at, int32_t fd);
/* While the program runs: its live blocks; `all` false: only what has changed since the last
 * call. Of rules, `all` false tells what is new, and needs no report. */
void sonde__audit_look(void *audit, const void *memory, bool all, struct sonde__report *report,
                       struct sonde__report_lines lines);
/* The same for a live file: all calls, with no names but those that rules ask for. False: nothing
 * has changed since the last call, and not `again`. Context: any thread, one at a time. */
bool sonde__audit_keep(void *audit, const void *memory, bool again, struct sonde__report *report);
/* While the program runs, and once more at its end: what is new since the last call. For rules.
 * Context: one thread, which may be another one. */
void sonde__audit_tell(struct sonde__audit *audit, const void *memory, sonde__audit_on_new *each,
                       void *ctx);
/* Begin the phase of the options. */
void sonde__audit_begin_marked(void *audit, void *memory, struct sonde__report_lines lines);
void sonde__audit_end(void *audit, const void *memory, struct sonde__report *report,
                      struct sonde__report_lines lines);

#endif
