// SPDX-License-Identifier: Apache-2.0
/* Reports with every kind of content, and memory to write them to. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "report_model.h"
#include "report_view.h"

struct sample_bytes {
    char *data; /* NUL-terminated */
    size_t size, capacity;
    size_t ends[64]; /* after each write */
    unsigned writes;
    unsigned fail_at; /* that write fails; 0: none */
};

enum sonde_status sample_write(void *ctx, const void *bytes, size_t size);
struct sonde__report_sink sample_sink(struct sample_bytes *bytes);
/* One that refuses all, and counts how often it was asked. */
struct sonde__report_sink sample_stop_sink(int *calls);
void sample_bytes_done(struct sample_bytes *bytes);

/* One frame more on a stack, as drain adds it. */
uint32_t sample_push(struct sonde__report *r, uint32_t parent, uint32_t image, const char *name,
                     uint64_t offset, uint32_t how);

struct sonde__report *sample_stacks(void);
struct sonde__report *sample_watch(void);
/* Blocks at two times: one group ends, one is new, one grows. */
struct sonde__report *sample_heap_blocks(void);
/* Every field that the reports above leave empty. */
struct sonde__report *sample_all(void);
void sample_add_stall(struct sonde__report *r);

/* A report as its text view, and as its JSON view. Free with free(). */
char *sample_text(const struct sonde__report *r, const struct sonde__report_view *view);
char *sample_json(const struct sonde__report *r, const struct sonde__report_view *view);
/* A report of four records: a watch that flushes as it goes. */
struct sonde__report *sample_write_in_steps(struct sample_bytes *file);
/* A live file without the zero bytes: a stall in four parts, one that ended, one that was taken
 * back. Its writes end where its records do. */
void sample_live(struct sample_bytes *file);
/* A file, whose reading must succeed. */
struct sonde__report_loss;
struct sonde__report *sample_read_back(const struct sample_bytes *file,
                                       struct sonde__report_loss *ret_loss);
/* A report as a file. */
void sample_file(const struct sonde__report *r, bool no_names, struct sample_bytes *ret_bytes);

#endif
