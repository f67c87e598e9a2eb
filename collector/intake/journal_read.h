// SPDX-License-Identifier: Apache-2.0
/* Read the journal's files: what is at a place, and the next whole entry behind damage. What cannot
 * be read now (no memory, no descriptor, an error of the disk) is not taken for what is not there.
 * For this folder only. */
#ifndef SONDE_COLLECTOR_JOURNAL_READ_H
#define SONDE_COLLECTOR_JOURNAL_READ_H

#include "journal_files.h"

enum journal_read {
    JOURNAL_READ_ENTRY,
    JOURNAL_READ_END,     /* the file ends here, or before */
    JOURNAL_READ_MISSING, /* there is no such file */
    JOURNAL_READ_DAMAGED, /* bytes that are no whole entry */
    JOURNAL_READ_FAILED,  /* not now: os_error */
};

struct journal_reader {
    int folder;
    int fd;                        /* of one file; -1: none */
    uint64_t segment, salt, first; /* first: offset of its first entry */
    struct journal_head head;      /* of the entry that was read, with its bytes */
    void *bytes;
    size_t capacity;
    int os_error;
};

void journal_reader_begin(struct journal_reader *reader, const struct journal_files *files);
void journal_reader_end(struct journal_reader *reader);
/* Read the entry at *place, which moves behind it. */
enum journal_read journal_reader_next(struct journal_reader *reader, struct journal_place *place);
/* The place of the first whole entry behind one that is damaged, before `limit` of the same file.
 * Returns ENTRY, END (there is none) or FAILED. */
enum journal_read journal_reader_search(struct journal_reader *reader, struct journal_place from,
                                        uint64_t limit, struct journal_place *ret_place);
/* The size of the file of the last call, or -1: os_error. */
int64_t journal_reader_size(struct journal_reader *reader);

#endif
