// SPDX-License-Identifier: Apache-2.0
#include "stores.h"

#include <stdio.h>
#include <sys/stat.h>

const struct stores_case *stores_cases;
const char *stores_where;
unsigned stores_number;

void stores_add(struct stores_case *one)
{
    one->next = stores_cases;
    stores_cases = one;
}

struct store *stores_open_in(const char *folder, const char *database)
{
    struct store *store;
    struct sonde_error error;
    if (store_open(folder, database, &store, &error) != STORE_OK) {
        FAIL("%s", error.what);
    }
    return store;
}

struct store *stores_open(void)
{
    char folder[512], database[512];
    if (stores_where == NULL) {
        return stores_open_in(test_folder(), NULL);
    }
    snprintf(folder, sizeof folder, "%s/case%u", test_folder(), stores_number);
    (void)mkdir(folder, 0700);
    snprintf(database, sizeof database, "%s options='-csearch_path=case%u'", stores_where,
             stores_number);
    return stores_open_in(folder, database);
}
