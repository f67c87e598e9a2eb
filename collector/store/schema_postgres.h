// SPDX-License-Identifier: Apache-2.0
#ifndef SONDE_COLLECTOR_SCHEMA_POSTGRES_H
#define SONDE_COLLECTOR_SCHEMA_POSTGRES_H

#include "postgres_link.h"

/* Bring the tables to this program's version, in the transaction that has begun. Returns OK |
 * FAILED (store_error()). */
enum store_status schema_postgres_make(struct postgres_link *link);

#endif
