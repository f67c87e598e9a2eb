// SPDX-License-Identifier: Apache-2.0
/* The journal's files: NNNNNNNNNNNNNNNN.journal in one folder, and the head of an entry in them.
 * For this folder only. */
#ifndef SONDE_COLLECTOR_JOURNAL_FILES_H
#define SONDE_COLLECTOR_JOURNAL_FILES_H

#include <sys/uio.h>

#include "journal.h"

/* Before the bytes of each entry, in the machine's byte order: a journal stays on its machine. */
struct journal_head {
    uint64_t check; /* XXH3 of the bytes, seeded by that of the rest of the head */
    uint32_t magic, size, form, project;
    uint64_t received_ns;
    struct report_id id;
};

void journal_head_fill(struct journal_head *ret_head, const struct journal_entry *entry);
/* May this be the head of an entry? */
bool journal_head_is_sane(const struct journal_head *head);
bool journal_head_matches(const struct journal_head *head, const void *bytes);
void journal_head_entry(const struct journal_head *head, const void *bytes,
                        struct journal_entry *ret_entry);

struct journal_files {
    int folder;
    int fd; /* of the last file */
    struct journal_place end;
};

/* Returns 0 or an errno. */
int journal_files_begin(struct journal_files *files, const char *folder,
                        struct journal_place stored);
void journal_files_end(struct journal_files *files);
/* Append the parts and sync, all or nothing. One caller at a time. Returns 0 or an errno; then the
 * file is as before. */
int journal_files_append(struct journal_files *files, struct iovec *parts, unsigned count);
/* Open a file to read it. -1: it is not there. */
int journal_files_open(const struct journal_files *files, uint64_t segment);
void journal_files_remove_before(const struct journal_files *files, uint64_t segment);
/* Bytes from one place to another. */
uint64_t journal_files_between(const struct journal_files *files, struct journal_place from,
                               struct journal_place to);

#endif
