// SPDX-License-Identifier: Apache-2.0
/* SQLite: a file, in WAL mode. The writer's commits are atomic, and on the disk at the next sync.
 */
#ifndef SONDE_COLLECTOR_DB_SQLITE_H
#define SONDE_COLLECTOR_DB_SQLITE_H

#include "db.h"

/* Open the file, or make it. cache_kb: memory for its pages. Null: it failed. Ownership: close. */
struct db *db_sqlite_open(const char *path, uint32_t cache_kb);
/* Bring the tables to this program's version (schema.c). OK | FAILED. */
enum store_status db_sqlite_make_tables(struct db *db);

#endif
