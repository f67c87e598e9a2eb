// SPDX-License-Identifier: Apache-2.0
/* The journal's files: NNNNNNNNNNNNNNNN.journal in one folder, their heads, and the heads of the
 * entries in them. For this folder only. */
#ifndef SONDE_COLLECTOR_JOURNAL_FILES_H
#define SONDE_COLLECTOR_JOURNAL_FILES_H

#include <sys/uio.h>

#include "journal.h"

/* At the begin of a file, in the machine's byte order: a journal stays on its machine. A file of
 * earlier versions has none, and 0 as its salt. */
struct journal_file_head {
    uint64_t magic, segment;
    uint64_t salt;  /* of the checks of its entries: a number that no sender knows, so that bytes of
                     * a report are never found as an entry */
    uint64_t check; /* XXH3 of the rest */
};

/* Before the bytes of each entry. */
struct journal_head {
    uint64_t check; /* XXH3 of the bytes, seeded by that of the rest of the head with the salt */
    uint32_t mark;  /* of the rest of the head, with the salt */
    uint32_t size, form, project;
    uint64_t received_ns;
    struct report_id id;
};

void journal_file_head_fill(struct journal_file_head *ret_head, uint64_t segment, uint64_t salt);
bool journal_file_head_matches(const struct journal_file_head *head, uint64_t segment);
void journal_head_fill(struct journal_head *ret_head, const struct journal_entry *entry,
                       uint64_t salt);
/* Is this the head of an entry? */
bool journal_head_is_sane(const struct journal_head *head, uint64_t salt);
bool journal_head_matches(const struct journal_head *head, const void *bytes, uint64_t salt);
void journal_head_entry(const struct journal_head *head, const void *bytes,
                        struct journal_entry *ret_entry);

enum { JOURNAL_NAME_TEXT = 32 };
void journal_files_name(uint64_t segment, char ret_name[JOURNAL_NAME_TEXT]);

struct journal_files {
    int folder;
    int fd;        /* of the last file; -1: there is none yet */
    uint64_t salt; /* of that */
    struct journal_place end;
};

/* Open the folder, and remove files before `stored`. *ret_newest: the last file, or 0. Returns 0 or
 * an errno. */
int journal_files_begin(struct journal_files *files, const char *folder,
                        struct journal_place stored, uint64_t *ret_newest);
void journal_files_end(struct journal_files *files);
/* Append to a file from `end` on, where it ends; else begin one. Returns 0 or an errno. */
int journal_files_go_on(struct journal_files *files, struct journal_place end, uint64_t salt);
int journal_files_begin_file(struct journal_files *files, uint64_t segment);
/* Append the parts and sync, all or nothing. One caller at a time. Returns 0 or an errno; then the
 * file is as before. */
int journal_files_append(struct journal_files *files, struct iovec *parts, unsigned count);
/* Open a file to read it. -1: errno. */
int journal_files_open(const struct journal_files *files, uint64_t segment);
/* Give a file a second name, NAME.damaged, which stays when the journal removes it. Returns 0 or an
 * errno. */
int journal_files_keep(const struct journal_files *files, uint64_t segment);
void journal_files_remove_before(const struct journal_files *files, uint64_t segment);
/* Bytes from one place to another. */
uint64_t journal_files_between(const struct journal_files *files, struct journal_place from,
                               struct journal_place to);

#endif
