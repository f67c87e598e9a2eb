// SPDX-License-Identifier: Apache-2.0
#include "postgres_values.h"

#include <stdlib.h>
#include <string.h>

#include "report_utf8.h"

/* Of the types that are sent (pg_type.dat): they never change. */
enum { TYPE_BYTEA = 17, TYPE_INT8 = 20, TYPE_TEXT = 25 };

char *postgres_parameters(const char *text)
{
    char *copy = strdup(text);
    for (char *at = copy; at != NULL && (at = strchr(at, '?')) != NULL;) {
        *at = '$';
    }
    return copy;
}

/* A text as valid UTF-8: bytes that are not become "?". Null: no memory. */
static char *clean(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    for (size_t i = 0, step; copy != NULL && i < size; i += step) {
        step = sonde__report_utf8_sequence(text + i, size - i);
        if (step == 0) {
            copy[i] = '?';
            step = 1;
        } else {
            memcpy(copy + i, text + i, step);
        }
    }
    if (copy != NULL) {
        copy[size] = '\0';
    }
    return copy;
}

static const char *set_text(struct postgres_values *v, unsigned index, const struct db_value *value)
{
    free(v->cleaned[index]);
    v->cleaned[index] = NULL;
    if (value->bytes == NULL || sonde__report_utf8_valid(value->bytes, value->size)) {
        return value->bytes;
    }
    return v->cleaned[index] = clean(value->bytes, value->size);
}

void postgres_set(struct postgres_values *v, unsigned index, const struct db_value *value)
{
    if (index >= POSTGRES_VALUES_MAX) {
        return;
    }
    if (v->count <= (int)index) {
        v->count = (int)index + 1;
    }
    v->sizes[index] = (int)value->size;
    v->formats[index] = value->type == DB_BYTES;
    v->kinds[index] = value->type;
    v->integers[index] = value->number;
    switch (value->type) {
    case DB_NUMBER:
        snprintf(v->numbers[index], POSTGRES_NUMBER_TEXT, "%lld", (long long)value->number);
        v->texts[index] = v->numbers[index];
        v->types[index] = TYPE_INT8;
        break;
    case DB_TEXT:
        v->texts[index] = set_text(v, index, value);
        v->types[index] = TYPE_TEXT;
        break;
    case DB_BYTES:
        v->texts[index] = value->bytes;
        v->types[index] = TYPE_BYTEA;
    }
}

/* --- arrays --- */

static bool append(struct postgres_array *array, const char *text, size_t size)
{
    if (array->capacity - array->size < size) {
        size_t capacity = 2 * (array->size + size) + 1024;
        char *room = realloc(array->text, capacity);
        if (room == NULL) {
            return false;
        }
        array->text = room;
        array->capacity = capacity;
    }
    memcpy(array->text + array->size, text, size);
    array->size += size;
    return true;
}

/* An element in quotes (PostgreSQL 15 documentation, 8.15.6). */
static bool append_quoted(struct postgres_array *array, const char *text)
{
    bool is_ok = append(array, "\"", 1);
    while (is_ok && *text != '\0') {
        size_t plain = strcspn(text, "\"\\");
        is_ok = append(array, text, plain);
        text += plain;
        if (is_ok && *text != '\0') {
            is_ok = append(array, "\\", 1) && append(array, text, 1);
            text++;
        }
    }
    return is_ok && append(array, "\"", 1);
}

bool postgres_add_row(struct postgres_values *v)
{
    bool is_ok = true;
    for (int i = 0; is_ok && i < v->count; i++) {
        struct postgres_array *array = &v->arrays[i];
        const char *text = v->texts[i];
        is_ok = append(array, array->size == 0 ? "{" : ",", 1);
        if (is_ok && text == NULL) {
            is_ok = append(array, "NULL", 4);
        } else if (is_ok) {
            is_ok = v->types[i] == TYPE_INT8 ? append(array, text, strlen(text))
                                             : append_quoted(array, text);
        }
    }
    return is_ok;
}

bool postgres_end_arrays(struct postgres_values *v)
{
    for (int i = 0; i < v->count; i++) {
        if (!append(&v->arrays[i], "}", 2)) { /* with its end */
            return false;
        }
        v->texts[i] = v->arrays[i].text;
        v->types[i] = 0; /* as the statement says */
        v->formats[i] = 0;
    }
    return true;
}

void postgres_clear_arrays(struct postgres_values *v)
{
    for (int i = 0; i < v->count; i++) {
        v->arrays[i].size = 0;
    }
}

void postgres_done(struct postgres_values *v)
{
    for (int i = 0; i < POSTGRES_VALUES_MAX; i++) {
        free(v->cleaned[i]);
        free(v->arrays[i].text);
    }
}
