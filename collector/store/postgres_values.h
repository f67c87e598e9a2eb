// SPDX-License-Identifier: Apache-2.0
/* Parameters of a statement as PostgreSQL takes them: values, or arrays of gathered rows. */
#ifndef SONDE_COLLECTOR_POSTGRES_VALUES_H
#define SONDE_COLLECTOR_POSTGRES_VALUES_H

#include <libpq-fe.h>

#include "db.h"

enum { POSTGRES_VALUES_MAX = 18, POSTGRES_NUMBER_TEXT = 24 };

struct postgres_values {
    int count;
    /* as libpq takes them */
    Oid types[POSTGRES_VALUES_MAX];
    const char *texts[POSTGRES_VALUES_MAX];
    int sizes[POSTGRES_VALUES_MAX], formats[POSTGRES_VALUES_MAX];
    char numbers[POSTGRES_VALUES_MAX][POSTGRES_NUMBER_TEXT];
    enum db_type kinds[POSTGRES_VALUES_MAX]; /* as they were set */
    int64_t integers[POSTGRES_VALUES_MAX];   /* of numbers */
    char *cleaned[POSTGRES_VALUES_MAX];      /* texts that were not valid UTF-8 */
    struct postgres_array {
        char *text; /* "{1,2" */
        size_t size, capacity;
    } arrays[POSTGRES_VALUES_MAX];
};

/* The text with $N for each ?N. Null: no memory. Ownership: free(). */
char *postgres_parameters(const char *text);
/* index: from 0. The value's bytes must stay until the statement was run. */
void postgres_set(struct postgres_values *values, unsigned index, const struct db_value *value);
/* Append the values that were set to the arrays. False: no memory. */
bool postgres_add_row(struct postgres_values *values);
/* Make the arrays the values. False: no memory. */
bool postgres_end_arrays(struct postgres_values *values);
void postgres_clear_arrays(struct postgres_values *values);
void postgres_done(struct postgres_values *values);

#endif
