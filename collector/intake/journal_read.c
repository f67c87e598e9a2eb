// SPDX-License-Identifier: Apache-2.0
#include "journal_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void journal_reader_begin(struct journal_reader *reader, const struct journal_files *files)
{
    *reader = (struct journal_reader){.folder = files->folder, .fd = -1};
}

static void close_file(struct journal_reader *r)
{
    if (r->fd >= 0) {
        close(r->fd);
    }
    r->fd = -1;
}

void journal_reader_end(struct journal_reader *reader)
{
    close_file(reader);
    free(reader->bytes);
}

/* The next try opens the file again. */
static enum journal_read fail(struct journal_reader *r, int os_error)
{
    r->os_error = os_error;
    close_file(r);
    return JOURNAL_READ_FAILED;
}

/* Read up to `size` bytes, fewer only at the end of the file. -1: errno. */
static ssize_t read_some(int fd, void *bytes, size_t size, uint64_t offset)
{
    size_t sum = 0;
    while (sum < size) {
        ssize_t got = pread(fd, (char *)bytes + sum, size - sum, (off_t)(offset + sum));
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        sum += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)sum;
}

static enum journal_read open_file(struct journal_reader *r, uint64_t segment)
{
    struct journal_file_head head;
    if (r->fd >= 0 && r->segment == segment) {
        return JOURNAL_READ_ENTRY;
    }
    close_file(r);
    const struct journal_files files = {.folder = r->folder};
    r->fd = journal_files_open(&files, segment);
    if (r->fd < 0) {
        return errno == ENOENT ? JOURNAL_READ_MISSING : fail(r, errno);
    }
    ssize_t got = read_some(r->fd, &head, sizeof head, 0);
    if (got < 0) {
        return fail(r, errno);
    }
    bool has_head = got == (ssize_t)sizeof head && journal_file_head_matches(&head, segment);
    r->segment = segment;
    r->salt = has_head ? head.salt : 0;
    r->first = has_head ? sizeof head : 0;
    return JOURNAL_READ_ENTRY;
}

static bool reserve(struct journal_reader *r, size_t size)
{
    if (size > r->capacity) {
        void *bytes = realloc(r->bytes, size);
        if (bytes == NULL) {
            return false;
        }
        r->bytes = bytes;
        r->capacity = size;
    }
    return true;
}

enum journal_read journal_reader_next(struct journal_reader *r, struct journal_place *place)
{
    enum journal_read opened = open_file(r, place->segment);
    if (opened != JOURNAL_READ_ENTRY) {
        return opened;
    }
    uint64_t at = place->offset > r->first ? place->offset : r->first;
    ssize_t got = read_some(r->fd, &r->head, sizeof r->head, at);
    if (got < 0) {
        return fail(r, errno);
    }
    if (got < (ssize_t)sizeof r->head || !journal_head_is_sane(&r->head, r->salt)) {
        return got == 0 ? JOURNAL_READ_END : JOURNAL_READ_DAMAGED;
    }
    if (!reserve(r, r->head.size)) {
        return fail(r, ENOMEM);
    }
    got = read_some(r->fd, r->bytes, r->head.size, at + sizeof r->head);
    if (got < 0) {
        return fail(r, errno);
    }
    if (got < (ssize_t)r->head.size || !journal_head_matches(&r->head, r->bytes, r->salt)) {
        return JOURNAL_READ_DAMAGED;
    }
    place->offset = at + sizeof r->head + r->head.size;
    return JOURNAL_READ_ENTRY;
}

/* The first head in some bytes that is one of this file, from `at` on. Returns `size`: none. */
static size_t find_head(const struct journal_reader *r, const char *bytes, size_t at, size_t size)
{
    struct journal_head head;
    for (; at + sizeof head <= size; at++) {
        memcpy(&head, bytes + at, sizeof head);
        if (journal_head_is_sane(&head, r->salt)) {
            return at;
        }
    }
    return size;
}

enum journal_read journal_reader_search(struct journal_reader *r, struct journal_place from,
                                        uint64_t limit, struct journal_place *ret_place)
{
    enum { WINDOW = 64 << 10 };
    char bytes[WINDOW];
    enum journal_read read = open_file(r, from.segment);
    uint64_t base = from.offset + 1;
    if (read != JOURNAL_READ_ENTRY || r->salt == 0) { /* without it, a report could have entries */
        return read == JOURNAL_READ_FAILED ? read : JOURNAL_READ_END;
    }
    while (base < limit) {
        ssize_t got = read_some(r->fd, bytes, WINDOW, base);
        if (got < 0) {
            return fail(r, errno);
        }
        size_t size = (size_t)got;
        for (size_t at = 0; (at = find_head(r, bytes, at, size)) < size; at++) {
            struct journal_place end = {from.segment, base + at};
            *ret_place = end;
            read = journal_reader_next(r, &end);
            if (read == JOURNAL_READ_FAILED ||
                (read == JOURNAL_READ_ENTRY && end.offset <= limit)) {
                return read;
            }
        }
        if (size < WINDOW) {
            break;
        }
        base += WINDOW + 1 - sizeof(struct journal_head);
    }
    return JOURNAL_READ_END;
}

int64_t journal_reader_size(struct journal_reader *r)
{
    struct stat file;
    if (r->fd < 0 || fstat(r->fd, &file) != 0) {
        (void)fail(r, r->fd < 0 ? ENOENT : errno);
        return -1;
    }
    return file.st_size;
}
