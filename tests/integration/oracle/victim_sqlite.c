// SPDX-License-Identifier: Apache-2.0
/* sqlite: a database in memory, with a function and an order of ours. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "victim.h"

static void twice(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    sqlite3_result_int64(context, 2 * sqlite3_value_int64(values[0]));
}

static int backwards(void *data, int a_size, const void *a, int b_size, const void *b)
{
    (void)data;
    return memcmp(b, a, (size_t)(a_size < b_size ? a_size : b_size));
}

static int on_row(void *data, int count, char **values, char **names)
{
    (void)names;
    *(int *)data += count > 0 && values[0] != NULL ? values[0][0] : 1;
    return 0;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    static const char *const statements[] = {
        "create table t(a integer primary key, b text collate backwards, c real)",
        "create index i on t(b, c)",
        "begin",
        "with recursive n(x) as (select 1 union all select x + 1 from n where x < 25) "
        "insert into t(b, c) select 'word ' || (x * 7919 % 100), x / 3.0 from n",
        "commit",
        "select twice(a), b from t order by b, c desc limit 10",
        "select b, count(*), sum(c), group_concat(a) from t group by b having count(*) > 0",
        "select x.a, y.a from t x join t y on x.b = y.b where x.c like '%3%'",
        "select a, rank() over (order by c), lag(b) over (order by a) from t",
        "update t set c = c * 2 where a between 5 and 15",
        "delete from t where a % 3 = 0",
        "drop table t",
    };
    if (argc > 2) {
        MARK();
    }
    (void)argv;
    for (unsigned i = 0; i < rounds; i++) {
        sqlite3 *db = NULL;
        int sum = 0;
        if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
            return 1;
        }
        (void)sqlite3_create_function(db, "twice", 1, SQLITE_UTF8, NULL, twice, NULL, NULL);
        (void)sqlite3_create_collation(db, "backwards", SQLITE_UTF8, NULL, backwards);
        for (unsigned s = 0; s < sizeof statements / sizeof statements[0]; s++) {
            if (sqlite3_exec(db, statements[s], on_row, &sum, NULL) != SQLITE_OK) {
                return 1;
            }
        }
        (void)sqlite3_close(db);
    }
    return 0;
}
