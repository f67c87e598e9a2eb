// SPDX-License-Identifier: Apache-2.0
#include "postgres_copy.h"

#include <stdlib.h>
#include <string.h>

/* Signature, flags, and the size of a header extension. */
static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";
enum { HEAD_BYTES = 19, NUMBER_BYTES = 8 };
static const char end[2] = {'\377', '\377'};

static bool append(struct postgres_copy *copy, const void *bytes, size_t size)
{
    if (copy->capacity - copy->size < size) {
        size_t capacity = 2 * (copy->size + size) + 4096;
        char *room = realloc(copy->bytes, capacity);
        if (room == NULL) {
            return false;
        }
        copy->bytes = room;
        copy->capacity = capacity;
    }
    memcpy(copy->bytes + copy->size, bytes, size);
    copy->size += size;
    return true;
}

/* In network byte order. */
static bool append_number(struct postgres_copy *copy, uint64_t number, unsigned size)
{
    uint8_t bytes[NUMBER_BYTES];
    for (unsigned i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(number >> 8 * (size - 1 - i));
    }
    return append(copy, bytes, size);
}

static bool append_field(struct postgres_copy *copy, const struct postgres_values *v, int i)
{
    if (v->kinds[i] == DB_NUMBER) {
        return append_number(copy, NUMBER_BYTES, 4) &&
               append_number(copy, (uint64_t)v->integers[i], NUMBER_BYTES);
    }
    if (v->texts[i] == NULL) {
        return append_number(copy, UINT32_MAX, 4); /* null */
    }
    size_t size = v->kinds[i] == DB_TEXT ? strlen(v->texts[i]) : (size_t)v->sizes[i];
    return append_number(copy, size, 4) && append(copy, v->texts[i], size);
}

bool postgres_copy_add(struct postgres_copy *copy, const struct postgres_values *v)
{
    size_t before = copy->size;
    bool is_ok = (before != 0 || append(copy, head, HEAD_BYTES)) &&
                 append_number(copy, (uint64_t)v->count, 2);
    for (int i = 0; is_ok && i < v->count; i++) {
        is_ok = append_field(copy, v, i);
    }
    copy->size = is_ok ? copy->size : before;
    return is_ok;
}

PGresult *postgres_copy_send(struct postgres_copy *copy, PGconn *connection, const char *text)
{
    PGresult *result = PQexec(connection, text);
    if (PQresultStatus(result) == PGRES_COPY_IN) {
        /* what fails is in the result that follows */
        if (PQputCopyData(connection, copy->bytes, (int)copy->size) != 1 ||
            PQputCopyData(connection, end, sizeof end) != 1) {
            (void)PQputCopyEnd(connection, "the rows could not be sent");
        } else {
            (void)PQputCopyEnd(connection, NULL);
        }
        PQclear(result);
        result = PQgetResult(connection);
        for (PGresult *more; (more = PQgetResult(connection)) != NULL;) {
            PQclear(more);
        }
    }
    copy->size = 0;
    return result;
}

void postgres_copy_clear(struct postgres_copy *copy)
{
    copy->size = 0;
}

void postgres_copy_done(struct postgres_copy *copy)
{
    free(copy->bytes);
    *copy = (struct postgres_copy){0};
}
