// SPDX-License-Identifier: Apache-2.0
/* Which database a data folder belongs to. A collector with a shared database has a number in it,
 * which is in the file "collector" of its folder, with the number of the database: its journal says
 * nothing to another one. */
#ifndef SONDE_COLLECTOR_IDENTITY_H
#define SONDE_COLLECTOR_IDENTITY_H

#include "store.h"

/* For a database in the folder: FAILED if the folder belongs to a shared one. */
enum store_status identity_of_own(const char *folder);
/* For a shared database: the collector's number, which is made at the first start. FAILED if the
 * folder belongs to another database. */
enum store_status identity_of_shared(const char *folder, int64_t database, int64_t *ret_number);

#endif
