// SPDX-License-Identifier: Apache-2.0
/* Reports: captured stacks in a file that any language can read.
 *
 * The format is protobuf with a published schema (proto/sonde/v1/report.proto). All records before
 * the end of a truncated file can be read. */
#ifndef SONDE_REPORT_H
#define SONDE_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/stack.h"
#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_REPORT_NO_NAMES     1u /* only images and offsets; names can be added later */
#define SONDE_REPORT_PASSIVE_ONLY 2u /* as SONDE_CAPTURE_PASSIVE_ONLY */

/* Write a report of the stacks of all threads of this process.
 *
 * flags      SONDE_REPORT_ bits
 * write      called with the bytes in order
 * ret_error  what failed; may be null
 *
 * Returns    OK | OS (`write` failed: its errno) | MEMORY | UNREADABLE (no /proc)
 * Context    any thread; not handler
 * Blocks     as sonde_threads_capture(), then in `write`; reads symbol files
 * Ownership  nothing is transferred
 * Example    examples/report_write.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_report_write(uint32_t flags, sonde_write write, void *ctx, struct sonde_error *ret_error);

/* As sonde_report_write(), to a file descriptor, which stays open. */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_report_write_fd(uint32_t flags, int fd,
                                                                  struct sonde_error *ret_error);

#if defined(__GNUC__)
/* Macros, because a caller that ends with such a call has to keep its frame: sonde_keep_frame(). */
#    define sonde_report_write(flags, write, ctx, ret_error)                                       \
        sonde_keep_frame(sonde_report_write(flags, write, ctx, ret_error))
#    define sonde_report_write_fd(flags, fd, ret_error)                                            \
        sonde_keep_frame(sonde_report_write_fd(flags, fd, ret_error))
#endif

/* A report read from memory. */
struct sonde_report;

/* Read a report from memory.
 *
 * bytes       the whole file; may be freed afterwards
 * ret_report  written on OK, and on CORRUPT with everything before the damage; null if nothing was
 *             readable
 * ret_error   where the damage is; may be null
 *
 * Returns    OK | CORRUPT (damaged, cut, or not a report) | USAGE | MEMORY
 * Context    any thread; not handler      Blocks  no
 * Ownership  the caller's: sonde_report_destroy()
 * Example    examples/report_read.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_report_read(const void *bytes, size_t size_bytes,
                                                              struct sonde_report **ret_report,
                                                              struct sonde_error *ret_error);

/* report  may be null
 *
 * Context    any thread; not handler      Blocks  no      Ownership  frees it
 * Example    examples/report_read.c */
SONDE_API void sonde_report_destroy(struct sonde_report *report);

/* Write a report as text for people, or as JSON for programs.
 *
 * Returns    OK | OS (`write` failed: its errno) | MEMORY
 * Context    any thread, one at a time for each report; not handler      Blocks  in `write`
 * Ownership  nothing is transferred
 * Example    examples/report_read.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_report_text(const struct sonde_report *report,
                                                              sonde_write write, void *ctx,
                                                              struct sonde_error *ret_error);
SONDE_API SONDE_NODISCARD enum sonde_status sonde_report_json(const struct sonde_report *report,
                                                              sonde_write write, void *ctx,
                                                              struct sonde_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
