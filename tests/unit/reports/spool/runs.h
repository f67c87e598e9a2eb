// SPDX-License-Identifier: Apache-2.0
/* Runs in a spool folder, as a watch leaves them. */
#ifndef TEST_SPOOL_RUNS_H
#define TEST_SPOOL_RUNS_H

#include "report_write.h"
#include "spool_session.h"

#define MS 1000000u

/* A run of a process that does not exist, and the writers of its files. */
struct run {
    struct sonde__spool_session session;
    struct sonde__report *report, *live;
    struct sonde__report_writer *writer, *live_writer;
};

/* "FOLDER/spool". */
const char *runs_folder(void);
void run_begin(struct run *run, int32_t pid);
/* A whole stall into the report. */
void run_add_stall(struct run *run, uint64_t begin_ns, const char *fingerprint);
/* A part of a stall with one sample more into the live file. */
void run_add_part(struct run *run, uint64_t begin_ns, uint32_t sample, bool open);
/* End the report as a watch that was not killed. */
void run_end(struct run *run);
/* Release everything as a kill does: locks and mappings, but not the files. */
void run_kill(struct run *run);

/* A sonde__report_write: ctx is an int32_t, a descriptor. */
enum sonde_status runs_write(void *ctx, const void *bytes, size_t size);
int32_t runs_open_folder(void);
/* How many names in the folder have this suffix. */
unsigned runs_count(const char *suffix);
/* The report of that name. */
struct sonde__report *runs_read(const char *name);

#endif
