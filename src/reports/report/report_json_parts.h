// SPDX-License-Identifier: Apache-2.0
/* Parts of the JSON view, for its files. Context: any thread. */
#ifndef SONDE_REPORT_JSON_PARTS_H
#define SONDE_REPORT_JSON_PARTS_H

#include "report_json.h"
#include "report_model.h"

/* The text for a number of the schema. */
#define SONDE__JSON_PICK(texts, index)                                                             \
    ((index) < sizeof(texts) / sizeof *(texts) ? (texts)[index] : "unknown")

/* How a stack was read: texts of enum sonde__captured_by. */
#define SONDE__JSON_CAPTURED_BY 8
extern const char *const sonde__report_captured_by[SONDE__JSON_CAPTURED_BY];

/* Writes nothing for string id 0. */
void sonde__report_json_text(struct sonde__json *j, const char *key,
                             const struct sonde__report *report, uint32_t string);
/* Writes nothing for 0. */
void sonde__report_json_number(struct sonde__json *j, const char *key, uint64_t value);
/* Writes nothing for 0. */
void sonde__report_json_code_id(struct sonde__json *j, uint64_t code_id);
void sonde__report_json_end_reason(struct sonde__json *j, uint32_t end);
void sonde__report_json_syscall(struct sonde__json *j, const struct sonde__report *report,
                                int64_t syscall);
/* "pid", and "process" if the report has several processes. */
void sonde__report_json_process(struct sonde__json *j, const struct sonde__report *report,
                                uint32_t process);
/* The members of a frame itself, without inlined calls or tail calls. */
void sonde__report_json_frame(struct sonde__json *j, const struct sonde__report *report,
                              const struct sonde__report_frame *frame);
/* What a thread works for, if that is known: members "qos" and "queue". */
void sonde__report_json_purpose(struct sonde__json *j, const struct sonde__report *report,
                                uint32_t qos, uint32_t queue);
void sonde__report_json_thread(struct sonde__json *j, const struct sonde__report *report,
                               const struct sonde__report_thread *thread);
void sonde__report_json_waits(struct sonde__json *j, const struct sonde__report *report,
                              const struct sonde__report_wait *waits, uint32_t count);

/* "arguments"; nothing for none. */
void sonde__report_json_arguments(struct sonde__json *j, const struct sonde__report *report,
                                  const struct sonde__report_argument *arguments, uint32_t count);

/* "threads", and "more_threads" if there are more than were counted. */
void sonde__report_json_threads(struct sonde__json *j, uint32_t threads, bool has_more);

void sonde__report_json_header(struct sonde__json *j, const struct sonde__report *report);
/* Images, and, if there are any, processes, named phases and rules. */
void sonde__report_json_dictionaries(struct sonde__json *j, const struct sonde__report *report);
void sonde__report_json_stalls(struct sonde__json *j, const struct sonde__report *report);
/* Samples and waits outside stalls, and counts of equal stalls; nothing if there are none. */
void sonde__report_json_loose(struct sonde__json *j, const struct sonde__report *report);
/* Recorded calls and their rules; blocks on the heap. */
void sonde__report_json_calls(struct sonde__json *j, const struct sonde__report *report);
/* Tasks that wait in loops; nothing if there are none. */
void sonde__report_json_tasks(struct sonde__json *j, const struct sonde__report *report);
void sonde__report_json_heap_blocks(struct sonde__json *j, const struct sonde__report *report);

#endif
