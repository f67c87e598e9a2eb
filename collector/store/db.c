// SPDX-License-Identifier: Apache-2.0
#include "db.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "say.h"

static _Thread_local char last_error[256];
static atomic_bool is_damaged;

const char *store_error(void)
{
    return last_error;
}

enum store_status db_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(last_error, sizeof last_error, format, list);
    va_end(list);
    last_error[strcspn(last_error, "\n")] = '\0';
    return STORE_FAILED;
}

enum store_status db_damaged(const char *why)
{
    static atomic_bool is_told;
    if (!atomic_exchange(&is_told, true)) {
        say_error("the database is damaged (%s): what it cannot read is answered with 503; reports"
                  " wait in the journal; stop the collector, and restore a backup",
                  why);
    }
    is_damaged = true;
    return db_fail("it is damaged: %s", why);
}

bool store_is_damaged(void)
{
    return is_damaged;
}

enum store_status db_unfit(const char *text)
{
    (void)db_fail("%s", text);
    return STORE_UNFIT;
}

static struct db_value number_value(int64_t number)
{
    return (struct db_value){.type = DB_NUMBER, .number = number};
}

static struct db_value text_value(const char *text)
{
    return (struct db_value){
        .type = DB_TEXT, .bytes = text, .size = text != NULL ? strlen(text) : 0};
}

static struct db_value bytes_value(const void *bytes, size_t size)
{
    return (struct db_value){.type = DB_BYTES, .bytes = bytes, .size = size};
}

void db_bind(struct db_statement *statement, const char *types, ...)
{
    va_list list;
    va_start(list, types);
    for (int i = 0; statement != NULL && types[i] != '\0'; i++) {
        struct db_value value;
        switch (types[i]) {
        case 'i':
            value = number_value(va_arg(list, int64_t));
            break;
        case 'u':
            value = number_value((int64_t)(va_arg(list, uint64_t) & INT64_MAX));
            break;
        case 't':
            value = text_value(va_arg(list, const char *));
            break;
        case 'h':
            value = bytes_value(va_arg(list, const struct hash *)->bytes, IDS_HASH);
            break;
        case 'b': {
            const void *bytes = va_arg(list, const void *);
            value = bytes_value(bytes, va_arg(list, size_t));
            break;
        }
        case 'e':
            value = bytes_value("", 0);
            break;
        default:
            value = bytes_value(va_arg(list, const struct report_id *)->bytes, IDS_REPORT);
        }
        statement->db->kind->bind(statement, i + 1, &value);
    }
    va_end(list);
}

enum db_result db_step(struct db_statement *statement)
{
    return statement != NULL ? statement->db->kind->step(statement) : DB_FAILED;
}

void db_reset(struct db_statement *statement)
{
    if (statement != NULL) {
        statement->db->kind->reset(statement);
    }
}

void db_end(struct db_statement *statement)
{
    if (statement != NULL) {
        statement->db->kind->end(statement);
    }
}

enum store_status db_run(struct db_statement *statement)
{
    enum db_result result = db_step(statement);
    db_reset(statement);
    return result == DB_ROW || result == DB_DONE ? STORE_OK
           : result == DB_KNOWN                  ? STORE_KNOWN
                                                 : STORE_FAILED;
}

enum store_status db_run_for(struct db_statement *statement, int64_t *ret_number)
{
    enum db_result result = db_step(statement);
    if (result == DB_ROW) {
        *ret_number = db_number(statement, 0);
    }
    db_reset(statement);
    return result == DB_ROW     ? STORE_OK
           : result == DB_DONE  ? STORE_ABSENT
           : result == DB_KNOWN ? STORE_KNOWN
                                : STORE_FAILED;
}

int64_t db_number(struct db_statement *statement, int column)
{
    return statement->db->kind->number(statement, column);
}

uint64_t db_uint(struct db_statement *statement, int column)
{
    return (uint64_t)db_number(statement, column);
}

const char *db_text(struct db_statement *statement, int column)
{
    const char *text = statement->db->kind->text(statement, column);
    return text != NULL ? text : "";
}

const void *db_bytes(struct db_statement *statement, int column, size_t *ret_size)
{
    return statement->db->kind->bytes(statement, column, ret_size);
}

bool db_copy_id(struct db_statement *statement, int column, void *ret_bytes, size_t size)
{
    size_t found = 0;
    const void *bytes = db_bytes(statement, column, &found);
    if (bytes == NULL || found != size) {
        return false;
    }
    memcpy(ret_bytes, bytes, size);
    return true;
}
