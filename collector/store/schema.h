// SPDX-License-Identifier: Apache-2.0
#ifndef SONDE_COLLECTOR_SCHEMA_H
#define SONDE_COLLECTOR_SCHEMA_H

#include <sqlite3.h>

#include "store.h"

/* Bring the tables to this program's version. Returns OK | FAILED (store_error()). */
enum store_status schema_make_tables(sqlite3 *db);

#endif
