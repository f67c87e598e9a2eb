// SPDX-License-Identifier: Apache-2.0
/* In the place of db_postgres.c where libpq's headers are not installed. */
#include "db_postgres.h"

struct db *db_postgres_open(const char *where)
{
    (void)where;
    (void)db_fail("this program was built without PostgreSQL (libpq-dev)");
    return NULL;
}

enum store_status db_postgres_make_tables(struct db *db)
{
    (void)db;
    return STORE_FAILED;
}
